"""The source is formatted, linted and typed; time and chance have one module each."""

import ast
import json
import re
import shutil
import tomllib
from pathlib import Path

import pytest

from tests.architecture.tools import REPOSITORY, modules, parsed, run_tool

pytestmark = pytest.mark.deep

CHECKED = ("emulator", "tests")
MAX_MODULE_LINES = 400
# The only modules of the program that may use what is banned.
EXEMPT = {"emulator/clock.py", "emulator/ids.py"}

BANNED = [
    *("import time\n\nNOW = time.time\n", "from time import monotonic\n\nNOW = monotonic\n"),
    "from datetime import UTC, datetime\n\nNOW = datetime.now(UTC)\n",
    "import datetime\n\nNOW = datetime.datetime.now(datetime.UTC)\n",
    *("import asyncio\n\nWAIT = asyncio.sleep\n", "from asyncio import sleep\n\nWAIT = sleep\n"),
    *("import random\n\nDRAW = random.random\n", "import secrets\n\nDRAW = secrets.token_hex\n"),
    *("import os\n\nDRAW = os.urandom\n", "from uuid import uuid4\n\nDRAW = uuid4\n"),
]


@pytest.mark.parametrize("command", ["check", "format --check"])
def test_the_source_is_linted_and_formatted(command: str) -> None:
    ended = run_tool("ruff", *command.split(), *CHECKED)
    assert ended.returncode == 0, ended.stdout


def test_the_source_is_typed() -> None:
    ended = run_tool("mypy")
    assert ended.returncode == 0, ended.stdout
    config = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    assert config["tool"]["mypy"]["strict"] is True
    assert config["tool"]["mypy"]["packages"] == ["emulator"]


def test_ruff_finds_each_use_of_time_and_chance(tmp_path: Path) -> None:
    shutil.copy(REPOSITORY / "pyproject.toml", tmp_path)
    planted = [
        f"{package}/engine/planted_{number}.py"
        for package in CHECKED
        for number in range(len(BANNED))
    ]
    for path, source in zip(planted, BANNED * len(CHECKED), strict=True):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(source)
    options = ("--no-cache", "--select=TID251", "--output-format=json")
    ended = run_tool("ruff", "check", *options, cwd=tmp_path)
    found = {Path(finding["filename"]) for finding in json.loads(ended.stdout)}
    assert found == {tmp_path.resolve() / path for path in planted}


def test_only_the_clock_and_the_ids_are_exempt() -> None:
    config = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    ignores = config["tool"]["ruff"]["lint"]["per-file-ignores"]
    exempt = {path for path, rules in ignores.items() if "TID251" in rules or "TID" in rules}
    assert {path for path in exempt if not path.startswith("tests/")} == EXEMPT
    for name, path in modules():
        if name not in EXEMPT:
            assert "noqa: TID251" not in path.read_text(encoding="utf-8"), name


@pytest.mark.parametrize(
    ("module", "foreign"), [("clock", "random|secrets|uuid|os"), ("ids", "time|datetime|asyncio")]
)
def test_the_clock_draws_nothing_and_the_ids_know_no_time(module: str, foreign: str) -> None:
    source = (REPOSITORY / f"emulator/{module}.py").read_text(encoding="utf-8")
    assert not re.search(rf"^\s*(import|from) ({foreign})\b", source, re.MULTILINE)


def test_no_module_is_too_long() -> None:
    lengths = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in modules()}
    assert {name: n for name, n in lengths.items() if n > MAX_MODULE_LINES} == {}


def test_every_module_has_a_docstring() -> None:
    assert [name for name, path in modules() if not ast.get_docstring(parsed(path))] == []


def test_no_exception_is_ignored() -> None:
    silent = [
        f"{name}:{node.lineno}"
        for name, path in modules()
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or ast.unparse(node.type) in {"Exception", "BaseException"})
        and all(isinstance(statement, ast.Pass) for statement in node.body)
    ]
    assert silent == []
