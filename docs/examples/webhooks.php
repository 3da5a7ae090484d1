<?php

define('PAYMENTS', (getenv('PAYMENTS_URL') ?: 'http://127.0.0.1:8080') . '/v1/payments');
define('KEY', getenv('PAYMENTS_KEY') ?: 'test_demo_key');
// Without a secret, anybody could sign.
define('SECRET', getenv('WEBHOOK_SECRET') ?: throw new RuntimeException('Set WEBHOOK_SECRET.'));
define('DB', new PDO('sqlite:shop.db'));
DB->exec('CREATE TABLE IF NOT EXISTS webhooks (id TEXT PRIMARY KEY);
    CREATE TABLE IF NOT EXISTS shipments (order_number INTEGER);
    CREATE TABLE IF NOT EXISTS orders (number INTEGER PRIMARY KEY, amount INTEGER, state INTEGER)');
// An order only moves forward in this list.
const STATES = ['open', 'closed', 'paid', 'refunded'];
const STATE_AFTER = ['failed' => 1, 'expired' => 1, 'completed' => 2, 'refunded' => 3];

/** The event, or null when the signature is wrong or the timestamp is too old. */
function verified(string $body, array $headers, string $secret): ?array
{
    [$id, $timestamp] = [$headers['webhook-id'] ?? '', $headers['webhook-timestamp'] ?? ''];
    $key = base64_decode(substr($secret, strlen('whsec_')));
    $expected = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $key, true));
    $given = explode(' ', $headers['webhook-signature'] ?? '');
    $is_signed = array_filter($given, fn ($each) => hash_equals($expected, $each));
    return $is_signed && abs(time() - (int) $timestamp) < 300 ? json_decode($body, true) : null;
}

function status_after(array $headers, string $body): int
{
    $event = verified($body, $headers, SECRET);
    if ($event === null) {
        return 400;
    }
    if (!str_starts_with($event['type'], 'payment.')) {
        return 204; // a ping
    }
    $payment = call("/{$event['data']['id']}");
    if ($payment !== null) {
        note($headers['webhook-id'], $payment);
    }
    return $payment === null ? 503 : 204; // after a 503 the emulator retries
}

function note(string $webhook_id, array $payment): void
{
    $order = $payment['metadata']['order'] ?? null;
    $state = STATE_AFTER[$payment['status']] ?? 0;
    // Compares the payment with the order.
    $change = 'UPDATE orders SET state = ? WHERE number = ? AND amount = ? AND state < ?';
    DB->beginTransaction();
    $is_new = query('INSERT OR IGNORE INTO webhooks VALUES (?)', [$webhook_id])->rowCount();
    if ($is_new && query($change, [$state, $order, $payment['amount'], $state])->rowCount()) {
        if (STATES[$state] === 'paid') {
            query('INSERT INTO shipments VALUES (?)', [$order]); // a job sends the parcel
        }
        file_put_contents('php://stdout', "order $order is " . STATES[$state] . "\n");
    }
    DB->commit();
}

function start(int $amount): array
{
    // First the order: a webhook may arrive before the response to create.
    query('INSERT INTO orders VALUES (NULL, ?, 0)', [$amount]);
    $order = DB->lastInsertId();
    $url = "https://shop.example/orders/$order";
    $body = ['amount' => $amount, 'currency' => 'ETB', 'methods' => ['telebirr'],
        'success_url' => $url, 'cancel_url' => $url,
        'metadata' => ['order' => $order], 'idempotency_key' => "order-$order"];
    // With the same key, a lost response makes no second payment.
    $payment = call('', $body) ?? call('', $body) ?? call('', $body)
        ?? throw new RuntimeException('The API does not answer.');
    return ['order' => $order, 'checkout_url' => $payment['checkout_url']];
}

/** The payment, or null after a failure, and after the time that a repetition must wait. */
function call(string $path, ?array $body = null): ?array
{
    $http = ['header' => ['Authorization: Bearer ' . KEY, 'Content-Type: application/json'],
        'timeout' => 5, ...($body ? ['method' => 'POST', 'content' => json_encode($body)] : [])];
    $json = @file_get_contents(PAYMENTS . $path, false, stream_context_create(['http' => $http]));
    if ($json === false) {
        preg_match('/^Retry-After: (\d+)/mi', implode("\n", $http_response_header ?? []), $found);
        usleep((int) (1_000_000 * ($found[1] ?? 0.2)));
    }
    return $json === false ? null : json_decode($json, true);
}

function query(string $sql, array $values): PDOStatement
{
    $statement = DB->prepare($sql);
    $statement->execute($values);
    return $statement;
}

$path = $_SERVER['REQUEST_URI'];
// The raw bytes: the signature covers these.
$body = file_get_contents('php://input');
if ($path === '/orders') {
    http_response_code(201);
    exit(json_encode(start(json_decode($body, true)['amount'])));
}
if ($_SERVER['REQUEST_METHOD'] === 'GET') {
    $count = '(SELECT count(*) FROM shipments WHERE order_number = number)';
    $sql = "SELECT state, $count AS shipments FROM orders WHERE number = ?";
    $order = query($sql, [basename($path)])->fetch(PDO::FETCH_ASSOC);
    exit(json_encode(['state' => STATES[$order['state']]] + $order));
}
// Servers write header names in different cases.
$headers = array_change_key_case(getallheaders());
http_response_code(status_after($headers, $body));
