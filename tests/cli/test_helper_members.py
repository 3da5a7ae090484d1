"""The table of the helpers' members, compared with the source of each helper and of its tests."""

import inspect
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from emulator.cli import helper as package
from emulator.pytest_plugin.account import PaymentsAccount
from emulator.pytest_plugin.emulator import PaymentsEmulator
from emulator.pytest_plugin.webhooks import Webhook
from tests.docs.document import REPOSITORY
from tests.docs.helper_members import CONVENTIONS, MEMBERS

SOURCES = Path(package.__file__).parent
SUITES = REPOSITORY / "tests" / "interop" / "helper"
# The sources of the tests that use each member; a shop uses the base URL and the key.
USES = {
    "node": ("cases.ts", "program.js", "shop.ts"),
    "php": ("ShopTest.php", "program.php"),
    "java": ("ShopTest.java", "Program.java", "Shop.java"),
    "go": ("shop_test.go", "program.go"),
}
PLUGIN = {"emulator": PaymentsEmulator, "account": PaymentsAccount, "webhook": Webhook}


def between(source: str, start: str, end: str) -> str:
    assert source.count(start) == 1, start
    return source.partition(start)[2].partition(end)[0]


def in_node(owner: str) -> set[str]:
    """The members of an interface, whose lines may have several, and exported functions."""
    source = (SOURCES / "payments-emulator.ts").read_text()
    names = {"emulator": "PaymentsEmulator", "account": "PaymentsAccount", "webhook": "Webhook"}
    body = between(source, f"export interface {names[owner]} {{\n", "\n}")
    body = re.sub(r"/\*.*?\*/|<.*?>", "", body, flags=re.DOTALL)
    # The arguments of a function have names, too.
    body = re.sub(r"\((?:[^()]|\n)*\)", "", body)
    functions = re.findall(r"^export const (\w+):", source, re.MULTILINE)
    return {*re.findall(r"(\w+):", body), *(functions if owner == "emulator" else [])}


def in_php(owner: str) -> set[str]:
    source = (SOURCES / "PaymentsEmulator.php").read_text()
    names = {"emulator": "Emulator", "account": "Account", "webhook": "Webhook"}
    body = between(source, f"final class Payments{names[owner]}\n", "\n}")
    body = re.sub(r"/\*\* @internal \*/\n +public .*", "", body)
    properties = " ".join(re.findall(r"public readonly \??\w+ (\$\w+(?:, \$\w+)*)", body))
    functions = re.findall(r"public (?:static )?function (?!__)(\w+)", body)
    return {*re.findall(r"\$(\w+)", properties), *functions}


def in_java(owner: str) -> set[str]:
    """The components of a record; the public fields and methods of a class."""
    source = (SOURCES / "PaymentsEmulator.java").read_text()
    source = re.sub(r"<[^()\n]*?>+", "", source)
    if owner == "webhook":
        return set(re.findall(r"(\w+)(?:,|$)", between(source, "record Webhook(\n", "\n    )")))
    account = between(source, "class Account {\n", "\n    }\n")
    body = account if owner == "account" else source
    indent = " " * (8 if owner == "account" else 4)
    public = (
        rf"^{indent}public (?:static |final |synchronized )*(?!class|record)[\w\[\]]+ ([\w, ]+)[;(]"
    )
    found = re.findall(public, body, re.MULTILINE)
    return {name for names in found for name in names.split(", ")}


def in_go(owner: str) -> set[str]:
    """The exported fields and methods of a type, and exported functions."""
    source = (SOURCES / "paymentsemulator.go").read_text()
    body = between(source, f"\ntype {owner.capitalize()} struct {{\n", "\n}")
    fields = ", ".join(re.findall(r"^\t([A-Z][\w, ]*?) +\S+$", body, re.MULTILINE))
    methods = re.findall(rf"^func \(\w+ \*{owner.capitalize()}\) ([A-Z]\w*)", source, re.MULTILINE)
    functions = re.findall(r"^func ([A-Z]\w*)", source, re.MULTILINE)
    return {*fields.split(", "), *methods, *(functions if owner == "emulator" else [])}


def in_pytest(owner: str) -> set[str]:
    """The public members of a class, and the attributes that its methods set."""
    attributes = re.findall(r"self\.(\w+)(?:: \w+)? = ", inspect.getsource(PLUGIN[owner]))
    fields = getattr(PLUGIN[owner], "__dataclass_fields__", {})
    found = {*dir(PLUGIN[owner]), *attributes, *fields}
    if owner == "webhook":
        # `explore` uses its class, too, and reads more.
        found &= listed(owner, "pytest")
    return {name for name in found if not name.startswith("_")}


FOUND: Mapping[str, Callable[[str], set[str]]] = {
    "node": in_node,
    "php": in_php,
    "java": in_java,
    "go": in_go,
    "pytest": in_pytest,
}


def listed(owner: str, helper: str) -> set[str]:
    names = {member.name_in(helper) for member in MEMBERS[owner]}
    return {name for name in names if name is not None}


@pytest.mark.parametrize("helper", CONVENTIONS)
@pytest.mark.parametrize("owner", MEMBERS)
def test_a_helper_has_the_members_of_the_table_and_no_others(owner: str, helper: str) -> None:
    assert FOUND[helper](owner) == listed(owner, helper)


@pytest.mark.parametrize("helper", USES)
def test_the_tests_of_a_helper_use_each_member(helper: str) -> None:
    text = "\n".join((SUITES / name).read_text() for name in USES[helper])
    names = set().union(*(listed(owner, helper) for owner in MEMBERS))
    assert names - set(re.findall(r"\w+", text)) == set()
