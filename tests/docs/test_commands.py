"""The two commands of README.md, and the machine that runs the second one."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.docs.document import REPOSITORY, command_after
from tests.docs.live import missing

CI = REPOSITORY / ".ci" / "run"
SETTING_UP = "python3 -m venv .venv && .venv/bin/pip install --quiet "


@pytest.mark.parametrize("marker", ["start command", "test command"])
def test_a_command_is_one_line_that_needs_python_alone(marker: str) -> None:
    command = command_after(marker)
    assert command.count("\n") == 1
    assert command.startswith(SETTING_UP)


def test_the_commands_end_in_a_server_and_in_the_tests() -> None:
    assert command_after("start command").endswith("&& .venv/bin/payments-emulator serve\n")
    assert command_after("test command").endswith("&& .venv/bin/python -m pytest\n")


@pytest.mark.skipif("bash" in missing(), reason="there is no bash on this machine")
def test_ci_runs_the_command_of_the_document() -> None:
    script = CI.read_text(encoding="utf-8")
    found = re.search(r"^test_command\(\) \{\n.*?^\}$", script, re.MULTILINE | re.DOTALL)
    assert found is not None
    printed = subprocess.run(
        ["bash", "-euc", f"{found[0]}\ntest_command"],
        cwd=REPOSITORY,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert printed.stdout == command_after("test command")


@pytest.mark.skipif("bash" in missing(), reason="there is no bash on this machine")
def test_ci_is_a_script_that_a_shell_can_read() -> None:
    subprocess.run(["bash", "-n", str(CI)], check=True)


def test_the_container_copies_what_the_package_is_made_of() -> None:
    ignored = (REPOSITORY / ".dockerignore").read_text(encoding="utf-8").splitlines()
    admitted = {line.removeprefix("!") for line in ignored if line.startswith("!")}
    copied = {
        source
        for line in (REPOSITORY / "Dockerfile").read_text(encoding="utf-8").splitlines()
        if line.startswith("COPY ") and "--from=" not in line
        for source in line.split()[1:-1]
    }
    assert copied == admitted
    assert all((REPOSITORY / Path(name)).exists() for name in admitted)
