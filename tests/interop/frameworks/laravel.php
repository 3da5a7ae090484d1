<?php
// A small application in Laravel, from Debian's packages: what its generator makes, in one file.
// With an argument it is `artisan`.
require 'Illuminate/autoload.php';
require 'GuzzleHttp/autoload.php';
require __DIR__ . '/verified.php';

use Illuminate\Contracts\Console\Kernel as ConsoleKernel;
use Illuminate\Contracts\Debug\ExceptionHandler;
use Illuminate\Contracts\Http\Kernel as HttpKernel;
use Illuminate\Foundation\Application;
use Illuminate\Foundation\Bootstrap\{BootProviders, RegisterFacades, RegisterProviders, SetRequestForConsole};
use Illuminate\Support\Facades\{Route, Schema};
use Symfony\Component\Console\Input\ArgvInput;
use Symfony\Component\Console\Output\ConsoleOutput;

final class Web extends Illuminate\Foundation\Http\Kernel
{
    protected $bootstrappers = [RegisterFacades::class, RegisterProviders::class, BootProviders::class];
    protected $middlewareGroups = ['web' => [
        Illuminate\Cookie\Middleware\EncryptCookies::class,
        Illuminate\Session\Middleware\StartSession::class,
        Illuminate\Foundation\Http\Middleware\VerifyCsrfToken::class,
    ]];
}

final class Artisan extends Illuminate\Foundation\Console\Kernel
{
    protected $bootstrappers = [
        RegisterFacades::class, SetRequestForConsole::class, RegisterProviders::class, BootProviders::class,
    ];
}

function configuration(): array
{
    $payments = ['url' => getenv('PAYMENTS_URL'), 'key' => getenv('PAYMENTS_KEY')];
    $cookie = ['cookie' => 'shop', 'path' => '/', 'domain' => null, 'lottery' => [0, 1]];
    $queue = ['driver' => 'database', 'table' => 'jobs', 'queue' => 'default', 'retry_after' => 90];
    return [
        'app' => ['key' => str_repeat('k', 32), 'cipher' => 'AES-256-CBC', 'providers' => [
            Illuminate\Bus\BusServiceProvider::class,
            Illuminate\Cache\CacheServiceProvider::class,
            Illuminate\Cookie\CookieServiceProvider::class,
            Illuminate\Database\DatabaseServiceProvider::class,
            Illuminate\Encryption\EncryptionServiceProvider::class,
            Illuminate\Filesystem\FilesystemServiceProvider::class,
            Illuminate\Foundation\Providers\ConsoleSupportServiceProvider::class,
            Illuminate\Foundation\Providers\FoundationServiceProvider::class,
            Illuminate\Queue\QueueServiceProvider::class,
            Illuminate\Session\SessionServiceProvider::class,
            Illuminate\View\ViewServiceProvider::class,
        ]],
        'cache' => ['default' => 'array', 'stores' => ['array' => ['driver' => 'array']]],
        'database' => ['default' => 'sqlite', 'connections' => [
            'sqlite' => ['driver' => 'sqlite', 'database' => __DIR__ . '/shop.db'],
        ]],
        'logging' => ['default' => 'errors', 'channels' => ['errors' => ['driver' => 'errorlog']]],
        'queue' => ['default' => 'database', 'connections' => ['database' => $queue]],
        'services' => ['payments' => $payments + ['secret' => getenv('WEBHOOK_SECRET')]],
        'session' => ['driver' => 'array', 'lifetime' => 120, 'expire_on_close' => true, ...$cookie],
        'view' => ['paths' => [], 'compiled' => __DIR__],
    ];
}

function migrate(): void
{
    Schema::create('webhooks', fn ($table) => $table->string('id')->primary());
    Schema::create('jobs', function ($table) {
        $table->bigIncrements('id');
        $table->string('queue')->index();
        $table->longText('payload');
        $table->unsignedTinyInteger('attempts');
        $table->unsignedInteger('reserved_at')->nullable();
        $table->unsignedInteger('available_at');
        $table->unsignedInteger('created_at');
    });
}

$app = new Application(__DIR__);
$app->instance('config', new Illuminate\Config\Repository(configuration()));
$app->instance('env', 'production');
$app->singleton(HttpKernel::class, Web::class);
$app->singleton(ConsoleKernel::class, Artisan::class);
$app->singleton(ExceptionHandler::class, Illuminate\Foundation\Exceptions\Handler::class);
$app->booted(fn () => Route::middleware('web')->group(function () {
    require __DIR__ . '/web.php';
    Route::post('/orders', fn () => 'an order');
}));

if (PHP_SAPI === 'cli' && $argv[1] === 'migrate') {
    @mkdir(__DIR__ . '/bootstrap/cache', recursive: true);
    touch(__DIR__ . '/shop.db');
    $app->make(ConsoleKernel::class)->bootstrap();
    migrate();
} elseif (PHP_SAPI === 'cli') {
    exit($app->make(ConsoleKernel::class)->handle(new ArgvInput(), new ConsoleOutput()));
} else {
    $kernel = $app->make(HttpKernel::class);
    $request = Illuminate\Http\Request::capture();
    $kernel->terminate($request, $kernel->handle($request)->send());
}
