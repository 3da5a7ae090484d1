<?php
// A shop as with Laravel: a session, forms with the CSRF token `_token`, a command as `artisan` has
// them. With `BUG`, the webhook is not excepted from the CSRF protection.
require __DIR__ . '/payments.php';

function read_order(string $id): array
{
    $order = row('SELECT id, status, parcels FROM orders WHERE id = ?', [$id]);
    return ['id' => $order['id'], 'status' => $order['status'], 'parcels' => (int) $order['parcels']];
}

if (PHP_SAPI === 'cli') {
    [, $command, $id] = $argv;
    echo $command === 'order:show' ? json_encode(read_order($id)) : exit(2);
    exit;
}

$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
$is_post = $_SERVER['REQUEST_METHOD'] === 'POST';
if ($path !== '/webhooks' || getenv('BUG')) {
    session_start();
    $_SESSION['token'] ??= bin2hex(random_bytes(20));
    if ($is_post && !hash_equals($_SESSION['token'], $_POST['_token'] ?? '')) {
        http_response_code(419);
        exit('Page Expired');
    }
}

/** A page with a form. */
function page(string $content, string $action): void
{
    $token = "<input type=\"hidden\" name=\"_token\" value=\"{$_SESSION['token']}\" autocomplete=\"off\">";
    echo "<html><body>$content<form method=\"POST\" action=\"$action\">$token<button>Next</button></form></body></html>";
}

if ($path === '/webhooks') {
    http_response_code(webhook('settle'));
} elseif ($path === '/login' && $is_post) {
    $_SESSION['customer'] = $_POST['email'];
    header('Location: /cart', true, 302);
} elseif ($path === '/login') {
    page('<input name="email">', '/login');
} elseif (!isset($_SESSION['customer'])) {
    header('Location: /login', true, 302);
} elseif ($path === '/cart') {
    $_SESSION['item'] = $_POST['item'] ?? '';
    page(htmlspecialchars($_SESSION['item']), '/checkout');
} elseif ($path === '/checkout' && ($_SESSION['item'] ?? '') !== '') {
    $id = add_order();
    session_write_close();
    $payment = create_payment($id, '/thanks');
    if ($payment === null) {
        header('Location: /cart', true, 302);
        exit;
    }
    $link = htmlspecialchars($payment['checkout_url']);
    page("<h1>Order #$id</h1><a class=\"pay\" href=\"$link\">Pay</a>", '/cart');
} else {
    page('Thank you', '/cart');
}
