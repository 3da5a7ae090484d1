<?php

declare(strict_types=1);

// program.php start HOST [OPTION…] | wait | secrets SECRET | forms NAME
require 'PaymentsEmulator.php';
require 'Shop.php';

[, $mode, $argument] = $argv + [2 => '-'];

/** Prints the emulator's addresses and the number of webhooks, or what prevents them. */
function start(string $mode, string $host, array $serve): void
{
    try {
        $emulator = PaymentsEmulator::start($serve, $host === '-' ? null : $host);
        $webhooks = $emulator->createAccount()->webhooks();
        echo "{$emulator->baseUrl} {$emulator->checkoutUrl} ", count($webhooks), "\n";
        sleep($mode === 'wait' ? 600 : 0);
    } catch (PaymentsEmulatorError $error) {
        echo $error->getMessage(), "\n";
    }
}

/** Prints the secrets of an account's webhooks, of an endpoint, and of one with its own secret. */
function secrets(string $secret): void
{
    $account = PaymentsEmulator::start()->createAccount();
    $shop = $account->deliverTo('http://127.0.0.1:9/a');
    $own = $account->deliverTo('http://127.0.0.1:9/b', $secret);
    echo "{$account->webhookSecret} {$shop['secret']} {$own['secret']}";
}

/**
 * With webhooks in a form, prints those of a payment, then those of one with a changed body, and
 * the form of an endpoint in the form `hex-header`.
 */
function forms(string $name): void
{
    $account = PaymentsEmulator::start(["--webhook-format=$name"])->createAccount();
    pay($account, '1');
    $rule = ['when' => (object) [], 'then' => ['tamper' => str_contains($name, 'token') ? 'signature' : 'body']];
    $forged = ['name' => 'forged', 'webhooks' => [$rule]];
    $account->control('PUT', '/scenarios/forged', $forged);
    pay($account, '2');
    $endpoint = $account->deliverTo('http://127.0.0.1:9/a', str_repeat('a', 24), 'hex-header');
    echo $endpoint['format']['name'], "\n";
}

function pay(PaymentsAccount $account, string $order): void
{
    $id = (new Shop($account->baseUrl, $account->testKey))->order($order)['id'];
    $account->pay($id);
    foreach ($account->newWebhooks() as $webhook) {
        $names = array_keys($webhook->headers);
        sort($names);
        $flags = array_map('json_encode', [$webhook->payment === $id, $webhook->isVerified]);
        echo implode(' ', [$webhook->type, ...$flags, implode(',', $names)]), "\n";
    }
}

match ($mode) {
    'secrets' => secrets($argument),
    'forms' => forms($argument),
    default => start($mode, $argument, array_slice($argv, 3)),
};
