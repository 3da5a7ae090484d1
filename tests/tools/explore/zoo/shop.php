<?php
// A small shop in PHP, for its built-in server. Without a bug it is correct; bug('…') marks each
// deviation. Its settings are environment variables, as in shop.py; DATABASE is an SQLite file, so
// it is always durable.

const RANKS = ['pending' => 0, 'processing' => 0, 'failed' => 1, 'expired' => 1, 'completed' => 2, 'refunded' => 3];
const NAMES = ['failed' => 'cancelled', 'expired' => 'cancelled', 'completed' => 'paid', 'refunded' => 'refunded'];

function bug(string $name): bool
{
    return getenv('BUG') === $name;
}

function is_way(string $way): bool
{
    return in_array($way, explode(' ', getenv('WAYS') ?: 'webhook return job'), true);
}

function database(): PDO
{
    static $database = null;
    if ($database === null) {
        $database = new PDO('sqlite:' . getenv('DATABASE'), null, null, [PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_ASSOC]);
        $database->exec('PRAGMA busy_timeout = 5000');
        $database->exec('CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, amount INTEGER,'
            . " status TEXT DEFAULT 'pending', known TEXT DEFAULT 'pending', shipments INTEGER DEFAULT 0, payment TEXT)");
    }
    return $database;
}

function query(string $sql, array $values = []): array
{
    $statement = database()->prepare($sql);
    $statement->execute($values);
    return $statement->fetchAll();
}

function find_order(string $id): ?array
{
    return query('SELECT * FROM orders WHERE id = ?', [$id])[0] ?? null;
}

function call(string $method, string $path, ?array $body = null): array
{
    $headers = [];
    $curl = curl_init(getenv('PAYMENTS_EMULATOR_URL') . $path);
    curl_setopt_array($curl, [
        CURLOPT_CUSTOMREQUEST => $method,
        CURLOPT_RETURNTRANSFER => true,
        CURLOPT_HTTPHEADER => ['Authorization: Bearer ' . getenv('PAYMENTS_EMULATOR_TEST_KEY'), 'Content-Type: application/json'],
        CURLOPT_HEADERFUNCTION => function ($_, $line) use (&$headers) {
            [$name, $value] = array_pad(explode(':', $line, 2), 2, '');
            $headers[strtolower($name)] = trim($value);
            return strlen($line);
        },
    ]);
    if ($body !== null) {
        curl_setopt($curl, CURLOPT_POSTFIELDS, json_encode($body));
    }
    $text = curl_exec($curl);
    $status = $text === false ? 500 : curl_getinfo($curl, CURLINFO_RESPONSE_CODE);
    return [$status, json_decode($text ?: 'null', true), (int) ($headers['retry-after'] ?? 0)];
}

function create_payment(string $order, int $amount): ?string
{
    $url = 'http://127.0.0.1:' . getenv('PORT') . "/return?order=$order";
    $body = ['amount' => $amount, 'currency' => 'ETB', 'methods' => ['telebirr'], 'success_url' => $url,
        'cancel_url' => 'http://127.0.0.1:' . getenv('PORT') . '/cancelled', 'metadata' => ['order' => $order], 'idempotency_key' => "order-$order"];
    for ($attempt = 0; $attempt < 3; $attempt++) {
        [$status, $payment, $wait] = call('POST', '/v1/payments', $body);
        if ($status === 201) {
            return $payment['id'];
        }
        if ($status !== 429 && $status < 500) {
            break;
        }
        usleep($wait ? $wait * 1_000_000 : 100_000);
    }
    return null;
}

/** Apply a status; an older or equal one changes nothing, so any order and number is safe. */
function apply(string $id, string $status): void
{
    if (bug('ignores-refunds') && $status === 'refunded'
        || bug('ignores-expiry') && $status === 'expired'
        || bug('ignores-failure') && $status === 'failed') {
        return;
    }
    database()->exec('BEGIN IMMEDIATE');
    $order = find_order($id);
    if (RANKS[$status] > RANKS[$order['known']]) {
        $shipped = $status === 'completed' ? 1 : 0;
        query('UPDATE orders SET status = ?, known = ?, shipments = shipments + ? WHERE id = ?', [NAMES[$status], $status, $shipped, $id]);
    }
    database()->exec('COMMIT');
}

function is_genuine(string $body): bool
{
    $stamp = $_SERVER['HTTP_WEBHOOK_TIMESTAMP'] ?? '';
    if (!ctype_digit($stamp) || (abs(time() - (int) $stamp) > 300 && !bug('ignores-timestamp'))) {
        return false;
    }
    if (bug('encodes-body-again')) {
        $body = json_encode(json_decode($body, true));
    }
    $secret = base64_decode(substr(getenv('PAYMENTS_EMULATOR_WEBHOOK_SECRET'), 6));
    $signed = ($_SERVER['HTTP_WEBHOOK_ID'] ?? '') . ".$stamp.$body";
    $expected = 'v1,' . base64_encode(hash_hmac('sha256', $signed, $secret, true));
    foreach (explode(' ', $_SERVER['HTTP_WEBHOOK_SIGNATURE'] ?? '') as $given) {
        if (hash_equals($expected, $given)) {
            return true;
        }
    }
    return false;
}

function webhook(string $body): int
{
    if (!is_genuine($body)) {
        return 400;
    }
    $event = json_decode($body, true);
    $payment = $event['data'];
    $order = find_order($payment['metadata']['order'] ?? '');
    $is_ours = $order !== null && in_array($order['payment'], [null, $payment['id']], true);
    if ($order === null || $event['mode'] !== 'test' || (!$is_ours && !bug('ignores-amount'))) {
        return 200;
    }
    if (!isset(RANKS[substr($event['type'], 8)])) {
        return 200;
    }
    if (bug('404-when-done') && $order['status'] === 'paid') {
        return 404;
    }
    if (bug('409-on-duplicate') && $payment['status'] === $order['known']) {
        return 409;
    }
    $lock = fopen(getenv('DATABASE') . '.lock', 'c');
    flock($lock, LOCK_EX); // until the end of the request
    $is_done = find_order($order['id'])['status'] === 'paid';
    if (bug('ships-then-fails') && $payment['status'] === 'completed') {
        if (!$is_done && retrieve($order['id']) === 'completed') {
            query('UPDATE orders SET shipments = shipments + 1 WHERE id = ?', [$order['id']]);
            retrieve($order['id']); // for the receipt
            query("UPDATE orders SET status = 'paid', known = 'completed' WHERE id = ?", [$order['id']]);
        }
    } elseif (bug('pays-then-fails') && $payment['status'] === 'completed') {
        if (!$is_done && retrieve($order['id']) === 'completed') {
            query("UPDATE orders SET status = 'paid', known = 'completed' WHERE id = ?", [$order['id']]);
            retrieve($order['id']); // for the address
            query('UPDATE orders SET shipments = shipments + 1 WHERE id = ?', [$order['id']]);
        }
    } elseif (is_way('webhook')) {
        apply($order['id'], is_way('read') ? retrieve($order['id']) : $payment['status']);
    }
    return 200;
}

function answer(int $status, array $body = []): void
{
    http_response_code($status);
    header('Content-Type: application/json');
    echo json_encode((object) $body);
}

/** The status of the payment of an order; a failed read ends the request with 500. */
function retrieve(string $id): string
{
    [$status, $payment] = call('GET', '/v1/payments/' . find_order($id)['payment']);
    if ($status !== 200) {
        answer(500);
        exit;
    }
    return $payment['status'];
}

function refresh(string $id): void
{
    apply($id, retrieve($id));
}

$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
$body = file_get_contents('php://input');
$name = basename($path);
if ($path === '/health') {
    answer(200);
} elseif ($path === '/webhooks') {
    answer(webhook($body));
} elseif ($path === '/return') {
    if (is_way('return')) {
        refresh($_GET['order']);
    }
    answer(200);
} elseif ($path === '/orders') {
    $amount = json_decode($body, true)['amount'];
    query('INSERT INTO orders (amount) VALUES (?)', [$amount]);
    $id = database()->lastInsertId();
    $payment = create_payment($id, $amount);
    query('UPDATE orders SET payment = ? WHERE id = ?', [$payment, $id]);
    answer($payment === null ? 502 : 201, ['id' => $id, 'payment_id' => $payment]);
} elseif ($_SERVER['REQUEST_METHOD'] === 'POST') {
    refresh($name);
    answer(200);
} else {
    $order = find_order($name);
    unset($order['known'], $order['amount']);
    answer($order === null ? 404 : 200, $order ?? []);
}
