<?php

namespace App\MessageHandler;

use App\Message\PaymentChanged;
use Doctrine\DBAL\Connection;
use Symfony\Component\Messenger\Attribute\AsMessageHandler;
use Symfony\Contracts\HttpClient\HttpClientInterface;

#[AsMessageHandler]
class PaymentChangedHandler
{
    public function __construct(private Connection $db, private HttpClientInterface $http) {}

    public function __invoke(PaymentChanged $message): void
    {
        $url = "{$_ENV['PAYMENTS_URL']}/v1/payments/$message->paymentId";
        $key = ['auth_bearer' => $_ENV['PAYMENTS_KEY']];
        $payment = $this->http->request('GET', $url, $key)->toArray();
        $this->db->transactional(function () use ($message, $payment) {
            $insert = 'INSERT INTO webhooks VALUES (?) ON CONFLICT DO NOTHING';
            if ($this->db->executeStatement($insert, [$message->webhookId])) {
                echo "{$payment['id']} is {$payment['status']}\n";
            }
        });
    }
}
