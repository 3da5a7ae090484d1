"""Starts, observes and stops the servers, on loopback only."""

import http.client
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.cli.processes import REPOSITORY, free_port

READY_WITHIN_S = 30.0
STOPPED_WITHIN_S = 10.0
POLL_S = 0.001
# CPUCLOCK_SCHED, as glibc puts it into the clock that clock_getcpuclockid(3) names.
_SCHEDULED_TIME = 2


class ServerFailed(Exception):
    """A server did not start, or answered what it must not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server that is ready; `ready_after_ms` counts from just before its process was made."""

    name: str
    pid: int
    port: int
    ready_after_ms: float

    def rss_mib(self) -> float:
        """Resident memory, as the kernel counts it now."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii")
        line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
        return int(line.split()[1]) / 1024

    def cpu_s(self) -> float:
        """Processor time of all threads so far; what is put off until later is counted too.

        Read from the clock of the process: /proc counts in ticks of 10 ms, too coarse for a burst.
        """
        return time.clock_gettime(~self.pid << 3 | _SCHEDULED_TIME)

    def call(
        self, method: str, path: str, headers: dict[str, str], body: bytes | None = None
    ) -> tuple[int, bytes]:
        """One request outside any measurement: the status and the body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body=body, headers=headers)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()


def environment() -> dict[str, str]:
    """The environment of every process measured: compiled modules allowed, defaults untouched."""
    ignored = ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX")
    return {
        name: value
        for name, value in os.environ.items()
        if name not in ignored and not name.startswith("EMULATOR_")
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How to start a server, and the request that it answers when it is ready."""

    name: str
    command: Sequence[str]
    cwd: Path
    port: int
    probe: bytes


@contextmanager
def bare() -> Iterator[Server]:
    """The limit, ready."""
    port = free_port()
    with TemporaryDirectory(prefix="benchmark-") as directory:
        launch = Launch(
            name="limit",
            command=[sys.executable, "-m", "tests.benchmarks.bare", str(port)],
            cwd=REPOSITORY,
            port=port,
            probe=_get("/v1/payments"),
        )
        with running(launch, log=Path(directory, "log")) as server:
            yield server


@contextmanager
def emulator(*options: str, probe: bytes = b"") -> Iterator[Server]:
    """The subject, ready, on a fresh file database.

    `options` are further ones of `serve`; without any, it runs as it does by default. It is ready
    when it answers the probe with success; without one, the probe is a request for its health.
    """
    port, checkout_port = free_port(), free_port()
    with TemporaryDirectory(prefix="benchmark-") as directory:
        command = [sys.executable, "-m", "emulator", "serve", "--port", str(port)]
        command += ["--checkout-port", str(checkout_port)]
        command += ["--database", str(Path(directory, "emulator.sqlite3")), *options]
        probe = probe or _get("/_emulator/health")
        launch = Launch(name="emulator", command=command, cwd=REPOSITORY, port=port, probe=probe)
        with running(launch, log=Path(directory, "log")) as server:
            yield server


@contextmanager
def running(launch: Launch, *, log: Path) -> Iterator[Server]:
    """Start a server, wait until it answers its probe with success, and stop it at the end."""
    with log.open("wb") as output:
        begun = time.perf_counter()
        process = subprocess.Popen(
            launch.command,
            cwd=launch.cwd,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        while not _answers(launch.port, launch.probe):
            if process.poll() is not None or time.perf_counter() - begun > READY_WITHIN_S:
                tail = log.read_text(encoding="utf-8", errors="replace")[-2000:]
                raise ServerFailed(f"no start: {' '.join(launch.command)}\n{tail}")
            time.sleep(POLL_S)
        ready_after_ms = (time.perf_counter() - begun) * 1000
        yield Server(
            name=launch.name, pid=process.pid, port=launch.port, ready_after_ms=ready_after_ms
        )
    finally:
        _stop(process)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOPPED_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()


def _answers(port: int, probe: bytes) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            connection.sendall(probe)
            return connection.recv(64).startswith(b"HTTP/1.1 20")
    except OSError:
        return False
