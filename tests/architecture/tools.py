"""Runs tools over the source, and lists its modules."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.cli.processes import run_program

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = REPOSITORY / "emulator"


def run_tool(
    name: str, *arguments: str, cwd: Path = REPOSITORY
) -> subprocess.CompletedProcess[str]:
    """Run a program of the environment that runs the tests."""
    program = str(Path(sys.executable).parent / name)
    return run_program(program, *arguments, directory=cwd, timeout_s=300)


def modules() -> Iterator[tuple[str, Path]]:
    """Every module of the package, as its path in the repository and its file."""
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path.relative_to(REPOSITORY).as_posix(), path


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))
