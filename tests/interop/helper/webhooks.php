<?php

declare(strict_types=1);

// The shop's handler of webhooks, for `php -S`.
require __DIR__ . '/Shop.php';

$headers = array_change_key_case(getallheaders());
$secret = (string) getenv('WEBHOOK_SECRET');
http_response_code((new Shop('', ''))->receive($headers, file_get_contents('php://input'), $secret));
