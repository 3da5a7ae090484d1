<?php

// Verifies webhooks by hand: a JSON line {form, secret, headers, body} for each comes in, and true
// or false goes out.

declare(strict_types=1);

function is_recent(string $timestamp): bool
{
    return ctype_digit($timestamp) && abs(time() - (int) $timestamp) <= 300;
}

function is_any_of(string $expected, array $given): bool
{
    return (bool) array_filter($given, fn (string $each) => hash_equals($expected, $each));
}

function is_verified(string $form, string $secret, array $headers, string $body): bool
{
    switch ($form) {
        case 'standard':
            [$id, $time] = [$headers['webhook-id'], $headers['webhook-timestamp']];
            $key = base64_decode(substr($secret, strlen('whsec_')));
            $expected = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$time.$body", $key, true));
            return is_recent($time) && is_any_of($expected, explode(' ', $headers['webhook-signature'] ?? ''));
        case 'timestamped-hex':
            $given = explode(',', $headers['payments-signature'] ?? '');
            $time = substr(array_shift($given), strlen('t='));
            $expected = 'v1=' . hash_hmac('sha256', "$time.$body", $secret);
            return is_recent($time) && is_any_of($expected, $given);
        case 'hex-header':
            return hash_equals(hash_hmac('sha512', $body, $secret), $headers['x-signature'] ?? '');
        case 'form-fields':
            $expected = base64_encode(hash_hmac('sha256', $body, hex2bin($secret), true));
            return hash_equals($expected, $headers['x-notification-signature'] ?? '');
    }
}

while (($line = fgets(STDIN)) !== false) {
    ['form' => $form, 'secret' => $secret, 'headers' => $headers, 'body' => $body] = json_decode($line, true);
    echo json_encode(is_verified($form, $secret, $headers, base64_decode($body))), "\n";
}
