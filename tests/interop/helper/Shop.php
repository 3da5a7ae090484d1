<?php

declare(strict_types=1);

/** A small shop: it creates a payment for each order, and ships an order once it is paid. */
final class Shop
{
    private const MAX_TRIES = 3, MAX_AGE_S = 300;

    public array $shipped = [];
    private array $known = [];

    public function __construct(private string $baseUrl, private string $key)
    {
    }

    /** Repeats a request without a response; the idempotency key prevents a second payment. */
    public function order(string $number, int $amount = 15_000): array
    {
        $content = json_encode([
            'amount' => $amount,
            'currency' => 'ETB',
            'methods' => ['telebirr', 'mpesa', 'bank_transfer'],
            'success_url' => "http://localhost:4000/orders/$number",
            'cancel_url' => 'http://localhost:4000/cart',
            'metadata' => ['order' => $number],
            'idempotency_key' => "order-$number",
        ]);
        $header = ["Authorization: Bearer {$this->key}", 'Content-Type: application/json'];
        $http = ['method' => 'POST', 'header' => $header, 'content' => $content, 'ignore_errors' => true];
        for ($tries = 0; $tries < self::MAX_TRIES; ++$tries) {
            $context = stream_context_create(['http' => $http]);
            $json = @file_get_contents("{$this->baseUrl}/v1/payments", false, $context);
            if ($json !== false) {
                $payment = json_decode($json, true);
                return isset($payment['error']) ? throw new RuntimeException($payment['error']['code']) : $payment;
            }
        }
        throw new RuntimeException('the payments service does not respond');
    }

    /** Handles a webhook; returns the status of the response. */
    public function receive(array $headers, string $body, string $secret): int
    {
        if (abs(time() - (int) ($headers['webhook-timestamp'] ?? 0)) > self::MAX_AGE_S) {
            return 400;
        }
        $signed = "{$headers['webhook-id']}.{$headers['webhook-timestamp']}.$body";
        $key = base64_decode(substr($secret, strlen('whsec_')));
        $expected = 'v1,' . base64_encode(hash_hmac('sha256', $signed, $key, true));
        if (!hash_equals($expected, $headers['webhook-signature'] ?? '')) {
            return 400;
        }
        $event = json_decode($body, true);
        if (!isset($this->known[$event['id']]) && $event['type'] === 'payment.completed') {
            $this->shipped[] = $event['data']['metadata']['order'];
        }
        $this->known[$event['id']] = true;
        return 204;
    }
}
