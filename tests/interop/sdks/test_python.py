"""openapi-python-client: its client installs, satisfies mypy and does what a shop needs."""

import sys
from pathlib import Path

from tests.interop.sdks.programs import copied, generate, is_as_expected, ran

PYTHON = ".venv/bin/python"


def test_a_client_in_python_is_generated_installed_checked_and_used(shop: Path) -> None:
    generate("usage.py", shop)
    ran(shop, sys.executable, "-m", "venv", "--without-pip", ".venv")
    pip = ("-m", "pip", "--disable-pip-version-check", "--python", PYTHON)
    ran(shop, sys.executable, *pip, "install", "--quiet", "./etb-payments-client")
    copied("usage.py", shop)
    ran(shop, sys.executable, "-m", "mypy", "--strict", "--python-executable", PYTHON, "usage.py")
    is_as_expected(shop / "usage.py", PYTHON)
