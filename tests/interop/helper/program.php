<?php
require 'PaymentsEmulator.php';
try {
    $emulator = PaymentsEmulator::start(...json_decode($argv[1], true));
    $webhooks = $emulator->createAccount()->webhooks();
    echo "{$emulator->baseUrl} {$emulator->checkoutUrl} ", count($webhooks), "\n";
    sleep(isset($argv[2]) ? 600 : 0);
} catch (PaymentsEmulatorError $error) {
    echo $error->getMessage(), "\n";
}
