"""Runs the commands whose outputs are recorded."""

import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.cli.processes import FREE_PORTS, run
from tests.golden.invalid_files import write_files

# Prints the modules that are loaded when the first request can be answered.
PRINT_MODULES = """
import os, signal, sys
from emulator.cli import commands

def announce(running):
    print("\\n".join(sorted(sys.modules)), flush=True)
    os.kill(os.getpid(), signal.SIGTERM)

commands._announce = announce
from emulator.cli import main
main()
"""


def path_of(name: str) -> Path:
    return Path(__file__).with_name("recorded") / name


def printed(*arguments: str) -> str:
    ended = run(*arguments)
    return f"{ended.stdout}{ended.stderr}exit code {ended.returncode}\n"


def checks() -> str:
    with TemporaryDirectory() as directory:
        write_files(Path(directory))
        return printed("check", directory).replace(f"{directory}/", "")


def modules() -> str:
    ended = run("serve", *FREE_PORTS, command=(sys.executable, "-c", PRINT_MODULES))
    assert ended.returncode == 0, ended.stderr
    return "".join(
        f"{name}\n" for name in ended.stdout.split() if not name.startswith(("emulator", "_"))
    )


OUTPUTS: dict[str, Callable[[], str]] = {
    "v1.json": lambda: printed("openapi"),
    "control.json": lambda: printed("openapi", "--control"),
    "check.txt": checks,
    "modules.txt": modules,
}
