<?php

// A correct, tolerant client of the contract plays a history with each value of `vary` in its arguments.

declare(strict_types=1);

require 'PaymentsEmulator.php';

const ORDER = [
    'currency' => 'ETB', 'methods' => ['telebirr'],
    'success_url' => 'https://shop.example/paid', 'cancel_url' => 'https://shop.example/cart',
];

function same(mixed $found, mixed $expected): void
{
    if ($found !== $expected) {
        throw new RuntimeException(json_encode($found) . ' is not ' . json_encode($expected));
    }
}

final class Client
{
    public array $states = [];
    private array $seen = [];

    public function __construct(private PaymentsAccount $account)
    {
    }

    public function send(string $path, ?array $body = null, ?string $key = null): array
    {
        $key ??= $this->account->testKey;
        $http = ['header' => ["Authorization: Bearer $key", 'Content-Type: application/json'], 'ignore_errors' => true];
        $http += $body ? ['method' => 'POST', 'content' => json_encode($body)] : [];
        $context = stream_context_create(['http' => $http]);
        $text = file_get_contents("{$this->account->baseUrl}/v1/payments$path", false, $context);
        $headers = [];
        foreach (array_slice($http_response_header, 1) as $line) {
            [$name, $value] = explode(': ', $line, 2);
            $headers[strtolower($name)] = $value;
        }
        $status = (int) explode(' ', $http_response_header[0])[1];
        return ['status' => $status, 'text' => $text, 'json' => json_decode($text, true), 'headers' => $headers];
    }

    public function create(int $number): array
    {
        $metadata = ['order' => "$number", 'created_at' => '2026-01-01T00:00:00.000Z'];
        $order = ['amount' => 100 * $number, 'idempotency_key' => "order-$number", 'metadata' => $metadata];
        $answer = $this->send('', ORDER + $order);
        if ($answer['status'] < 300) {
            ksort($metadata);
            ksort($answer['json']['metadata']);
            same($answer['json']['metadata'], $metadata);
            $this->states[$answer['json']['id']] ??= $answer['json']['status'];
        }
        return $answer;
    }

    public function listed(): array
    {
        $page = $this->send('?limit=2')['json'];
        $payments = $page['data'];
        while ($page['has_more']) {
            $page = $this->send("?limit=2&after={$page['next_cursor']}")['json'];
            array_push($payments, ...$page['data']);
        }
        same($page['next_cursor'] ?? null, null);
        return $payments;
    }

    public function receive(array $event): void
    {
        $id = $event['data']['id'] ?? '';
        if (isset($this->seen[$event['id']]) || !isset($this->states[$id])) {
            return;
        }
        $this->seen[$event['id']] = true;
        if (in_array($event['type'], ['payment.completed', 'payment.failed'], true)) {
            $this->states[$id] = $this->send("/$id")['json']['status'];
        }
    }
}

function refusal(array $answer): array
{
    // A client decides by the status where it does not know the code.
    $codes = [401 => 'invalid_api_key', 404 => 'payment_not_found', 409 => 'idempotency_key_reused'];
    $error = $answer['json']['error'];
    $code = $error['code'] === 'unusual_condition' ? $codes[$answer['status']] : $error['code'];
    return [$answer['status'], $code, $error['param'] ?? null];
}

function play(PaymentsAccount $account): void
{
    $client = new Client($account);
    $first = $client->create(1);
    $payment = $first['json'];
    same([$first['status'], $payment['status'], $payment['method'] ?? null], [201, 'pending', null]);
    $lifetime = (new DateTimeImmutable($payment['created_at']))->diff(new DateTimeImmutable($payment['expires_at']));
    same($lifetime->format('%a %h %i %s %f'), '0 0 30 0 0');
    for ($replay = 0; $replay < 3; ++$replay) {
        same($client->create(1)['text'], $first['text']);
    }
    same(refusal($client->send('', ORDER + ['amount' => 1])), [400, 'invalid_amount', 'amount']);
    $conflict = $client->send('', ORDER + ['amount' => 999, 'idempotency_key' => 'order-1']);
    same(array_slice(refusal($conflict), 0, 2), [409, 'idempotency_key_reused']);
    same(array_slice(refusal($client->send('/pay_unknown')), 0, 2), [404, 'payment_not_found']);
    same(array_slice(refusal($client->send('', null, 'test_unknown_key')), 0, 2), [401, 'invalid_api_key']);
    array_map($client->create(...), range(2, 5));
    $listed = array_column($client->listed(), 'id');
    same(count($listed), count(array_unique($listed)));
    $mine = array_keys($client->states);
    same(array_diff($mine, $listed), []);
    foreach ([429, 409] as $status) {
        $then = ['status' => $status, 'retry_after' => 2];
        $account->control('POST', '/faults', ['when' => new stdClass(), 'then' => $then, 'times' => 1]);
        $refused = $client->send("/{$payment['id']}");
        same($refused['status'], $status);
        $text = $refused['headers']['retry-after'];
        $wait = ctype_digit($text) ? (int) $text : strtotime($text) - time();
        same($wait > -60 && $wait <= 4, true);
    }
    $retrieved = $client->send("/{$payment['id']}")['json'];
    same([$retrieved['id'], $retrieved['amount']], [$payment['id'], 100]);
    $account->pay($mine[0], phone: '0900000001');
    $account->pay($mine[1], phone: '0900000002');
    foreach ($account->webhooks() as $webhook) {
        $client->receive(json_decode($webhook->body, true));
    }
    same(array_values($client->states), ['completed', 'failed', 'pending', 'pending', 'pending']);
}

$emulator = PaymentsEmulator::start();
$failures = 0;
foreach (array_slice($argv, 1) as $vary) {
    $options = ['vary' => $vary, 'seed' => 1, 'clock' => 'frozen@2026-01-01T00:00:00.123Z'];
    $account = $emulator->createAccount($options);
    try {
        play($account);
    } catch (Throwable $error) {
        ++$failures;
        echo "$vary: $error\n";
    }
    $account->delete();
}
echo "$failures failures\n";
