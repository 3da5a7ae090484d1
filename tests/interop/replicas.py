"""Two replicas behind nginx, started as the documents show them, on free ports."""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from string import Template

import httpx

from tests.cli.processes import (
    SHARED_HANGS_AFTER_S,
    Server,
    ended,
    free_port,
    listens,
    serving,
    wait_for,
)
from tests.docs.document import Kind, sections_of, shown_file

MAX_RESPONSE_S = 60.0
PAGE = "docs/guides/several-processes.md"
CONFIGURATION = "payments-emulator.conf"
# The rest of the configuration, with paths that the user of the tests can write.
AROUND = Template(Path(__file__).with_name("nginx.conf").read_text(encoding="utf-8"))

_PORT = re.compile(r"(?<=:)\d{4}\b|(?<=-port )\d{4}\b")


@dataclass(kw_only=True)
class Balanced:
    """Two replicas behind nginx, by the ports that stand for those of the document."""

    ports: dict[str, str]
    logs: Path
    commands: list[list[str]] = field(default_factory=list)
    replicas: list[Server] = field(default_factory=list)
    running: ExitStack = field(default_factory=ExitStack)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.ports['8080']}"

    def client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(base_url=self.url, timeout=MAX_RESPONSE_S, trust_env=False)

    def start(self, number: int) -> Server:
        replica = serving(
            *self.commands[number], logs=self.logs, hangs_after_s=SHARED_HANGS_AFTER_S
        )
        return self.running.enter_context(replica)


@contextmanager
def balanced(directory: Path, *, has_databases: bool = False) -> Iterator[Balanced]:
    nginx = nginx_program()
    blocks = [block for section in sections_of(PAGE) for block in section.blocks]
    [block] = [block for block in blocks if block.kind is Kind.REPLICAS]
    configuration = shown_file(CONFIGURATION).text
    ports = {port: str(free_port()) for port in _PORT.findall(block.text + configuration)}
    found = Balanced(ports=ports, logs=directory)
    for number, line in enumerate(block.text.splitlines()):
        _, _, options = _with_ports(line, ports).partition("payments-emulator serve")
        database = [f"--database={directory / f'{number}.db'}"] if has_databases else []
        found.commands.append([*shlex.split(options), *database])
    (directory / CONFIGURATION).write_text(_with_ports(configuration, ports), encoding="utf-8")
    with found.running:
        found.replicas = [found.start(number) for number in range(len(found.commands))]
        found.running.enter_context(listening(nginx, directory, int(ports["8080"])))
        yield found


def _with_ports(text: str, ports: dict[str, str]) -> str:
    return _PORT.sub(lambda found: ports[found[0]], text)


def nginx_program() -> str:
    nginx = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    assert nginx is not None, "there is no nginx on this machine (Debian's package nginx-light)"
    return nginx


@contextmanager
def listening(nginx: str, directory: Path, port: int) -> Iterator[None]:
    """An nginx with the configuration in a directory, once it listens on a port."""
    # Root's workers would run as another user, who cannot write here.
    user = "user root;" if os.geteuid() == 0 else ""
    around = AROUND.substitute(user=user, configuration=CONFIGURATION)
    (directory / "nginx.conf").write_text(around, encoding="utf-8")
    with (directory / "nginx.log").open("w") as log:
        process = subprocess.Popen(
            [nginx, "-p", str(directory), "-c", str(directory / "nginx.conf")],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            encoding="utf-8",
        )
    with ended(process):
        try:
            wait_for(process, lambda: listens(port))
            yield
        finally:
            # A kill would leave its workers behind.
            process.terminate()
            process.wait()
