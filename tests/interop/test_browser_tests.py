"""The browser tests of the guide, and its tests for Vitest and Jest."""

import os
import re
import sys
from pathlib import Path

import pytest

from tests.cli.processes import free_port
from tests.docs.document import sections_of
from tests.interop.helper.projects import PACKAGES, printed
from tests.interop.node import node_modules
from tests.interop.sdks.programs import need, ran
from tests.server.checkout.browsing import CHROMIUM

FILES = sections_of("docs/guides/browser-tests.md")[0].files
PLAYWRIGHT = ("@playwright/test@1",)
PROGRAMS = str(Path(sys.executable).parent)
VARIABLES = {
    "CHROMIUM": CHROMIUM or "",
    "PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}",
    "PAYMENTS_EMULATOR_COMMAND": f"{sys.executable} -m emulator",
}
# The default limits are too short on a busy machine.
LIMITS = ("--testTimeout=60000", "--hookTimeout=60000")
STRICT = ("--strict", "--noEmit", "--skipLibCheck", "--target", "es2022", "--types", "node")


def write(directory: Path, *names: str, ports: dict[int, int] | None = None) -> None:
    for name in names:
        text = FILES[name].text
        for shown, port in (ports or {}).items():
            text = text.replace(str(shown), str(port))
        (directory / name).write_text(text, encoding="utf-8")


@pytest.fixture
def node_project(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with the helper and the test of the guide."""
    need("node", "npx")
    (tmp_path / "node_modules").symlink_to(node_modules(tmp_path_factory, *PACKAGES))
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "payments-emulator.ts").write_text(printed("node"), encoding="utf-8")
    write(tmp_path, "payment.test.ts", "jest.config.json")
    return tmp_path


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on this machine")
def test_playwright_in_typescript_starts_the_emulator_and_the_shop(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    need("node", "npx")
    (tmp_path / "node_modules").symlink_to(node_modules(tmp_path_factory, *PLAYWRIGHT))
    ports = {shown: free_port() for shown in (8080, 8081, 3000)}
    write(tmp_path, "shop.mjs", "playwright.config.ts", "checkout.spec.ts", ports=ports)
    variables = {"EMULATOR_PORT": str(ports[8080]), "EMULATOR_CHECKOUT_PORT": str(ports[8081])}
    ended = ran(tmp_path, "npx", "playwright", "test", "--timeout=120000", **VARIABLES, **variables)
    assert re.search(r"\b2 passed\b", ended.stdout), ended.stdout


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on this machine")
def test_playwright_in_python_pays_in_a_shop(tmp_path: Path) -> None:
    need("node")
    write(tmp_path, "shop.mjs", "test_checkout.py")
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_checkout.py")
    assert "1 passed" in ran(tmp_path, *command, **VARIABLES).stdout


@pytest.mark.parametrize("module", ["nodenext", "preserve"])
def test_the_import_of_the_helper_compiles_strictly(node_project: Path, module: str) -> None:
    assert "./payments-emulator.js" in FILES["payment.test.ts"].text
    ran(node_project, "npx", "tsc", *STRICT, "--module", module, "payment.test.ts")


def test_vitest_and_jest_run_the_test_of_the_guide(node_project: Path) -> None:
    test = node_project / "payment.test.ts"
    assert "1 passed" in ran(node_project, "npx", "vitest", "run", *LIMITS, **VARIABLES).stdout
    text = test.read_text(encoding="utf-8").replace('from "vitest"', 'from "@jest/globals"')
    test.write_text(text, encoding="utf-8")
    ran(node_project, "npx", "jest", LIMITS[0], **VARIABLES)
