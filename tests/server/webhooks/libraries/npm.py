"""The npm package of Standard Webhooks, installed once for all tests of a session."""

import os
import shutil
import subprocess
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest

from tests.cli.processes import HANGS_AFTER_S

PACKAGE = "standardwebhooks"
ONCE_AND_QUIETLY = (
    *("--prefer-offline", "--fetch-retries=0", "--fetch-timeout=20000", "--no-audit", "--no-fund"),
)


def missing() -> list[str]:
    return [program for program in ("node", "npm") if shutil.which(program) is None]


def node_modules(factory: pytest.TempPathFactory) -> Path:
    """The directory that has the package; without one the test is skipped, but not in CI."""
    if missing():
        pytest.skip(f"not on this machine: {', '.join(missing())}")
    shared = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    installed = shared / PACKAGE
    problem = _install(installed)
    if problem and os.environ.get("CI"):
        pytest.fail(problem)
    if problem:
        pytest.skip(problem)
    return installed / "node_modules"


@cache
def _install(target: Path) -> str | None:
    """Install the package unless it is there; returns why it could not be."""
    if target.exists():
        return None
    fresh = Path(tempfile.mkdtemp(dir=target.parent))
    ended = subprocess.run(
        ["npm", "install", *ONCE_AND_QUIETLY, PACKAGE],
        cwd=fresh,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=HANGS_AFTER_S,
    )
    if ended.returncode != 0:
        return f"npm could not install {PACKAGE}: {ended.stderr}"
    # Where another process was faster, its directory is there and not empty.
    with suppress(OSError):
        fresh.rename(target)
    return None
