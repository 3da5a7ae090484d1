<?php
// What Composer would write: the generated classes, and Guzzle as Debian has it.

require 'GuzzleHttp/autoload.php';

spl_autoload_register(static function (string $class): void {
    $prefix = 'OpenAPI\\Client\\';
    if (str_starts_with($class, $prefix)) {
        $name = strtr(substr($class, strlen($prefix)), '\\', '/');
        require dirname(__DIR__) . "/payments-php/lib/{$name}.php";
    }
});
