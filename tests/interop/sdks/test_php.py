"""openapi-generator's client for PHP: every class of it loads, and it does what a shop needs."""

import json
import shutil
from pathlib import Path

from tests.interop.sdks.programs import HERE, copied, generate, is_as_expected, need, ran

CLIENT = "payments-php"
# All errors but those about what is deprecated: that is between a newer PHP and the generator.
PHP = ("php", "-d", "error_reporting=8191", "-d", "display_errors=stdout")
LOAD = """\
require 'vendor/autoload.php';
foreach (array_slice($argv, 1) as $name) {
    class_exists($name) || interface_exists($name) || throw new Exception($name);
}
"""


def test_a_client_in_php_is_generated_loaded_and_used(shop: Path) -> None:
    need("java", "php")
    generate("usage.php", shop)
    has_all_extensions(shop)
    (shop / "vendor").mkdir()
    shutil.copy(HERE / "autoload.php", shop / "vendor")
    library = shop / CLIENT / "lib"
    files = sorted(library.rglob("*.php"))
    for file in files:
        ran(shop, "php", "-l", str(file))
    paths = [file.relative_to(library).with_suffix("") for file in files]
    ran(shop, *PHP, "-r", LOAD, *("\\".join(("OpenAPI", "Client", *path.parts)) for path in paths))
    copied("usage.php", shop)
    is_as_expected(shop / "usage.php", *PHP)


def has_all_extensions(shop: Path) -> None:
    """Check the extensions that the client requires. Raises AssertionError for a missing one."""
    wanted = json.loads((shop / CLIENT / "composer.json").read_text(encoding="utf-8"))["require"]
    names = {name.removeprefix("ext-") for name in wanted if name.startswith("ext-")}
    missing = names - set(ran(shop, "php", "-m").stdout.split())
    assert not missing, f"not on this machine: {[f'php-{name}' for name in sorted(missing)]}"
