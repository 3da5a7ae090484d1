"""Runs the program as its users do: a process with two listeners, called over real sockets.

Each process is forked from one that has imported the program. Give `command=COMMAND` for a new
interpreter, where a test is about how the program starts.
"""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from types import MappingProxyType
from typing import IO, Any

from tests.cli.fork_server import IS_SUPPORTED, PYTHON_VARIABLES, ForkedProcess, fork
from tests.world import TEST_KEY, headers, order

REPOSITORY = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-m", "emulator")
Process = subprocess.Popen[str] | ForkedProcess
# Root has every permission, so some tests run as another user, who may be unable to read the
# modules; the program loads them all before it changes the user.
AS_NOBODY = (
    sys.executable,
    "-c",
    "import encodings.idna, os, emulator.cli.program, emulator.cli.serve\n"
    "if os.geteuid() == 0: os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
    "from emulator.cli import main; main()",
)
# A shell ignores Ctrl-C for background jobs, and their processes inherit that.
HEARS_CTRL_C = (
    sys.executable,
    "-c",
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "from emulator.cli import main; main()",
)
FREE_PORTS = ("--port", "0", "--checkout-port", "0")
# After this time, a process that hangs is killed, and its test fails.
HANGS_AFTER_S = 200
# Of a server that the tests of a module share.
SHARED_HANGS_AFTER_S = 600
POLL_S = 0.01
# In the last paragraph of the banner; an empty line ends that.
_LAST_NAME = "Database"


@dataclass(frozen=True, kw_only=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(kw_only=True)
class Server:
    """A `serve` process that is ready: its printed lines and its standard error."""

    process: Process
    stderr_path: Path
    printed: list[str] = field(default_factory=list)

    @property
    def api_port(self) -> int:
        return self._port("API")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.api_port}"

    @property
    def checkout_port(self) -> int:
        return self._port("Checkout")

    def _port(self, name: str) -> int:
        [line] = [line for line in self.printed if line.startswith(f"  {name} ")]
        found = re.search(r"https?://\S+?:(\d+)(?=[/\s])", line)
        assert found is not None, line
        return int(found[1])

    def read_banner(self) -> None:
        assert self.process.stdout is not None
        is_last = False
        for line in self.process.stdout:
            self.printed.append(line)
            if line.startswith("{"):
                entry = json.loads(line)
                self.printed += [
                    f"  {name} {entry[name.lower()]}\n" for name in ("API", "Checkout")
                ]
                return
            is_last = is_last or line.startswith(f"  {_LAST_NAME} ")
            if is_last and line == "\n":
                return
        raise AssertionError(f"no start: {self.stderr}")

    @property
    def banner(self) -> str:
        return "".join(self.printed)

    def read_rest(self) -> str:
        """The rest of the standard output, after the process has ended."""
        assert self.process.stdout is not None
        return self.process.stdout.read()

    @property
    def stderr(self) -> str:
        return self.stderr_path.read_text(encoding="utf-8")

    def connection(self, port: int | None = None) -> http.client.HTTPConnection:
        """To the API, unless another port is named."""
        port = self.api_port if port is None else port
        return http.client.HTTPConnection("127.0.0.1", port, timeout=HANGS_AFTER_S)

    def request(self, method: str, path: str, body: Any = None, key: str = TEST_KEY) -> Answer:
        """One request on a connection of its own."""
        connection = self.connection()
        try:
            return ask(connection, method, path, body, key)
        finally:
            connection.close()

    def create(self, **changes: Any) -> dict[str, Any]:
        answer = self.request("POST", "/v1/payments", order(**changes))
        assert answer.status == 201, answer.body
        return dict(answer.json)

    def stop(self) -> int:
        """The exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def ask(
    connection: http.client.HTTPConnection,
    method: str,
    path: str,
    body: Any = None,
    key: str = TEST_KEY,
) -> Answer:
    """One request on a connection that may serve many."""
    sent = headers(key)
    content = None
    if body is not None:
        content = json.dumps(body)
        sent["Content-Type"] = "application/json"
    connection.request(method, path, body=content, headers=sent)
    response = connection.getresponse()
    return Answer(
        status=response.status,
        headers={name.lower(): value for name, value in response.getheaders()},
        body=response.read(),
    )


def environment(variables: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
    """The variables of the tests, without those that configure the emulator."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("EMULATOR_")}
    return {**kept, **variables}


def launch(
    *arguments: str,
    stdout: int | IO[str],
    stderr: int | IO[str],
    variables: dict[str, str] | None = None,
    command: Sequence[str] | None = None,
    directory: Path = REPOSITORY,
) -> Process:
    """Start the program; the caller ends it."""
    is_forked = IS_SUPPORTED and not any(
        name.startswith(PYTHON_VARIABLES) for name in variables or {}
    )
    if command is None and is_forked:
        return fork(
            arguments,
            stdout=stdout,
            stderr=stderr,
            environment=environment(variables or {}),
            directory=directory,
        )
    return subprocess.Popen(
        [*(command or COMMAND), *arguments],
        cwd=directory,
        env=environment(variables or {}),
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        encoding="utf-8",
    )


def start(
    *options: str,
    stdout: int | IO[str],
    stderr: IO[str],
    variables: dict[str, str] | None = None,
    command: Sequence[str] | None = None,
) -> Process:
    """A server on free ports, unless the options name others; the caller ends it."""
    arguments = ("serve", *FREE_PORTS, *options)
    return launch(*arguments, stdout=stdout, stderr=stderr, variables=variables, command=command)


@contextmanager
def ended(process: Process, hangs_after_s: float = HANGS_AFTER_S) -> Iterator[None]:
    """Ends a process after the block, and earlier when it hangs."""
    watchdog = threading.Timer(hangs_after_s, process.kill)
    watchdog.start()
    try:
        yield
    finally:
        watchdog.cancel()
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


@contextmanager
def serving(
    *options: str,
    logs: Path,
    variables: dict[str, str] | None = None,
    command: Sequence[str] | None = None,
    hangs_after_s: float = HANGS_AFTER_S,
) -> Iterator[Server]:
    """A server that has printed its banner; it is killed after the block, or when it hangs."""
    stderr_path = logs / f"stderr-{len(list(logs.glob('stderr-*')))}"
    with stderr_path.open("w") as stderr:
        process = start(
            *options, stdout=subprocess.PIPE, stderr=stderr, variables=variables, command=command
        )
    with ended(process, hangs_after_s):
        server = Server(process=process, stderr_path=stderr_path)
        server.read_banner()
        yield server


def free_port(port: int = 0) -> int:
    """A port of 127.0.0.1 for one server; it refuses connections while the server does not listen.

    Raises OSError if the port is in use. No other program gets the port while this process runs: on
    Linux, a socket that is bound and does not listen excludes all but servers with SO_REUSEADDR.
    """
    held = socket.socket()
    try:
        held.bind(("127.0.0.1", port))
        # Only now: otherwise another process could hold the same port.
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound = int(held.getsockname()[1])
        if sys.platform == "linux":
            held.detach()  # The descriptor stays open until this process ends.
        return bound
    finally:
        held.close()


def wait_for(process: Process, is_so: Callable[[], bool]) -> None:
    """Poll a condition while the process runs."""
    for _ in range(int(HANGS_AFTER_S / POLL_S)):
        if is_so():
            return
        with suppress(subprocess.TimeoutExpired):
            process.wait(POLL_S)
            raise AssertionError("the process has ended")
    raise AssertionError("the condition was never true")


def answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=HANGS_AFTER_S)
    try:
        return ask(connection, "GET", "/_emulator/health").status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def listens(port: int) -> bool:
    """Whether the port accepts connections, even without responses."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=HANGS_AFTER_S).close()
    except OSError:
        return False
    return True


def run_program(
    *command: str,
    directory: Path = REPOSITORY,
    variables: Mapping[str, str] = MappingProxyType({}),
    sent: str = "",
    timeout_s: float = HANGS_AFTER_S,
) -> subprocess.CompletedProcess[str]:
    """Run any program that ends by itself; `sent` is its standard input."""
    return subprocess.run(
        command,
        cwd=directory,
        env=environment(variables),
        input=sent,
        capture_output=True,
        encoding="utf-8",
        timeout=timeout_s,
    )


def run(
    *arguments: str, variables: dict[str, str] | None = None, command: Sequence[str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command that ends by itself."""
    with TemporaryFile("w+", encoding="utf-8") as out, TemporaryFile("w+", encoding="utf-8") as err:
        process = launch(*arguments, stdout=out, stderr=err, variables=variables, command=command)
        with ended(process):
            code = process.wait(HANGS_AFTER_S)
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(arguments, code, out.read(), err.read())
