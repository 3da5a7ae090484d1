<?php

// phpcs:ignoreFile
// Test helper for the payments emulator: PHPUnit and Pest on PHP 8.1 or newer.
// `payments-emulator helper php` prints this file; run it again after an update.

declare(strict_types=1);

/** A refused call, whose code is the HTTP status, or an emulator that does not respond. */
final class PaymentsEmulatorError extends RuntimeException
{
    public function __construct(string $message, int $code = 0, public readonly ?string $param = null)
    {
        parent::__construct($message, $code);
    }
}

/** A received webhook: header names are lower case, and `body` has the signed bytes. */
final class PaymentsWebhook
{
    private const PLACEHOLDER = '/\{([^{}]+)\}/';
    private const JSON = JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_LINE_TERMINATORS;

    /** @var array<string, string> */
    public readonly array $headers;
    public readonly ?string $id, $type, $payment;
    /** Whether the signature is correct, and its timestamp is at most five minutes old. */
    public readonly bool $isVerified;

    /** @internal reads a webhook in the form of its endpoint */
    public function __construct(array $endpoint, array $headers, public readonly string $body, int $time)
    {
        $form = $endpoint['format'];
        $templates = array_change_key_case($form['headers']);
        $this->headers = array_intersect_key($headers, $templates + ['content-type' => 0, 'user-agent' => 0]);
        $event = json_decode($body, true);
        if ($form['content_type'] !== 'application/json') {
            foreach (explode('&', $body) as $pair) {
                [$name, $value] = array_map('urldecode', explode('=', "$pair="));
                $event[$name] = $value;
            }
        }
        $values = self::values($templates, $this->headers) + self::values($form['body'], $event);
        $values += ['id' => $values['event.id'] ?? null];
        $payment = $values['payment'] ?? [];
        $status = $values['payment.status'] ?? $payment['status'] ?? null;
        // The emulator's name of the type that the form has.
        $sent = $values['event.type'] ?? null;
        $own = $sent === null ? [] : array_keys($form['events'], $sent, true);
        $isUnclear = $status !== null && ($sent === null || count($own) > 1);
        $type = $isUnclear ? 'payment.' . ($status === 'pending' ? 'created' : $status) : $own[0] ?? $sent;
        [$this->id, $this->type] = [$values['id'], $type];
        $this->payment = $values['payment.id'] ?? $payment['id'] ?? null;
        $isRecent = !str_contains(implode($templates), '{timestamp}')
            || (ctype_digit($values['timestamp'] ?? '') && abs($time - (int) $values['timestamp']) <= 300);
        $this->isVerified = $isRecent && self::isSigned($form['signature'], $endpoint['secret'], $values, $body);
    }

    private static function isSigned(array $form, string $secret, array $values, string $body): bool
    {
        if ($form['algorithm'] === 'none') {
            return false;
        }
        $key = match ($form['secret']) {
            'base64' => base64_decode(preg_replace('/^whsec_/', '', $secret)),
            'hex' => hex2bin($secret),
            'text' => $secret,
        };
        $value = fn (array $match) => $match[1] === 'body' ? $body : self::text(self::value($values, $match[1]));
        $expected = $form['prefix'] . $secret;
        if ($form['algorithm'] !== 'token') {
            $signed = preg_replace_callback(self::PLACEHOLDER, $value, $form['content']);
            $digest = hash_hmac(substr($form['algorithm'], strlen('hmac-')), $signed, $key, true);
            $expected = $form['prefix'] . ($form['encoding'] === 'hex' ? bin2hex($digest) : base64_encode($digest));
        }
        $sent = $values['signature'] ?? '';
        $given = $form['separator'] ? explode($form['separator'], $sent) : [$sent];
        return (bool) array_filter($given, fn (string $each) => hash_equals($expected, $each));
    }

    /** The value at a placeholder, or the one that follows from the values at others. */
    private static function value(array $values, string $name): mixed
    {
        if (array_key_exists($name, $values)) {
            return $values[$name];
        }
        if ($name === 'event.id') {
            return $values['id'];
        }
        if ($name === 'payment.amount_birr') {
            $cents = str_pad((string) self::value($values, 'payment.amount'), 3, '0', STR_PAD_LEFT);
            return substr($cents, 0, -2) . '.' . substr($cents, -2);
        }
        $whole = str_starts_with($name, 'payment.metadata.') ? 'payment.metadata' : 'payment';
        $isPart = str_starts_with($name, "$whole.");
        return $isPart ? self::value($values, $whole)[substr($name, strlen($whole) + 1)] ?? null : null;
    }

    private static function text(mixed $value): string
    {
        if ($value === null || is_string($value)) {
            return (string) $value;
        }
        // An empty mapping is an empty array in PHP.
        return $value === [] ? '{}' : str_replace('"metadata":[]', '"metadata":{}', json_encode($value, self::JSON));
    }

    /** The values at the placeholders of a template, in what was received. */
    private static function values(mixed $template, mixed $received): array
    {
        if (is_array($template)) {
            $values = [];
            foreach (is_array($received) ? array_intersect_key($template, $received) : [] as $key => $each) {
                $values += self::values($each, $received[$key]);
            }
            return $values;
        }
        $parts = preg_split(self::PLACEHOLDER, (string) $template, -1, PREG_SPLIT_DELIM_CAPTURE);
        if (count($parts) === 3 && $parts[0] . $parts[2] === '') {
            return [$parts[1] => $received];
        }
        $name = fn (string $part, int $index) => $index % 2 ? '(.*?)' : preg_quote($part, '/');
        $pattern = implode(array_map($name, $parts, array_keys($parts)));
        $isFound = is_string($received) && preg_match("/^$pattern$/sD", $received, $match);
        $names = array_values(array_filter($parts, fn (int $index) => $index % 2, ARRAY_FILTER_USE_KEY));
        return $isFound ? array_combine($names, array_slice($match, 1)) : [];
    }
}

/** A merchant's account. When a call returns, webhooks that were due have been delivered. */
final class PaymentsAccount
{
    private const UNITS_MS = ['ms' => 1, 's' => 1_000, 'm' => 60_000, 'h' => 3_600_000, 'd' => 86_400_000];

    public readonly string $id, $baseUrl, $testKey, $liveKey;
    /** The secret that verifies `webhooks()`. */
    public readonly string $webhookSecret;
    private array $endpoint;
    private string $problem = '';
    private int $seen = 0, $first = 0;

    public function __construct(private PaymentsEmulator $emulator, array $account)
    {
        $this->baseUrl = $emulator->baseUrl;
        [$this->id, $this->testKey, $this->liveKey] = [$account['id'], $account['test_key'], $account['live_key']];
        $this->endpoint = $this->deliverTo("{$emulator->receiverUrl}/{$this->id}");
        $this->webhookSecret = $this->endpoint['secret'];
        $path = "/webhook_endpoints/{$this->endpoint['id']}";
        // Webhooks of an emulator that runs elsewhere may not arrive.
        if ($emulator->isExternal && $this->control('POST', "$path/ping")['status'] !== 'succeeded') {
            $this->problem = "webhooks of the payments emulator at {$this->baseUrl} do not reach the tests at"
                . " {$emulator->receiverUrl}; set the option webhookHost, such as host.docker.internal";
            $this->control('DELETE', $path);
        }
        $this->first = count($emulator->received($this->id));
    }

    /**
     * Pays as on the checkout page. The default is a phone or bank whose payments succeed.
     * A `bank_transfer` stays `processing` until `answer`.
     */
    public function pay(string $id, ?string $method = null, ?string $phone = null, ?string $bank = null): array
    {
        return $this->act($id, 'pay', ['method' => $method, 'phone' => $phone, 'bank' => $bank]);
    }

    /** Answers on the phone or at the bank: 'approve', 'cancel', 'wrong_pin' etc. */
    public function answer(string $id, string $answer): array
    {
        return $this->act($id, 'answer', ['answer' => $answer]);
    }

    /** Presses the page's cancel button, which leaves the payment pending. */
    public function cancel(string $id): array { return $this->act($id, 'cancel'); }

    public function refund(string $id): array { return $this->transition($id, 'refunded'); }

    /** Sets a status by any legal transition, also before it is due. */
    public function transition(string $id, string $status): array
    {
        return $this->act($id, 'transition', ['status' => $status]);
    }

    /** Advances the clock by '30s' or by 30 (seconds); returns what happened. */
    public function advance(string|int|float $span): array
    {
        if (is_string($span)) {
            preg_match('/^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/D', $span, $match) || throw new InvalidArgumentException(
                "'$span' is not a duration: use seconds, or a number with ms, s, m, h or d, such as '30s'");
            $span = round($match[1] * self::UNITS_MS[$match[2]]) / 1_000;
        }
        $advanced = $this->control('POST', '/clock/advance', ['seconds' => $span]);
        if (!$advanced['settled']) {
            throw new PaymentsEmulatorError("the clock stopped at {$advanced['now']}: a webhook receiver is too slow");
        }
        return $this->withoutInbox($advanced['effects']);
    }

    /** Enables one of the emulator's scenarios. */
    public function useScenario(string $name): array
    {
        return $this->control('PUT', '/scenarios/' . rawurlencode($name) . '/enabled', ['enabled' => true]);
    }

    /** Makes one request fail: `fault('create_payment', ['drop' => true, 'point' => 'after_commit'])`. */
    public function fault(string $request, array $then): array
    {
        return $this->control('POST', '/faults', ['when' => ['request' => $request], 'then' => $then, 'times' => 1]);
    }

    /** @return list<PaymentsWebhook> the webhooks that the test received, in order of arrival */
    public function webhooks(): array
    {
        $this->problem === '' ? $this->advance(0) : throw new PaymentsEmulatorError($this->problem);
        $received = array_slice($this->emulator->received($this->id), $this->first);
        return array_map(fn (array $each) => new PaymentsWebhook($this->endpoint, ...$each), $received);
    }

    /** @return list<PaymentsWebhook> the webhooks since the last call, for the merchant's handler */
    public function newWebhooks(): array
    {
        $new = array_slice($this->webhooks(), $this->seen);
        $this->seen += count($new);
        return $new;
    }

    /**
     * Also sends later webhooks to the merchant's application; returns `id`, `url`, `secret` and `format`.
     *
     * @param string|array|null $format the name of a form of webhooks, or the form; by default that of the emulator
     */
    public function deliverTo(string $url, ?string $secret = null, string|array|null $format = null): array
    {
        $secret ??= getenv('PAYMENTS_EMULATOR_WEBHOOK_SECRET') ?: null;
        $endpoint = ['url' => $url, 'secret' => $secret, 'format' => $format];
        return $this->control('POST', '/webhook_endpoints', $endpoint);
    }

    /** The webhooks that the merchant's application was sent, with all attempts, the oldest first. */
    public function deliveries(): array
    {
        $this->advance(0);
        return $this->withoutInbox($this->listed('/deliveries'));
    }

    public function payment(string $id): array
    {
        return $this->control('GET', '/payments/' . rawurlencode($id))['payment'];
    }

    /** The requests of the merchant's code and their responses, the oldest first. */
    public function requests(): array { return $this->listed('/requests'); }

    /** What the merchant's integration does right and wrong, without the webhooks of the test. */
    public function checklist(): array
    {
        $this->advance(0);
        $query = $this->problem === '' ? "?exclude_endpoint={$this->endpoint['id']}" : '';
        return $this->control('GET', "/checklist$query")['data'];
    }

    /** Any call of the control API, such as `control('PUT', '/clock', ['frozen' => false])`. */
    public function control(string $method, string $path, ?array $body = null): ?array
    {
        if (!str_starts_with($path, '/')) throw new InvalidArgumentException("'$path' is not a path such as '/clock'");
        return $this->emulator->call($method, $path, $body, $this->testKey);
    }

    /** Restores the initial state, without the payments, faults and endpoints of the test. */
    public function reset(): void
    {
        $this->control('POST', '/reset');
        if ($this->problem === '') {
            $this->endpoint = $this->deliverTo($this->endpoint['url'], $this->webhookSecret);
        }
        [$this->first, $this->seen] = [count($this->emulator->received($this->id)), 0];
    }

    public function delete(): void { $this->control('DELETE', "/accounts/{$this->id}"); }

    private function withoutInbox(array $entries): array
    {
        $isShown = fn (array $entry) => ($entry['endpoint'] ?? null) !== $this->endpoint['id'];
        return array_values(array_filter($entries, $isShown));
    }

    private function listed(string $path): array { return array_reverse($this->control('GET', "$path?limit=1000")['data']); }

    private function act(string $id, string $action, ?array $body = null): array
    {
        $payment = $this->control('POST', '/payments/' . rawurlencode($id) . "/$action", $body);
        $this->advance(0);
        return $payment;
    }
}

/** A running emulator; `baseUrl` is the API root for the merchant's code. */
final class PaymentsEmulator
{
    public readonly string $baseUrl, $checkoutUrl;
    /** @internal */
    public readonly string $receiverUrl;
    /** @internal */
    public readonly bool $isExternal;
    private string $directory;
    private array $processes = [], $pipes = [];

    /**
     * Uses the emulator at PAYMENTS_EMULATOR_URL, or starts one with PAYMENTS_EMULATOR_COMMAND.
     *
     * @param list<string> $serve more options of `payments-emulator serve`, such as `['--seed', '1']`
     * @param string|null $webhookHost the host name by which an emulator in a container reaches the tests
     */
    public static function start(array $serve = [], ?string $webhookHost = null): self
    {
        return new self($serve, $webhookHost, (string) getenv('PAYMENTS_EMULATOR_URL'));
    }

    private function __construct(array $serve, ?string $webhookHost, string $url)
    {
        $this->directory = sys_get_temp_dir() . '/payments-emulator-' . bin2hex(random_bytes(8));
        $this->isExternal = $url !== '';
        $this->checkoutUrl = $this->isExternal ? $this->connect($url) : $this->launch($serve);
        $address = ($webhookHost === null ? '127.0.0.1' : '0.0.0.0') . ':0';
        $port = fn (string $log) => preg_match('/:(\d+)\) started/', $log, $match) ? $match : null;
        [, $port] = $this->run('php -S', [PHP_BINARY, '-S', $address, __FILE__], $port);
        $this->receiverUrl = 'http://' . ($webhookHost ?? '127.0.0.1') . ":$port";
    }

    /** Creates an account; the options are those of `POST /accounts`. */
    public function createAccount(array $options = []): PaymentsAccount
    {
        $options += ['clock' => 'frozen@2026-01-01T00:00:00Z'];
        $key = $this->isExternal ? getenv('PAYMENTS_EMULATOR_TEST_KEY') ?: null : null;
        try {
            $account = $this->call('POST', '/accounts', $options + ['takes_over' => $key]);
        } catch (PaymentsEmulatorError $error) {
            // Without the key if another account has it, or if it is not that of the first account.
            $account = $error->param === 'takes_over' ? $this->call('POST', '/accounts', $options) : throw $error;
        }
        return new PaymentsAccount($this, $account);
    }

    /** Ends the emulator, unless it is that of PAYMENTS_EMULATOR_URL. */
    public function stop(): void
    {
        array_map('fclose', $this->pipes);
        array_map(PHP_OS_FAMILY === 'Windows' ? 'proc_terminate' : 'proc_close', $this->processes);
        array_map('unlink', glob("{$this->directory}/*") ?: []);
        clearstatcache();
        is_dir($this->directory) && rmdir($this->directory);
        $this->pipes = $this->processes = [];
    }

    public function __destruct() { $this->stop(); }

    /** @internal */
    public function received(string $account): array
    {
        $lines = is_file($file = "{$this->directory}/inbox-$account") ? file($file) : [];
        return array_map(fn (string $line) => unserialize(base64_decode($line)), $lines);
    }

    /** @internal */
    public function call(string $method, string $path, ?array $body = null, string $key = ''): ?array
    {
        $header = array_filter([$key ? "Authorization: Bearer $key" : '', $body ? 'Content-Type: application/json' : '']);
        $http = ['method' => $method, 'header' => $header, 'ignore_errors' => true, 'timeout' => 90];
        $http += $body ? ['content' => json_encode($body, JSON_THROW_ON_ERROR)] : [];
        $reason = '';
        set_error_handler(function (int $number, string $message) use (&$reason): bool {
            $reason = $reason ?: preg_replace('/^fopen\(.*?\): (Failed to open stream: )?/', '', $message);
            return true;
        });
        $stream = fopen("{$this->baseUrl}/_emulator$path", 'r', false, stream_context_create(['http' => $http]));
        $text = $stream ? stream_get_contents($stream) : '';
        restore_error_handler();
        if (!$stream) {
            $log = $this->isExternal ? '' : "; see its log {$this->directory}/log-0";
            throw new PaymentsEmulatorError("the payments emulator at {$this->baseUrl} does not respond: $reason$log");
        }
        $status = (int) explode(' ', stream_get_meta_data($stream)['wrapper_data'][0])[1];
        $value = json_decode($text, true);
        if ($status === 204 || ($status < 400 && is_array($value))) {
            return $value;
        }
        $error = $value['error'] ?? null;
        throw new PaymentsEmulatorError(isset($error['code']) ? "{$error['code']}: {$error['message']}"
            : "$method {$this->baseUrl}/_emulator$path returned $status: this is not a payments emulator",
            $status, $error['param'] ?? null);
    }

    private function connect(string $url): string
    {
        $this->baseUrl = preg_replace('~(/v1)?/*$~D', '', $url, 1);
        try {
            return $this->call('GET', '/')['checkout'];
        } catch (PaymentsEmulatorError $error) {
            throw new PaymentsEmulatorError("PAYMENTS_EMULATOR_URL is '$url': {$error->getMessage()};"
                . " expected the API address that 'serve' prints");
        }
    }

    private function launch(array $options): string
    {
        $command = getenv('PAYMENTS_EMULATOR_COMMAND') ?: 'payments-emulator';
        $words = is_file($command) ? [$command] : preg_split('/\s+/', trim($command));
        $ready = "{$this->directory}/ready.json";
        array_push($words, 'serve', '--port', '0', '--checkout-port', '0', '--allow-http-localhost');
        array_push($words, '--ready-file', $ready, ...$options);
        $poll = fn () => is_file($ready) ? json_decode(file_get_contents($ready), true) : null;
        $entry = $this->run("$command serve", $words, $poll);
        $this->baseUrl = $entry['api'];
        return $entry['checkout'];
    }

    /** Runs a command until the test process stops it or ends; returns the first result of polling its log. */
    private function run(string $name, array $command, callable $poll): array
    {
        // The shell reads from a pipe, which also closes when the test process is killed.
        $watch = '{ cat <&3; rm -rf "$0"; kill $process; }';
        $script = 'exec 3<&0; "$@" 3<&- & process=$!; ' . $watch . ' & wait $process; code=$?; kill $!; exit $code';
        $shell = PHP_OS_FAMILY === 'Windows' ? [] : ['sh', '-c', $script, $this->directory];
        is_dir($this->directory) || mkdir($this->directory, 0700);
        $file = "{$this->directory}/log-" . count($this->processes);
        $variables = ['PAYMENTS_EMULATOR_INBOX' => "{$this->directory}/inbox-"] + array_filter(
            getenv(), fn (string $name) => !str_starts_with($name, 'EMULATOR_'), ARRAY_FILTER_USE_KEY);
        $streams = [['pipe', 'r'], ['file', $file, 'w'], ['file', $file, 'a']];
        $process = proc_open([...$shell, ...$command], $streams, $pipes, null, $variables);
        [$this->processes[], $this->pipes[]] = [$process, $pipes[0]];
        for ($polls = 0; $polls < 1_500; ++$polls) {
            ['running' => $isRunning, 'exitcode' => $code] = proc_get_status($process);
            if ($result = $poll($log = (string) file_get_contents($file))) {
                return $result;
            }
            if (!$isRunning) {
                break;
            }
            usleep(20_000);
        }
        $this->stop();
        throw new PaymentsEmulatorError($code === 127
            ? "the command '$command[0]' was not found: install etb-payments-emulator or activate"
                . ' its Python environment, or set PAYMENTS_EMULATOR_COMMAND or PAYMENTS_EMULATOR_URL'
            : "'$name' did not start: " . (trim($log) ?: "exit code $code"));
    }
}

if (PHP_SAPI === 'cli-server' && getenv('PAYMENTS_EMULATOR_INBOX')) {
    $received = [array_change_key_case(getallheaders()), file_get_contents('php://input'), time()];
    $line = base64_encode(serialize($received)) . "\n";
    file_put_contents(getenv('PAYMENTS_EMULATOR_INBOX') . basename($_SERVER['REQUEST_URI']), $line, FILE_APPEND);
    http_response_code(204);
}
