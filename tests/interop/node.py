"""npm packages, installed once for all tests of a session that ask for the same."""

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cli.processes import run_program

QUIETLY = ("--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund")
MAX_INSTALL_S = 240


def node_modules(factory: pytest.TempPathFactory, *packages: str) -> Path:
    """The directory that has the packages, for a test to link to or to name as `NODE_PATH`.

    Raises AssertionError where they cannot be installed.
    """
    missing = [program for program in ("node", "npm") if shutil.which(program) is None]
    assert not missing, f"not on this machine: {missing} (Debian's packages nodejs and npm)"
    shared = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    target = shared / "-".join(["npm", *sorted(packages)]).replace("/", "-")
    if not target.exists():
        _install(target, packages)
    return target / "node_modules"


def _install(target: Path, packages: tuple[str, ...]) -> None:
    fresh = Path(tempfile.mkdtemp(dir=target.parent))
    command = ("npm", "install", *QUIETLY, *packages)
    ended = run_program(*command, directory=fresh, timeout_s=MAX_INSTALL_S)
    assert ended.returncode == 0, f"npm could not install {packages}: {ended.stderr}"
    # Where another process was faster, its directory is there and not empty.
    with suppress(OSError):
        fresh.rename(target)
