"""The tables of the action and of the dependencies, and the versions that recipes name."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import yaml

from emulator import __version__
from tests.docs.document import REPOSITORY
from tests.docs.markdown import table

ACTION = REPOSITORY / "action.yml"
_DEPENDENCY = re.compile(
    r'^    "(?P<name>[a-z0-9-]+)(?P<versions>[^;"]+)[^"]*", *# (?P<use>.+)$', re.MULTILINE
)
_MINOR_VERSION = __version__.rpartition(".")[0]


def action() -> dict[str, Any]:
    return dict(yaml.safe_load(ACTION.read_text(encoding="utf-8")))


def members_table(kind: str) -> str:
    """Every input or output of the action, with its description."""
    rows = [
        (f"`{name}`", member["description"].removesuffix("."))
        for name, member in action()[kind].items()
    ]
    return table((kind.removesuffix("s"), "meaning"), rows)


def with_versions(text: str) -> str:
    """A document whose recipes name the action and the public image of this version."""
    text = re.sub(r"(/etb-payments-emulator@v)[\d.]+", rf"\g<1>{__version__}", text)
    return re.sub(r"(/etb-payments-emulator:)\d+\.\d+", rf"\g<1>{_MINOR_VERSION}", text)


def dependencies_table() -> str:
    """Every dependency: its accepted versions, and what the program uses it for."""
    text = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    listed = text.partition("\ndependencies = [\n")[2].partition("\n]\n")[0]
    rows = [
        (f"`{match['name']}`", f"`{match['versions']}`", match["use"].partition(";")[0])
        for match in _DEPENDENCY.finditer(listed)
    ]
    assert len(rows) == len(listed.splitlines())
    return table(("package", "versions", "use"), rows)


TABLES: dict[tuple[str, str], Callable[[], str]] = {
    ("docs/guides/install.md", "dependencies"): dependencies_table,
    **{
        ("docs/guides/ci.md", f"action {kind}"): partial(members_table, kind)
        for kind in ("inputs", "outputs")
    },
}
