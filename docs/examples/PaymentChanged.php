<?php

namespace App\Message;

class PaymentChanged
{
    public function __construct(public string $webhookId, public string $paymentId) {}
}
