<?php
// A shop's program on the client that openapi-generator makes for PHP.

use OpenAPI\Client\Api\PaymentsApi;
use OpenAPI\Client\ApiException;
use OpenAPI\Client\Configuration;
use OpenAPI\Client\Model\CreatePayment;
use OpenAPI\Client\Model\Currency;
use OpenAPI\Client\Model\PaymentMethod;
use OpenAPI\Client\Model\PaymentStatus;

require __DIR__ . '/vendor/autoload.php';

$configuration = new Configuration();
$configuration->setHost('http://127.0.0.1:8080')->setAccessToken('test_demo_key');
$payments = new PaymentsApi(config: $configuration);

$order = [
    'amount' => 15000,
    'currency' => Currency::ETB,
    'methods' => [PaymentMethod::TELEBIRR, PaymentMethod::MPESA],
    'success_url' => 'https://shop.example/አመሰግናለሁ',
    'cancel_url' => 'https://shop.example/cart',
    'metadata' => ['customer' => 'አበበ'],
    'idempotency_key' => 'order-1042',
];

$payment = $payments->createPayment(new CreatePayment($order));
show('created', $payment->getId(), $payment->getStatus(), $payment->getAmount(), $payment->getMetadata()['customer']);

$again = $payments->createPayment(new CreatePayment($order));
show('retried', $again->getId());

$retrieved = $payments->retrievePayment($payment->getId());
show('retrieved', $retrieved->getId(), $retrieved->getSuccessUrl(), $retrieved->getMethod() ?? '-');

$cursor = null;
do {
    $page = $payments->listPayments(limit: 2, after: $cursor);
    show('page', ...ids($page));
    $cursor = $page->getNextCursor();
} while ($cursor !== null);

$narrowed = $payments->listPayments(
    status: PaymentStatus::COMPLETED,
    method: PaymentMethod::TELEBIRR,
    created_gte: $payment->getCreatedAt()->format(DATE_RFC3339_EXTENDED),
);
show('narrowed', ...ids($narrowed));

$stranger = new PaymentsApi(config: (clone $configuration)->setAccessToken('sk_demo'));
showRefusal(fn () => $payments->createPayment(new CreatePayment(['amount' => 99] + $order)));
showRefusal(fn () => $stranger->retrievePayment($payment->getId()));
showRefusal(fn () => $payments->retrievePayment('pay_unknown'));
showRefusal(fn () => $payments->createPayment(new CreatePayment(['amount' => 20000] + $order)));

function ids($page): array
{
    return array_map(fn ($payment) => $payment->getId(), $page->getData());
}

function show(...$words): void
{
    echo implode(' ', $words), "\n";
}

function showRefusal(callable $call): void
{
    try {
        $call();
    } catch (ApiException $refused) {
        $error = $refused->getResponseObject()->getError();
        show($refused->getCode(), $error->getCode(), $error->getParam() ?? '-');
    }
}
