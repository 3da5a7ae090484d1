<?php

declare(strict_types=1);

use PHPUnit\Framework\TestCase;

require __DIR__ . '/PaymentsEmulator.php';
require __DIR__ . '/Shop.php';

final class ShopTest extends TestCase
{
    private static PaymentsEmulator $emulator;
    private PaymentsAccount $account;
    private Shop $shop;

    public static function setUpBeforeClass(): void
    {
        self::$emulator = PaymentsEmulator::start(['--seed', '1']);
    }

    public static function tearDownAfterClass(): void
    {
        self::$emulator->stop();
    }

    protected function setUp(): void
    {
        $this->account = self::$emulator->createAccount();
        $key = getenv('PAYMENTS_EMULATOR_TEST_KEY') ?: $this->account->testKey;
        $this->shop = new Shop($this->account->baseUrl, $key);
    }

    protected function tearDown(): void
    {
        $this->account->delete();
    }

    public function test_creates_a_payment(): void
    {
        $created = $this->shop->order('1');
        $payment = $this->account->payment($created['id']);
        self::assertSame(['pending', ['order' => '1']], [$payment['status'], $payment['metadata']]);
        self::assertStringStartsWith(self::$emulator->checkoutUrl, $created['checkout_url']);
        [$request] = $this->account->requests();
        self::assertSame(['POST', 201], [$request['method'], $request['status']]);
        $live = new Shop($this->account->baseUrl, $this->account->liveKey);
        $this->expectExceptionMessageMatches('/^payment_not_found/');
        $this->account->payment($live->order('1')['id']);
    }

    public function test_pays_with_each_method(): void
    {
        self::assertSame('telebirr', $this->account->pay($this->shop->order('1')['id'])['method']);
        $id = $this->shop->order('2')['id'];
        $waiting = $this->account->pay($id, phone: '0711223344');
        self::assertSame(['processing', 'mpesa'], [$waiting['status'], $waiting['method']]);
        self::assertSame('completed', $this->account->answer($id, 'approve')['status']);
        $paid = $this->account->pay($this->shop->order('3')['id'], method: 'mpesa');
        self::assertSame(['completed', 'mpesa'], [$paid['status'], $paid['method']]);
        $id = $this->shop->order('4')['id'];
        $atBank = $this->account->pay($id, method: 'bank_transfer');
        self::assertSame(['processing', 'bank_transfer'], [$atBank['status'], $atBank['method']]);
        self::assertSame('completed', $this->account->answer($id, 'approve')['status']);
    }

    public function test_fails_after_30_seconds_without_an_answer(): void
    {
        $id = $this->shop->order('1')['id'];
        $this->account->pay($id, phone: '0900000003');
        $this->account->advance(29.5);
        self::assertSame('processing', $this->account->payment($id)['status']);
        self::assertSame([$id], array_column($this->account->advance('500ms'), 'payment'));
        self::assertSame('failed', $this->account->payment($id)['status']);
    }

    public function test_verifies_webhooks(): void
    {
        // The receiver of the test stands for the shop's address, so each webhook arrives twice.
        $address = self::$emulator->receiverUrl . "/{$this->account->id}";
        $secret = $this->account->deliverTo($address)['secret'];
        $this->account->pay($this->shop->order('1')['id']);
        $statuses = [];
        foreach ($this->account->newWebhooks() as $webhook) {
            $statuses[] = $this->receive($webhook);
            $statuses[] = $this->shop->receive($webhook->headers, $webhook->body, $secret);
        }
        self::assertEquals([204 => 6, 400 => 6], array_count_values($statuses));
        self::assertSame(['1'], $this->shop->shipped);
        $types = array_column($this->account->deliveries(), 'type');
        self::assertSame(['payment.created', 'payment.processing', 'payment.completed'], $types);
    }

    public function test_checks_the_shop_and_not_the_inbox_of_the_test(): void
    {
        $secret = 'whsec_' . base64_encode(random_bytes(24));
        $command = [PHP_BINARY, '-S', '127.0.0.1:0', __DIR__ . '/webhooks.php'];
        $server = proc_open($command, [2 => ['pipe', 'w']], $pipes, null, ['WEBHOOK_SECRET' => $secret] + getenv());
        try {
            self::assertSame(1, preg_match('/:(\d+)\) started/', fgets($pipes[2]), $match));
            $this->account->deliverTo("http://127.0.0.1:$match[1]/webhooks", $secret);
            $this->account->useScenario('forged-webhooks');
            $this->account->pay($this->shop->order('1')['id']);
            self::assertSame('passed', self::judged($this->account, 'webhook-signature'));
        } finally {
            proc_terminate($server);
        }
        $without = self::$emulator->createAccount();
        $without->pay((new Shop($without->baseUrl, $without->testKey))->order('1')['id']);
        self::assertSame('not_exercised', self::judged($without, 'webhook-acknowledged'));
        self::assertSame('passed', self::judged($without, 'create-idempotent'));
        $without->delete();
    }

    public function test_ships_once_after_a_duplicate_webhook(): void
    {
        $this->account->useScenario('duplicate-webhooks');
        $id = $this->shop->order('1')['id'];
        $this->account->pay($id);
        $webhooks = $this->account->newWebhooks();
        $completed = array_filter($webhooks, fn ($webhook) => $webhook->type === 'payment.completed');
        self::assertSame([$id, $id], array_column($completed, 'payment'));
        self::assertSame([204], array_values(array_unique(array_map([$this, 'receive'], $webhooks))));
        self::assertSame(['1'], $this->shop->shipped);
        self::assertSame([], $this->account->newWebhooks());
        self::assertEquals($webhooks, $this->account->webhooks());
    }

    public function test_creates_one_payment_when_a_response_is_lost(): void
    {
        $this->account->fault('create_payment', ['drop' => true, 'point' => 'after_commit']);
        $id = $this->shop->order('1')['id'];
        $requests = $this->account->requests();
        self::assertSame([false, true], array_column($requests, 'replayed'));
        self::assertSame([$id], array_column($this->account->webhooks(), 'payment'));
    }

    public function test_expires_after_30_minutes(): void
    {
        $id = $this->shop->order('1')['id'];
        $this->account->advance('30m');
        self::assertSame('expired', $this->account->payment($id)['status']);
        $this->expectException(PaymentsEmulatorError::class);
        $this->expectExceptionCode(409);
        $this->expectExceptionMessageMatches('/^payment_not_payable: .*expired/');
        $this->account->pay($id);
    }

    public function test_refunds_a_payment(): void
    {
        $id = $this->shop->order('1')['id'];
        $this->account->pay($id);
        self::assertSame('refunded', $this->account->refund($id)['status']);
        $webhooks = $this->account->webhooks();
        self::assertSame('payment.refunded', end($webhooks)->type);
    }

    public function test_cancels_a_payment_which_stays_pending(): void
    {
        $id = $this->shop->order('1')['id'];
        self::assertSame('pending', $this->account->cancel($id)['status']);
        self::assertSame('expired', $this->account->transition($id, 'expired')['status']);
        $this->expectExceptionCode(409);
        $this->account->cancel($id);
    }

    public function test_begins_again_after_a_reset(): void
    {
        $this->account->deliverTo('http://127.0.0.1:9/webhooks');
        $this->shop->order('1');
        $this->account->newWebhooks();
        $this->account->reset();
        $requests = $this->account->requests();
        self::assertSame([[], []], [$requests, $this->account->webhooks()]);
        $id = $this->shop->order('1')['id'];
        $webhooks = $this->account->newWebhooks();
        self::assertSame([$id], array_column($webhooks, 'payment'));
        self::assertSame(204, $this->receive($webhooks[0]));
        self::assertSame([[], []], [$this->account->deliveries(), $this->account->advance(0)]);
    }

    public function test_isolates_parallel_accounts(): void
    {
        $other = self::$emulator->createAccount();
        $id = $this->shop->order('1')['id'];
        $otherId = (new Shop($other->baseUrl, $other->testKey))->order('1')['id'];
        self::assertNotSame($id, $otherId);
        $other->pay($otherId);
        self::assertSame([$id], array_column($this->account->webhooks(), 'payment'));
        self::assertSame([$otherId, $otherId, $otherId], array_column($other->webhooks(), 'payment'));
        $this->expectExceptionMessageMatches('/^payment_not_found/');
        $other->payment($id);
    }

    public function test_repeats_a_request_with_an_idempotency_key(): void
    {
        self::assertSame($this->shop->order('1'), $this->shop->order('1'));
        self::assertCount(1, $this->account->webhooks());
        $this->expectExceptionMessage('idempotency_key_reused');
        $this->shop->order('1', 20_000);
    }

    private static function judged(PaymentsAccount $account, string $item): string
    {
        return array_column($account->checklist(), 'result', 'id')[$item];
    }

    private function receive(PaymentsWebhook $webhook): int
    {
        return $this->shop->receive($webhook->headers, $webhook->body, $this->account->webhookSecret);
    }
}
