"""npm packages, installed once for all tests of a session that ask for the same."""

import shutil
from pathlib import Path

import pytest

from tests.cli.processes import run_program
from tests.interop.built_once import built_once

STANDARD_WEBHOOKS = "standardwebhooks"
QUIETLY = ("--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund")
MAX_INSTALL_S = 240


def missing() -> list[str]:
    return [program for program in ("node", "npm") if shutil.which(program) is None]


def node_modules(factory: pytest.TempPathFactory, *packages: str) -> Path:
    """The directory that has the packages, for a test to link to or to name as `NODE_PATH`.

    Raises AssertionError where they cannot be installed.
    """
    assert not missing(), f"not on this machine: {missing()} (Debian's packages nodejs and npm)"

    def install(target: Path) -> None:
        command = ("npm", "install", *QUIETLY, *packages)
        ended = run_program(*command, directory=target, timeout_s=MAX_INSTALL_S)
        assert ended.returncode == 0, f"npm could not install {packages}: {ended.stderr}"

    name = "-".join(["npm", *sorted(packages)]).replace("/", "-")
    return built_once(factory, name, install) / "node_modules"
