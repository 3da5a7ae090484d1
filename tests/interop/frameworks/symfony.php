<?php
// A small application in Symfony, from Debian's packages. With an argument it is `bin/console`.

namespace Shop;

require 'Symfony/Bundle/FrameworkBundle/autoload.php';
require 'Symfony/Component/HttpClient/autoload.php';
require 'Symfony/Component/Messenger/autoload.php';
require 'Symfony/Component/Messenger/Bridge/Doctrine/autoload.php';
require 'Doctrine/DBAL/autoload.php';
// Before Symfony 6.4, the attribute has this name.
class_exists('Symfony\Component\Routing\Attribute\Route')
    || class_alias('Symfony\Component\Routing\Annotation\Route', 'Symfony\Component\Routing\Attribute\Route');
// Debian's packages are not installed by Composer, which Symfony asks for what is installed.
class_alias((new class { public static function isInstalled(): bool { return false; } })::class, 'Composer\InstalledVersions');
foreach (['verified', 'PaymentChanged', 'PaymentChangedHandler', 'WebhookController'] as $file) {
    require __DIR__ . "/$file.php";
}

use App\Controller\WebhookController;
use App\Message\PaymentChanged;
use App\MessageHandler\PaymentChangedHandler;
use Doctrine\DBAL\{Connection, DriverManager};
use Symfony\Bundle\FrameworkBundle\Console\Application;
use Symfony\Bundle\FrameworkBundle\FrameworkBundle;
use Symfony\Bundle\FrameworkBundle\Kernel\MicroKernelTrait;
use Symfony\Component\DependencyInjection\Loader\Configurator\ContainerConfigurator;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\Messenger\Bridge\Doctrine\Transport as Doctrine;
use Symfony\Component\Messenger\Transport\Serialization\SerializerInterface;
use Symfony\Component\Messenger\Transport\{TransportFactoryInterface, TransportInterface};
use Symfony\Component\Routing\Loader\Configurator\RoutingConfigurator;

function database(): Connection
{
    return DriverManager::getConnection(['driver' => 'pdo_sqlite', 'path' => __DIR__ . '/shop.db']);
}

/** Symfony's own queue in a table, without the bundle of Doctrine, which Debian does not have. */
final class Queue implements TransportFactoryInterface
{
    public function __construct(private Connection $db) {}

    public function supports(string $dsn, array $options): bool
    {
        return str_starts_with($dsn, 'doctrine:');
    }

    public function createTransport(string $dsn, array $options, SerializerInterface $serializer): TransportInterface
    {
        $options = Doctrine\Connection::buildConfiguration($dsn);
        return new Doctrine\DoctrineTransport(new Doctrine\Connection($options, $this->db), $serializer);
    }
}

final class Kernel extends \Symfony\Component\HttpKernel\Kernel
{
    use MicroKernelTrait;

    public function registerBundles(): iterable
    {
        return [new FrameworkBundle()];
    }

    public function getProjectDir(): string
    {
        return __DIR__;
    }

    protected function configureContainer(ContainerConfigurator $container): void
    {
        $messenger = ['transports' => ['async' => 'doctrine://default'], 'routing' => [PaymentChanged::class => 'async']];
        $container->extension('framework', [
            'secret' => 'a test', 'http_method_override' => false, 'http_client' => [], 'messenger' => $messenger,
        ]);
        $services = $container->services()->defaults()->autowire()->autoconfigure();
        $services->set(WebhookController::class)->tag('controller.service_arguments');
        $services->set(PaymentChangedHandler::class);
        $services->set(Queue::class)->tag('messenger.transport_factory');
        $services->set(Connection::class)->factory('Shop\database');
    }

    protected function configureRoutes(RoutingConfigurator $routes): void
    {
        $routes->import(__DIR__ . '/WebhookController.php', self::MAJOR_VERSION < 6 ? 'annotation' : 'attribute');
    }
}

$_ENV += getenv();
$kernel = new Kernel('prod', false);
if (PHP_SAPI === 'cli' && $argv[1] === 'migrate') {
    database()->executeStatement('CREATE TABLE webhooks (id TEXT PRIMARY KEY)');
} elseif (PHP_SAPI === 'cli') {
    (new Application($kernel))->run();
} else {
    $request = Request::createFromGlobals();
    $response = $kernel->handle($request)->send();
    $kernel->terminate($request, $response);
}
