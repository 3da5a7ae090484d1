"""Runs a section of a document: starts its servers, then runs its commands in order.

The document names fixed ports, the servers have free ones; both ways are translated.
"""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.cli.processes import (
    FREE_PORTS,
    Server,
    ended,
    environment,
    free_port,
    launch,
    listens,
    run_program,
    wait_for,
)
from tests.docs.document import REPOSITORY, Block, Kind, Section
from tests.server.checkout.browsing import CHROMIUM

API_PORT = 8080
CHECKOUT_PORT = 8081
HANDLER_PORT = 4000
NEEDED = ("bash", "curl", "grep", "head", "sed")

_BREAK = "---- the next block ----"
_ANYTHING = "…"


@dataclass(kw_only=True)
class Act:
    """One server's part of a section, and what is run against it."""

    files: dict[str, Block]
    options: list[str] = field(default_factory=list)
    banner: str | None = None
    commands: list[str] = field(default_factory=list)
    outputs: list[str | None] = field(default_factory=list)
    handlers: list[str] = field(default_factory=list)
    """Commands, any of which is to listen while the others are run."""
    handler_output: str | None = None


@dataclass(frozen=True, kw_only=True)
class Printed:
    """What blocks printed, and what the document shows of it (None: nothing)."""

    shown: str | None
    printed: str


def missing() -> list[str]:
    return [program for program in NEEDED if shutil.which(program) is None]


needs_a_shell = pytest.mark.skipif(
    bool(missing()), reason=f"not on this machine: {', '.join(missing())}"
)


def acts(section: Section) -> list[Act]:
    """The section's blocks by server; what comes before the first has one with the defaults."""
    found = [Act(files=section.files)]
    before: Kind | None = None
    for block in section.blocks:
        match block.kind:
            case Kind.SERVE:
                found.append(Act(files=section.files, options=_options(block)))
            case Kind.RUN:
                found[-1].commands.append(block.text)
                found[-1].outputs.append(None)
            case Kind.OUTPUT if before is Kind.RUN:
                found[-1].outputs[-1] = block.text
            case Kind.OUTPUT:
                found[-1].banner = block.text
            case Kind.HANDLER:
                found[-1].handlers.append(block.text)
            case Kind.PRINTED:
                found[-1].handler_output = block.text
        before = block.kind
    return [act for act in found if act.commands or act.banner]


def _options(block: Block) -> list[str]:
    _, _, options = block.text.rpartition("payments-emulator serve")
    return shlex.split(options)


def play(act: Act, directory: Path, handler: str | None = None) -> list[Printed]:
    """Run an act, in a directory that has the document's files. Raises AssertionError.

    While its commands run, so does the `handler`, which is one of the act's.
    """
    with _served(act, directory) as server:
        ports = _ports(server)
        found = []
        if act.banner is not None:
            found.append(Printed(shown=act.banner, printed=_with_ports(server.banner, ports, 1)))
        if handler is None:
            write_files(act.files, directory, ports)
            return found + _outputs(act, directory, ports)
        with handling(handler, server, directory, act.files) as listening:
            found += _outputs(act, directory, listening.ports)
        return [*found, Printed(shown=act.handler_output, printed=listening.printed)]


@dataclass(frozen=True, kw_only=True)
class Listening:
    """A handler at work; `ports` are the document's with those that stand for them."""

    ports: dict[int, int]
    log: Path
    process: subprocess.Popen[str]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.ports[HANDLER_PORT]}/webhooks"

    @property
    def printed(self) -> str:
        return self.log.read_text(encoding="utf-8")


@contextmanager
def handling(
    command: str, server: Server, directory: Path, files: Mapping[str, Block]
) -> Iterator[Listening]:
    """One of the document's handlers, which fetches payments from a server."""
    ports, log_path = _ports(server), directory / "handler.log"
    write_files(files, directory, ports)
    with log_path.open("w") as log, (directory / "handler.err").open("w") as errors:
        process = subprocess.Popen(
            ["env", *shlex.split(_with_ports(command, ports))],
            cwd=directory,
            env=_environment(directory),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=errors,
            encoding="utf-8",
            start_new_session=True,
        )
    with ended(process):
        try:
            wait_for(process, lambda: listens(ports[HANDLER_PORT]))
            yield Listening(ports=ports, log=log_path, process=process)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # PHP has several processes


def _ports(server: Server) -> dict[int, int]:
    return {
        API_PORT: server.api_port,
        CHECKOUT_PORT: server.checkout_port,
        HANDLER_PORT: free_port(),
    }


def _outputs(act: Act, directory: Path, ports: dict[int, int]) -> list[Printed]:
    if not act.commands:
        return []
    outputs = _run([_with_ports(text, ports) for text in act.commands], directory)
    return [
        Printed(shown=shown, printed=_with_ports(printed, ports, 1))
        for shown, printed in zip(act.outputs, outputs, strict=True)
    ]


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
    write_files(act.files, directory, {})
    stderr_path = directory / "serve.log"
    with stderr_path.open("w") as stderr:
        process = launch(
            *("serve", *act.options, *FREE_PORTS),
            stdout=subprocess.PIPE,
            stderr=stderr,
            directory=directory,
        )
    with ended(process):
        server = Server(process=process, stderr_path=stderr_path)
        server.read_banner()
        yield server


def _run(commands: list[str], directory: Path) -> list[str]:
    """What each block prints; one shell runs them all, so that variables last."""
    script = f"\nprintf '\\n%s\\n' '{_BREAK}'\n".join(commands)
    ran = run_program(
        "bash", "-euc", script, directory=directory, variables=_environment(directory)
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
    variables = {"PYTHONPATH": str(REPOSITORY), "CHROMIUM": CHROMIUM or ""}
    # Two seconds of each run of pytest, and not among the packages of a merchant.
    variables["PYTEST_ADDOPTS"] = "-p no:schemathesis"
    return environment({"PATH": os.pathsep.join(path), **variables})


def write_files(files: Mapping[str, Block], directory: Path, ports: dict[int, int]) -> None:
    """Write every file that a document shows."""
    for name, block in files.items():
        (directory / name).write_text(_with_ports(block.text, ports), encoding="utf-8")


def _with_ports(text: str, ports: dict[int, int], direction: int = 0) -> str:
    """A text with the document's ports made the real ones, or (direction 1) the other way."""
    for pair in ports.items():
        known, wanted = pair[direction], pair[1 - direction]
        text = re.sub(rf"((?:127\.0\.0\.1|localhost):){known}\b", rf"\g<1>{wanted}", text)
        if HANDLER_PORT in pair:
            # In the programs it stands alone.
            text = re.sub(rf"\b{known}\b", str(wanted), text)
    return text
