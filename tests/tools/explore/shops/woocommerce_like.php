<?php
// A shop as with WooCommerce: a cart in the session, a nonce, a checkout that responds with JSON, a
// page to pay for the order, the customer's account. With `BUG`, each event reduces the stock.
require __DIR__ . '/payments.php';

const STATUSES = ['open' => 'Pending payment', 'paid' => 'Processing', 'cancelled' => 'Cancelled', 'refunded' => 'Refunded'];

/** Without a check whether the order was paid before. */
function settle_each_time(string $payment, string $status): void
{
    settle($payment, $status);
    if ($status === 'completed') {
        query('UPDATE orders SET parcels = max(parcels, seen), seen = seen + 1 WHERE payment = ?', [$payment]);
    }
}

$url = parse_url($_SERVER['REQUEST_URI']);
$path = trim($url['path'], '/');
if (isset($_GET['wc-api'])) {
    http_response_code(webhook(getenv('BUG') ? 'settle_each_time' : 'settle'));
    exit;
}
session_name('wordpress_session');
session_set_cookie_params(['samesite' => 'Lax', 'httponly' => true]);
session_start();
$nonce = $_SESSION['nonce'] ??= bin2hex(random_bytes(5));

if ($path === 'my-account' && isset($_POST['username'])) {
    if (!hash_equals($nonce, $_POST['woocommerce-login-nonce'] ?? '')) {
        http_response_code(403);
        exit('Error: nonce');
    }
    session_regenerate_id(true);
    $_SESSION['customer'] = $_POST['username'];
    header('Location: /my-account/', true, 302);
} elseif ($path === 'my-account' && isset($_SESSION['customer'])) {
    echo '<p>Hello</p>';
} elseif ($path === 'my-account') {
    echo "<form method=\"post\"><input name=\"username\"><input type=\"hidden\" name=\"woocommerce-login-nonce\" value=\"$nonce\"></form>";
} elseif (!isset($_SESSION['customer'])) {
    header('Location: /my-account/', true, 302);
} elseif (isset($_GET['add-to-cart'])) {
    $_SESSION['cart'] = [$_GET['add-to-cart'] => 1];
    header('Location: /cart/', true, 302);
} elseif ($path === 'checkout' && empty($_SESSION['cart'])) {
    header('Location: /cart/', true, 302);
} elseif ($path === 'checkout') {
    echo "<form class=\"checkout\"><input type=\"hidden\" name=\"_wpnonce\" value=\"$nonce\"></form>";
} elseif (($_GET['wc-ajax'] ?? '') === 'checkout') {
    if (!hash_equals($nonce, $_POST['_wpnonce'] ?? '') || empty($_SESSION['cart'])) {
        http_response_code(403);
        exit(json_encode(['result' => 'failure']));
    }
    $id = add_order($_SESSION['customer']);
    header('Content-Type: application/json');
    $redirect = SHOP . "/checkout/order-pay/$id/?pay_for_order=true&key=wc_order_" . md5($id);
    echo json_encode(['result' => 'success', 'redirect' => $redirect]);
} elseif (preg_match('#^checkout/order-pay/(\d+)$#', $path, $found)) {
    session_write_close();
    $payment = create_payment($found[1], "/checkout/order-received/$found[1]/");
    header('Location: ' . ($payment['checkout_url'] ?? '/checkout/'), true, 302);
} elseif (preg_match('#^my-account/view-order/(\d+)$#', $path, $found)) {
    $order = row('SELECT * FROM orders WHERE id = ? AND customer = ?', [$found[1], $_SESSION['customer']]);
    http_response_code($order === null ? 404 : 200);
    $status = STATUSES[$order['status'] ?? 'open'];
    $parcels = str_repeat('<li class="parcel">', (int) ($order['parcels'] ?? 0));
    echo "<p>Order <mark class=\"order-number\">$found[1]</mark> is <mark class=\"order-status\">$status</mark></p><ul>$parcels</ul>";
} else {
    echo '<p>Thank you. Your order has been received.</p>';
}
