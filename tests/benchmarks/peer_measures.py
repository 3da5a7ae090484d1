"""Installs and measures the emulator and other programs, each against the limit in turns."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from emulator import __version__
from tests.benchmarks import start
from tests.benchmarks.load import LoadFailed
from tests.benchmarks.pairs import Generator, Plan, Side, compare, row
from tests.benchmarks.peers import LIST_SIZE, OURS, Installer, Program
from tests.benchmarks.report import Gate, Row
from tests.benchmarks.servers import (
    Launch,
    Server,
    ServerFailed,
    bare,
    emulator,
    running,
)
from tests.cli.processes import free_port

CONNECTIONS = (1, 16, 64)
# Of the emulator: the least share of the limit's rate, by the number of connections.
RATE_GATES = {
    "create": (0.40, 0.50, 0.50),
    "retrieve": (0.70, 0.75, 0.75),
    "list": (0.80, 0.65, 0.65),
}
START_GATE = Gate(at_most=1.30)
MEMORY_GATE = Gate(at_most=45.0)
STORED_OBJECTS = 1_000
INSTALLED_WITHIN_S = 300


class CannotRun(Exception):
    """A program is missing, cannot be installed, or does not do what is measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What was measured of a program, by name such as `create c16`; or why it was not."""

    name: str
    answers: str
    version: str = ""
    stores: bool = True
    rows: Mapping[str, Row] = field(default_factory=dict)
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """A program that can be started."""

    program: Program
    directory: Path
    version: str

    @contextmanager
    def running(self) -> Iterator[Server]:
        """The server, ready: it has answered a create with success."""
        program = self.program
        probe = next(self.program.create().requests(80))
        if program.installer is Installer.NONE:
            with emulator(probe=probe) as server:
                yield server
            return
        port = free_port()
        with TemporaryDirectory(prefix="benchmark-") as name:
            directory = Path(name)
            for file, content in program.files.items():
                path = directory / file
                path.parent.mkdir(exist_ok=True)
                path.write_text(json.dumps(content), encoding="utf-8")
            command = [self._filled(part, port) for part in program.command]
            launch = Launch(
                name=program.name, command=command, cwd=directory, port=port, probe=probe
            )
            try:
                with running(launch, log=directory / "log") as server:
                    yield server
            except ServerFailed as error:  # of this program, not of the limit
                raise CannotRun(str(error)) from error

    def _filled(self, part: str, port: int) -> str:
        """A part of the command, with its values. JavaScript has other braces."""
        part = part.replace("{port}", str(port)).replace("{version}", self.version)
        return part.replace("{package}", str(self.directory))


def install(program: Program, cache: Path) -> Installed:
    """Install the newest version below the cache, unless one is there. Raises CannotRun."""
    if program.installer is Installer.NONE:
        return Installed(program=program, directory=cache, version=__version__)
    if missing := [name for name in program.needs if shutil.which(name) is None]:
        raise CannotRun(f"not on this machine: {', '.join(missing)}")
    directory = cache.resolve() / program.name.lower()
    if program.installer is Installer.NPM:
        package = directory / "node_modules" / program.package
        command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(directory)]
        if not package.exists():
            directory.mkdir(parents=True, exist_ok=True)
            _run([*command, program.package], directory)
        document = json.loads((package / "package.json").read_text(encoding="utf-8"))
        return Installed(program=program, directory=package, version=document["version"])
    python = str(directory / "bin/python")
    if not Path(python).exists():
        _run([sys.executable, "-m", "venv", str(directory)], cache)
        _run([python, "-m", "pip", "install", "--quiet", program.package], cache)
    code = f"from importlib.metadata import version; print(version({program.package!r}))"
    return Installed(
        program=program, directory=directory, version=_run([python, "-c", code], cache)
    )


def _run(command: list[str], directory: Path) -> str:
    """The output of a command. Raises CannotRun with the first of its errors."""
    try:
        ended = subprocess.run(
            command,
            cwd=directory,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=INSTALLED_WITHIN_S,
        )
    except subprocess.TimeoutExpired as error:
        raise CannotRun(f"`{command[0]}` took more than {INSTALLED_WITHIN_S} s") from error
    if ended.returncode:
        lines = (ended.stderr.strip() or ended.stdout.strip() or "no output").splitlines()
        first = next((line for line in lines if "error" in line.lower()), lines[-1])
        raise CannotRun(f"`{Path(command[0]).name}` failed: {first}")
    return ended.stdout.strip()


def figures(plan: Plan, generator: Generator, program: Program, cache: Path) -> Figures:
    """All figures of a program, or the reason why there are none."""
    known = {"name": program.name, "answers": program.answers}
    try:
        installed = install(program, cache)
        rows = {row.measure: row for row in _measure(plan, generator, installed)}
    except (CannotRun, LoadFailed, OSError, ValueError) as error:
        if program is OURS:
            raise
        return Figures(**known, reason=" ".join(str(error).split())[:300])
    return Figures(**known, version=installed.version, stores=program.stores, rows=rows)


def _measure(plan: Plan, generator: Generator, installed: Installed) -> Iterator[Row]:
    program = installed.program
    gates = (START_GATE, MEMORY_GATE) if program is OURS else (None, None)
    yield from start.measure(plan, installed.running, gates)
    # Creates have a server of their own, so that reads have as many objects in each program.
    with bare() as limit, installed.running() as subject:
        sides = Side(limit, OURS.create()), Side(subject, program.create())
        yield from _rates(plan, generator, program, "create", sides)
    with bare() as limit, installed.running() as subject:
        ids = _fill(program, subject)
        for name, traffic in OURS.reads(ids).items():
            sides = Side(limit, traffic), Side(subject, program.reads(ids)[name])
            yield from _rates(plan, generator, program, name, sides)


def _rates(
    plan: Plan, generator: Generator, program: Program, name: str, sides: tuple[Side, Side]
) -> Iterator[Row]:
    """A line for each number of connections, after bursts that let compilers do their work."""
    generator.burst(sides[1], CONNECTIONS[1], program.warm_up_s)
    for connections, floor in zip(CONNECTIONS, RATE_GATES[name], strict=True):
        gate = Gate(at_least=floor) if program is OURS else None
        pairs = compare(plan, generator, *sides, connections)
        yield row(f"{name} c{connections}", pairs, gate)


def _fill(program: Program, subject: Server) -> list[str]:
    """Create objects and return their ids. Raises CannotRun when they are not stored."""
    headers = {"Authorization": f"Bearer {program.key}", "Content-Type": program.content_type}
    ids = []
    for _ in range(STORED_OBJECTS if program.stores else 1):
        created = _call(subject, "POST", program.collection, headers, program.body.encode())
        ids.append(str(created["id"]))
    retrieved = _call(subject, "GET", f"{program.collection}/{ids[-1]}", headers)
    if retrieved != created:
        raise CannotRun(f"the object reads back differently: {retrieved}")
    page = _call(subject, "GET", f"{program.collection}?{program.page}", headers)
    listed = page["data"] if isinstance(page, dict) else page
    if len(listed) != LIST_SIZE:
        raise CannotRun(f"the list has {len(listed)} objects, not {LIST_SIZE}")
    return ids


def _call(
    subject: Server, method: str, path: str, headers: dict[str, str], body: bytes | None = None
) -> Any:
    status, content = subject.call(method, path, headers, body)
    if status not in {200, 201}:
        raise CannotRun(f"{method} {path} was answered {status}: {content[:300]!r}")
    return json.loads(content)
