"""Runs the commands whose outputs are recorded."""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.cli.processes import FREE_PORTS, run
from tests.golden.invalid_files import write_files

# Runs the command, prints the loaded modules instead of the banner, and ends.
PRINT_MODULES = """
import os, signal, sys
from emulator.cli import serve

def announce(running):
    assert running.gateway.is_ready
    print("\\n".join(sorted(sys.modules)), flush=True)
    os.kill(os.getpid(), signal.SIGTERM)

serve._announce = announce
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


def modules_at_start() -> list[str]:
    """The modules that are loaded when the server accepts requests."""
    ended = run("serve", *FREE_PORTS, command=(sys.executable, "-c", PRINT_MODULES))
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.split()


def library_modules(names: Iterable[str]) -> set[str]:
    return {name for name in names if not name.startswith(("emulator", "_"))}


def modules() -> str:
    return "".join(f"{name}\n" for name in sorted(library_modules(modules_at_start())))


OUTPUTS: dict[str, Callable[[], str]] = {
    "v1.json": lambda: printed("openapi"),
    "control.json": lambda: printed("openapi", "--control"),
    "check.txt": checks,
    "modules.txt": modules,
}
