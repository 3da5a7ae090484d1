"""Generated clients in Python, PHP and Ruby: each can be installed, and does what a shop needs.

In PHP every class of it loads, in Python it satisfies mypy, and in Ruby it becomes a gem.
"""

import json
import shutil
import sys
from pathlib import Path

from tests.interop.sdks.programs import HERE, copied, generate, is_as_expected, need, ran

PYTHON = ".venv/bin/python"
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


def test_a_client_in_python_is_generated_installed_checked_and_used(shop: Path) -> None:
    generate("usage.py", shop)
    ran(shop, sys.executable, "-m", "venv", "--without-pip", ".venv")
    pip = ("-m", "pip", "--disable-pip-version-check", "--python", PYTHON)
    ran(shop, sys.executable, *pip, "install", "--quiet", "./etb-payments-client")
    copied("usage.py", shop)
    ran(shop, sys.executable, "-m", "mypy", "--strict", "--python-executable", PYTHON, "usage.py")
    is_as_expected(shop / "usage.py", PYTHON)


def test_a_client_in_ruby_is_generated_installed_and_used(shop: Path) -> None:
    need("java", "ruby", "gem")
    generate("usage.rb", shop)
    home = {"GEM_HOME": str(shop / "gems")}
    for file in sorted((shop / "payments-ruby" / "lib").rglob("*.rb")):
        ran(shop, "ruby", "-c", str(file))
    ran(
        shop / "payments-ruby",
        "gem",
        "build",
        "--output",
        "../client.gem",
        "openapi_client.gemspec",
    )
    ran(shop, "gem", "install", "--local", "--no-document", "client.gem", **home)
    copied("usage.rb", shop)
    is_as_expected(shop / "usage.rb", "ruby", **home)
