<?php
// Sends its standard input with curl and with PHP's own streams.
[, $url, $key] = $argv;
$body = stream_get_contents(STDIN);
$headers = ["Authorization: Bearer $key", 'Content-Type: application/json'];

$curl = curl_init($url);
curl_setopt_array($curl, [
    CURLOPT_HTTPHEADER => $headers,
    CURLOPT_POSTFIELDS => $body,
    CURLOPT_RETURNTRANSFER => true,
]);
$answer = curl_exec($curl);
echo curl_getinfo($curl, CURLINFO_RESPONSE_CODE), ' ', $answer, "\n";

$options = ['method' => 'POST', 'header' => $headers, 'content' => $body, 'ignore_errors' => true];
$answer = file_get_contents($url, false, stream_context_create(['http' => $options]));
echo explode(' ', $http_response_header[0])[1], ' ', $answer, "\n";
