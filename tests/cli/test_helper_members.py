"""The table of the helpers' members, compared with the source of each helper and of its tests."""

import inspect
import re
from pathlib import Path

import pytest

from emulator.cli import helper as package
from emulator.pytest_plugin.account import PaymentsAccount
from emulator.pytest_plugin.emulator import PaymentsEmulator
from tests.docs.document import REPOSITORY
from tests.docs.helper_members import MEMBERS

SOURCES = Path(package.__file__).parent
SUITES = REPOSITORY / "tests" / "interop" / "helper"
# The source of each helper, and of the tests that use its members; a shop uses the URL and the key.
USES = {
    "node": ("payments-emulator.ts", "cases.ts", "program.js", "shop.ts"),
    "php": ("PaymentsEmulator.php", "ShopTest.php", "program.php"),
    "java": ("PaymentsEmulator.java", "ShopTest.java", "Program.java", "Shop.java"),
    "go": ("paymentsemulator.go", "shop_test.go", "program.go"),
}
PLUGIN = {"emulator": PaymentsEmulator, "account": PaymentsAccount}


def listed(owner: str, helper: str) -> set[str]:
    names = {member.name_in(helper) for member in MEMBERS[owner]}
    return {name for name in names if name is not None}


def words(*files: Path) -> set[str]:
    return {word for file in files for word in re.findall(r"\w+", file.read_text())}


@pytest.mark.parametrize("helper", USES)
def test_a_helper_has_the_members_of_the_table_and_its_tests_use_each(helper: str) -> None:
    source, *suite = USES[helper]
    names = set().union(*(listed(owner, helper) for owner in MEMBERS))
    assert names - words(SOURCES / source) == set()
    assert names - words(*(SUITES / name for name in suite)) == set()


@pytest.mark.parametrize("owner", PLUGIN)
def test_the_plugin_has_the_members_of_the_table_and_no_others(owner: str) -> None:
    attributes = re.findall(r"self\.(\w+)(?:: \w+)? = ", inspect.getsource(PLUGIN[owner]))
    found = {name for name in (*dir(PLUGIN[owner]), *attributes) if not name.startswith("_")}
    assert found == listed(owner, "pytest")
