"""Installs the emulator where a merchant's tests run: no version of theirs changes."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest
from etb_payments_emulator_pytest import PaymentsEmulator

from tests.cli.processes import environment
from tests.docs.document import shown_file
from tests.interop.installation import INSTALL, UV
from tests.interop.jobs import copy_source

VERSIONS = {"fastapi": "0.115.6", "httpx": "0.27.2", "starlette": "0.41.3"}
HANGS_AFTER_S = 600
NO_VARIABLES: Mapping[str, str] = MappingProxyType({})
TEST_OF_THE_SHOP = """\
from fastapi import FastAPI
from fastapi.testclient import TestClient


def test_the_shop_responds():
    app = FastAPI()
    app.get("/orders/{order}")(lambda order: {"order": order})
    with TestClient(app) as client:
        assert client.get("/orders/7").json() == {"order": "7"}
"""
TEST_OF_A_BARE_SHOP = """\
import json
from urllib.request import Request, urlopen


def test_a_customer_does_not_answer(payments_account):
    url = "https://shop.example/"
    body = {"amount": 15000, "currency": "ETB", "methods": ["telebirr"]}
    body |= {"success_url": url, "cancel_url": url}
    key = f"Bearer {payments_account.test_key}"
    headers = {"Authorization": key, "Content-Type": "application/json"}
    address = f"{payments_account.base_url}/v1/payments"
    with urlopen(Request(address, json.dumps(body).encode(), headers)) as response:
        payment = json.load(response)
    payments_account.pay(payment["id"], phone="0900000003")
    payments_account.advance("30s")
    assert payments_account.history(payment["id"])["reason"] == "timeout"
    assert payments_account.webhooks[-1].type == "payment.failed"
"""
PAID = "test_first_payment.py"


def run(
    *command: str | Path, directory: Path, variables: Mapping[str, str] = NO_VARIABLES
) -> subprocess.CompletedProcess[str]:
    """Run a program without the variables of this environment's Python and pytest."""
    inherited = {
        name: value
        for name, value in environment().items()
        if not name.startswith(("PYTEST", "PYTHON", "PAYMENTS_EMULATOR", "VIRTUAL_ENV"))
    }
    return subprocess.run(
        command,
        cwd=directory,
        env={**inherited, **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=HANGS_AFTER_S,
    )


def done(*command: str | Path, directory: Path) -> str:
    ended = run(*command, directory=directory)
    assert ended.returncode == 0, ended.stdout
    return ended.stdout


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = tmp_path_factory.mktemp("source") / "payments-emulator"
    copy_source(source)
    return source


def virtual_environment(directory: Path, *packages: str) -> Path:
    """The Python of a new environment with some packages."""
    done(UV, "venv", "--quiet", "--python", sys.executable, "v", directory=directory)
    python = directory / "v" / ("Scripts" if os.name == "nt" else "bin") / "python"
    install(python, *packages, directory=directory)
    return python


def install(python: Path, *arguments: str | Path, directory: Path) -> None:
    done(UV, "pip", *INSTALL, "--python", python, *arguments, directory=directory)


def versions(python: Path, directory: Path) -> dict[str, str]:
    listed = done(UV, "pip", "list", "--python", python, "--format=json", directory=directory)
    # A line before the list names the environment.
    packages = json.loads(listed.splitlines()[-1])
    return {package["name"]: package["version"] for package in packages}


def test_an_installation_changes_no_version_of_a_shop_on_an_older_fastapi(
    source: Path, tmp_path: Path
) -> None:
    pinned = (f"{name}=={VERSIONS[name]}" for name in ("fastapi", "httpx"))
    python = virtual_environment(tmp_path, *pinned, "pytest")
    before = versions(python, tmp_path)
    assert before.items() >= VERSIONS.items()
    install(python, source, directory=tmp_path)
    after = versions(python, tmp_path)
    assert {name: after[name] for name in before} == before
    done(UV, "pip", "check", "--python", python, directory=tmp_path)
    (tmp_path / "test_shop.py").write_text(TEST_OF_THE_SHOP, encoding="utf-8")
    (tmp_path / PAID).write_text(shown_file(PAID).text, encoding="utf-8")
    printed = done(python, "-m", "pytest", "-q", directory=tmp_path)
    assert "2 passed" in printed, printed


@pytest.fixture(scope="module")
def bare(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with pytest, and the emulator without its dependencies."""
    directory = tmp_path_factory.mktemp("bare")
    python = virtual_environment(directory, "pytest")
    before = versions(python, directory)
    install(python, "--no-deps", source, directory=directory)
    added = versions(python, directory).keys() - before.keys()
    assert added == {"etb-payments-emulator"}
    return python


def test_the_plugin_needs_no_dependency_with_an_emulator_elsewhere(
    bare: Path, tmp_path: Path, payments_emulator: PaymentsEmulator
) -> None:
    (tmp_path / "test_shop.py").write_text(TEST_OF_A_BARE_SHOP, encoding="utf-8")
    for variables in (
        {"PAYMENTS_EMULATOR_URL": payments_emulator.base_url},
        {"PAYMENTS_EMULATOR_COMMAND": f"{sys.executable} -m emulator"},
    ):
        ended = run(bare, "-m", "pytest", "-q", directory=tmp_path, variables=variables)
        assert "1 passed" in ended.stdout, ended.stdout


def test_without_dependencies_and_an_emulator_elsewhere_the_message_names_both_cures(
    bare: Path, tmp_path: Path
) -> None:
    test = "def test_a_payment(payments_account): pass\n"
    (tmp_path / "test_payment.py").write_text(test, encoding="utf-8")
    printed = run(bare, "-m", "pytest", "-q", directory=tmp_path).stdout
    assert "the payments emulator did not start: the module '" in printed, printed
    assert "set PAYMENTS_EMULATOR_COMMAND or PAYMENTS_EMULATOR_URL" in printed
    assert "Traceback" not in printed
