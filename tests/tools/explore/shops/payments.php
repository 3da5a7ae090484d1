<?php
// What both shops in PHP share: orders in SQLite, calls of the payments service, webhooks.

define('SHOP', 'http://127.0.0.1:' . getenv('PORT'));
const RANKS = ['failed' => 1, 'expired' => 1, 'completed' => 2, 'refunded' => 3];
const NAMES = ['failed' => 'cancelled', 'expired' => 'cancelled', 'completed' => 'paid', 'refunded' => 'refunded'];

function query(string $sql, array $values = []): PDOStatement
{
    static $database = null;
    if ($database === null) {
        $database = new PDO('sqlite:orders.sqlite3', null, null, [PDO::ATTR_TIMEOUT => 20]);
        $database->exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF');
        $database->exec("CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, customer TEXT, payment TEXT,
            known INTEGER DEFAULT 0, status TEXT DEFAULT 'open', parcels INTEGER DEFAULT 0, seen INTEGER DEFAULT 1)");
    }
    $statement = $database->prepare($sql);
    $statement->execute($values);
    return $statement;
}

function row(string $sql, array $values): ?array
{
    return query($sql, $values)->fetch(PDO::FETCH_ASSOC) ?: null;
}

function add_order(string $customer = ''): string
{
    return (string) query('INSERT INTO orders (customer) VALUES (?) RETURNING id', [$customer])->fetchColumn();
}

/** The payment, or null; repeated requests have the same key. */
function create_payment(string $id, string $thanks): ?array
{
    $body = json_encode([
        'amount' => 15000, 'currency' => 'ETB', 'methods' => ['telebirr'], 'success_url' => SHOP . $thanks,
        'cancel_url' => SHOP . '/cart', 'metadata' => ['order' => $id], 'idempotency_key' => "php-$id",
    ]);
    $headers = ['Authorization: Bearer ' . getenv('PAYMENTS_EMULATOR_TEST_KEY'), 'Content-Type: application/json'];
    for ($attempt = 0; $attempt < 3; $attempt++) {
        $options = ['method' => 'POST', 'header' => $headers, 'content' => $body, 'timeout' => 10, 'ignore_errors' => true];
        $http_response_header = [];
        $answer = @file_get_contents(getenv('PAYMENTS_EMULATOR_URL') . '/v1/payments', false, stream_context_create(['http' => $options]));
        if (str_contains($http_response_header[0] ?? '', ' 201')) {
            $payment = json_decode($answer, true);
            query('UPDATE orders SET payment = ? WHERE id = ?', [$payment['id'], $id]);
            return $payment;
        }
        $waits = preg_grep('/^Retry-After: /i', $http_response_header);
        usleep($waits ? 1_000_000 * (int) substr(reset($waits), 13) : 100_000);
    }
    return null;
}

/** An older or equal status changes nothing; one statement checks, marks and ships. */
function settle(string $payment, string $status): void
{
    query('UPDATE orders SET status = ?, known = ?, parcels = parcels + ? WHERE payment = ? AND known < ?',
        [NAMES[$status], RANKS[$status], (int) ($status === 'completed'), $payment, RANKS[$status]]);
}

/** The status of the response to a webhook; `$settle` receives the payment and its status. */
function webhook(callable $settle): int
{
    $body = file_get_contents('php://input');
    $stamp = $_SERVER['HTTP_WEBHOOK_TIMESTAMP'] ?? '0';
    $secret = base64_decode(substr(getenv('PAYMENTS_EMULATOR_WEBHOOK_SECRET'), 6));
    $signed = ($_SERVER['HTTP_WEBHOOK_ID'] ?? '') . ".$stamp.$body";
    $expected = 'v1,' . base64_encode(hash_hmac('sha256', $signed, $secret, true));
    $given = explode(' ', $_SERVER['HTTP_WEBHOOK_SIGNATURE'] ?? '');
    $is_signed = (bool) array_filter($given, fn ($each) => hash_equals($expected, $each));
    if (!$is_signed || abs(time() - (int) $stamp) > 300) {
        return 400;
    }
    $event = json_decode($body, true);
    $status = substr($event['type'], strlen('payment.'));
    if ($event['mode'] === 'test' && isset(RANKS[$status])) {
        $settle($event['data']['id'], $status);
    }
    return 200;
}
