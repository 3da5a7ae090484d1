"""A section of README.md put to the test: its servers started, its commands run one after another.

The document names the default ports, the servers have free ones; both ways are translated.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.cli.processes import COMMAND, FREE_PORTS, HANGS_AFTER_S, Server, ended, environment
from tests.readme.document import REPOSITORY, Block, Kind, Section, files

API_PORT = 8080
CHECKOUT_PORT = 8081
NEEDED = ("bash", "curl", "grep", "head")

_BREAK = "---- the next block ----"
_ANYTHING = "…"


@dataclass(kw_only=True)
class Act:
    """One server's part of a section, and what is run against it."""

    options: list[str] = field(default_factory=list)
    banner: str | None = None
    commands: list[str] = field(default_factory=list)
    outputs: list[str | None] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Printed:
    """What blocks printed, and what the document shows of it (None: nothing)."""

    shown: str | None
    printed: str


def missing() -> list[str]:
    return [program for program in NEEDED if shutil.which(program) is None]


def acts(section: Section) -> list[Act]:
    """The section's blocks by server; what comes before the first has one with the defaults."""
    found = [Act()]
    before: Kind | None = None
    for block in section.blocks:
        match block.kind:
            case Kind.SERVE:
                found.append(Act(options=_options(block)))
            case Kind.RUN:
                found[-1].commands.append(block.text)
                found[-1].outputs.append(None)
            case Kind.OUTPUT if before is Kind.RUN:
                found[-1].outputs[-1] = block.text
            case Kind.OUTPUT:
                found[-1].banner = block.text
        before = block.kind
    return [act for act in found if act.commands or act.banner]


def _options(block: Block) -> list[str]:
    _, _, options = block.text.rpartition("payments-emulator serve")
    return shlex.split(options)


def play(act: Act, directory: Path) -> list[Printed]:
    """Run an act, in a directory that has the document's files. Raises AssertionError."""
    with _served(act, directory) as server:
        ports = {API_PORT: server.api_port, CHECKOUT_PORT: server.checkout_port}
        _write_files(directory, ports)
        found = []
        if act.banner is not None:
            found.append(Printed(shown=act.banner, printed=_with_ports(server.banner, ports, 1)))
        if act.commands:
            outputs = _run([_with_ports(text, ports) for text in act.commands], directory)
            found += [
                Printed(shown=shown, printed=_with_ports(printed, ports, 1))
                for shown, printed in zip(act.outputs, outputs, strict=True)
            ]
        return found


def is_as_shown(printed: str, shown: str) -> bool:
    """Whether a text is what the document shows: a line that is `…` is any number of lines."""
    pattern = "".join(
        "(?:.*\n)*" if line == _ANYTHING else ".*".join(map(re.escape, line.split("…"))) + "\n"
        for line in shown.strip().splitlines()
    )
    return (
        re.fullmatch(pattern, "\n".join(map(str.rstrip, printed.strip().splitlines())) + "\n")
        is not None
    )


@contextmanager
def _served(act: Act, directory: Path) -> Iterator[Server]:
    _write_files(directory, {})
    stderr_path = directory / "serve.log"
    with stderr_path.open("w") as stderr:
        process = subprocess.Popen(
            [*COMMAND, "serve", *act.options, *FREE_PORTS],
            cwd=directory,
            env=_environment(directory),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            encoding="utf-8",
        )
    with ended(process):
        server = Server(process=process, stderr_path=stderr_path)
        server.read_banner()
        yield server


def _run(commands: list[str], directory: Path) -> list[str]:
    """What each block prints; one shell runs them all, so that variables last."""
    script = f"\nprintf '\\n%s\\n' '{_BREAK}'\n".join(commands)
    ran = subprocess.run(
        ["bash", "-euc", script],
        cwd=directory,
        env=_environment(directory),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=HANGS_AFTER_S,
    )
    assert ran.returncode == 0, f"exit code {ran.returncode}\n{ran.stdout}\n{ran.stderr}"
    return ran.stdout.split(f"\n{_BREAK}\n")


def _environment(directory: Path) -> dict[str, str]:
    """A path with the program under its name, which an installation would have put there."""
    programs = directory / "bin"
    programs.mkdir(exist_ok=True)
    program = programs / "payments-emulator"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m emulator "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    path = [str(programs), str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]
    return environment(
        {
            "PATH": os.pathsep.join(path),
            "PYTHONPATH": str(REPOSITORY),
            "CHROMIUM": shutil.which("chromium") or "",
        }
    )


def _write_files(directory: Path, ports: dict[int, int]) -> None:
    for name, block in files().items():
        (directory / name).write_text(_with_ports(block.text, ports), encoding="utf-8")


def _with_ports(text: str, ports: dict[int, int], direction: int = 0) -> str:
    """A text with the document's ports made the real ones, or (direction 1) the other way."""
    for pair in ports.items():
        known, wanted = pair[direction], pair[1 - direction]
        text = re.sub(rf"(http://(?:127\.0\.0\.1|localhost)):{known}\b", rf"\1:{wanted}", text)
    return text
