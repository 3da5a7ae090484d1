"""The tables of the action's inputs and outputs, and the versions that recipes name."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import yaml

from emulator import __version__
from tests.docs.document import REPOSITORY
from tests.docs.markdown import table

ACTION = REPOSITORY / "action.yml"
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


TABLES: dict[tuple[str, str], Callable[[], str]] = {
    ("docs/guides/ci.md", f"action {kind}"): partial(members_table, kind)
    for kind in ("inputs", "outputs")
}
