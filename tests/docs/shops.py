"""The programs that the documented webhook handlers need, by language."""

import shlex
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from tests.docs.document import Kind, sections_of
from tests.interop import node

HANDLERS = [
    block.text
    for section in sections_of("docs/guides/webhook-handlers.md")
    for block in section.blocks
    if block.kind is Kind.HANDLER
]


def language(handler: str) -> str:
    """The program that a command starts, after the variables that it sets."""
    return next(word for word in shlex.split(handler) if "=" not in word)


def marks(handler: str) -> list[pytest.MarkDecorator]:
    """Handlers in languages other than that of the tests run in the slow lane."""
    return [] if language(handler) == "python" else [pytest.mark.deep]


def variables(handler: str) -> dict[str, str]:
    """The variables that a command sets."""
    pairs = (word.partition("=") for word in shlex.split(handler) if "=" in word)
    return {name: value for name, _, value in pairs}


@cache
def missing_for(program: str) -> list[str]:
    if program == "node":
        return node.missing()
    if program == "php":
        if shutil.which("php") is None:
            return ["php"]
        listed = subprocess.run(["php", "-m"], capture_output=True, encoding="utf-8", check=True)
        return [] if "pdo_sqlite" in listed.stdout.split() else ["SQLite for php"]
    return []


def prepare(handler: str, directory: Path, factory: pytest.TempPathFactory) -> None:
    """Prepare the directory in which a handler runs, or skip the test."""
    program = language(handler)
    if missing_for(program):
        pytest.skip(f"not on this machine: {', '.join(missing_for(program))}")
    if program == "node":
        (directory / "node_modules").symlink_to(node.node_modules(factory, node.STANDARD_WEBHOOKS))
