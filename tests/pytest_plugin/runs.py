"""Runs pytest in a merchant's repository, in its own process."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.cli.processes import HANGS_AFTER_S, environment

PLUGIN = "etb_payments_emulator_pytest"
# Without the other plugins that are installed here.
PYTEST = (sys.executable, "-W", "error", "-m", "pytest", "-p", "no:cacheprovider", "-p", PLUGIN)

# The merchant's code.
KIOSK = """\
import json
from urllib.request import Request, urlopen

ORDER = {
    "amount": 15000,
    "currency": "ETB",
    "methods": ["telebirr"],
    "success_url": "http://localhost/thanks",
    "cancel_url": "http://localhost/cart",
}


def create_payment(account, **more):
    headers = {"Authorization": f"Bearer {account.test_key}", "Content-Type": "application/json"}
    body = json.dumps({**ORDER, **more}).encode()
    with urlopen(Request(f"{account.base_url}/v1/payments", body, headers)) as answer:
        return json.load(answer)
"""
PAYMENT_STAYS = """\
version: 1
name: stays-in-processing
description: Every payment stays in processing.
outcomes:
  - when: {}
    then: []
"""


def write(directory: Path, files: Mapping[str, str]) -> None:
    for name, text in {"kiosk.py": KIOSK, "pytest.ini": "[pytest]\n", **files}.items():
        file = directory / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def variables(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment without the variables of this run of pytest and xdist."""
    ours = {name: value for name, value in environment().items() if not name.startswith("PYTEST_")}
    return {**ours, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **(more or {})}


def run(
    directory: Path, *options: str, more: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the tests of a directory; `more` are further variables."""
    return subprocess.run(
        [*PYTEST, *options],
        cwd=directory,
        env=variables(more),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=HANGS_AFTER_S,
    )
