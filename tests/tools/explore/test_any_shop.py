"""`explore` works with shops that serve pages, need a login, or redirect to the checkout page.

The files are those of the guide. Each shop is correct, or has one bug with `BUG`.
"""

import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.cli.processes import REPOSITORY, free_port
from tests.docs.document import sections_of
from tests.docs.live import HANDLER_PORT
from tests.interop import node
from tests.tools.explore.zoo.exploration import Finding, run_explore
from tests.tools.explore.zoo.integration import PAGE

SHOPS = Path(__file__).parent / "shops"
EXAMPLES = REPOSITORY / "tests/examples"
PROGRAMS = {
    "django": ("shop.py", SHOPS / "django_shop.py"),
    "laravel": ("shop.php", SHOPS / "laravel_like.php"),
    "express": ("shop.mjs", SHOPS / "express_shop.mjs"),
    "woocommerce": ("shop.php", SHOPS / "woocommerce_like.php"),
    "redirect": ("program.py", SHOPS / "redirect_shop.py"),
}
BUGS = {
    "django": "fulfilled-twice: paid, at-once payment.completed",
    "laravel": "never-acknowledged: paid",
    "express": "paid-without-money: expired, return-unpaid",
    "woocommerce": "fulfilled-twice: refunded, twice payment.completed",
}


def explored(name: str, directory: Path, factory: pytest.TempPathFactory, bug: str = "") -> Finding:
    """Explore a shop with its file of the guide, at a free port."""
    program, source = PROGRAMS[name]
    shutil.copy(source, directory / program)
    for library in (SHOPS / "payments.php", EXAMPLES / "shop.py"):
        if library.name != program:
            shutil.copy(library, directory)
    if program.endswith(".mjs"):
        packages = node.node_modules(factory, "express@5", node.STANDARD_WEBHOOKS)
        (directory / "node_modules").symlink_to(packages)
    port = free_port()
    text = sections_of(PAGE)[0].files[f"{name}.yaml"].text.replace(str(HANDLER_PORT), str(port))
    text = text.replace("exec env ", f"exec env BUG={bug} " if bug else "exec env ")
    file = directory / "integration.yaml"
    file.write_text(text.replace(" python ", f" {sys.executable} "), encoding="utf-8")
    return run_explore(str(file), "--depth", "1", directory=directory)


@pytest.mark.interop
@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_found_in_a_correct_shop(
    name: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    found = explored(name, tmp_path, tmp_path_factory)
    assert found.code == 0, found.output
    assert re.search(r": (\d+) of \1 histories with at most one anomaly: none failed", found.output)


@pytest.mark.interop
@pytest.mark.parametrize("name", BUGS)
def test_the_bug_of_a_shop_is_found(
    name: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    found = explored(name, tmp_path, tmp_path_factory, bug="1")
    assert (found.code, f"{found.verdict}: {found.history}") == (1, BUGS[name]), found.output
