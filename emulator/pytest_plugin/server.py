"""Starts the server of a test run, which all its processes share, and which ends with them.

Each process holds a connection to the server's lifeline (see `server_process`).
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from threading import Timer
from typing import Any

from ..http.emulator_calls import PaymentsEmulatorError
from . import server_process

MAX_START_S = 60
MAX_END_S = 10
MAX_CONNECT_S = 10
# The shop under test is at `http://localhost`.
DEFAULT_OPTIONS = ("--port", "0", "--checkout-port", "0", "--allow-http-localhost")

_LIFELINE = re.compile(rb"lifeline ([0-9]+)\s*")
_API = re.compile(rb" +API +(http\S+)\s*")
_MAX_LOG_LINES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedServer:
    """The data by which other processes find the server."""

    base_url: str
    lifeline_port: int
    log: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLease:
    """A server that runs at least until the release; `process` is None unless started here."""

    server: SharedServer
    lifeline: socket.socket
    process: "subprocess.Popen[bytes] | None" = None

    def release(self) -> None:
        # Closing is not enough: a process that a test has forked may have the connection, too.
        with suppress(OSError):
            self.lifeline.shutdown(socket.SHUT_RDWR)
        self.lifeline.close()

    def wait(self, *, is_shared: bool) -> None:
        """Wait for the end of a server that was started here, so that no run leaves one behind.

        It ends when no process holds its lifeline.
        """
        if self.process is None:
            return
        try:
            # Other processes may need it for any length of time.
            self.process.wait(None if is_shared else MAX_END_S)
        except subprocess.TimeoutExpired:
            _kill(self.process)


def start(options: Sequence[str], directory: Path, files: Path) -> ServerLease:
    """Start a server on free ports; its log is `files` with a suffix.

    Relative paths in its options begin at the directory. Raises PaymentsEmulatorError.
    """
    log = files.with_suffix(".log")
    # -P: modules beside that file must not be importable by their names alone.
    command = [sys.executable, "-P", server_process.__file__, "serve", *DEFAULT_OPTIONS]
    # Without the variables that configure `serve`.
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("EMULATOR_")
    }
    with log.open("wb") as stderr:
        process = subprocess.Popen(  # noqa: S603 - the options are the user's configuration
            [*command, *options],
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            # A Ctrl-C at the terminal is for the tests, which clean up before they release it.
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
    watchdog = Timer(MAX_START_S, partial(_kill, process))
    watchdog.start()
    try:
        return _lease_started(process, log)
    except BaseException:
        _kill(process)
        raise
    finally:
        watchdog.cancel()
        if process.stdout is not None:
            process.stdout.close()


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """Kill the process with a command that it has started: both are in its session."""
    if sys.platform == "win32":
        process.kill()
    elif process.poll() is None:
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _lease_started(process: "subprocess.Popen[bytes]", log: Path) -> ServerLease:
    port, lifeline = 0, None
    # A user's customisation of Python may print lines before ours.
    for line in process.stdout or ():
        if match := _LIFELINE.fullmatch(line):
            port = int(match[1])
            lifeline = connect_lifeline(port)
        elif lifeline is not None and (match := _API.fullmatch(line)):
            server = SharedServer(base_url=match[1].decode(), lifeline_port=port, log=str(log))
            return ServerLease(server=server, lifeline=lifeline, process=process)
    if lifeline is not None:
        lifeline.close()
    process.wait()
    logged = "\n".join(log.read_text("utf-8", "replace").splitlines()[-_MAX_LOG_LINES:])
    raise PaymentsEmulatorError(
        "the payments emulator did not start" + (f": {logged}" if logged else f"; see {log}")
    )


def connect_lifeline(port: int) -> socket.socket | None:
    """Connect to a server's lifeline; None when the server has ended or is about to."""
    try:
        lifeline = socket.create_connection(("127.0.0.1", port), timeout=MAX_CONNECT_S)
    except OSError:
        return None
    with suppress(OSError):
        if lifeline.recv(1) == server_process.WELCOME:
            return lifeline
    lifeline.close()
    return None


def join_or_start(files: Path, start_server: Callable[[Path], ServerLease]) -> ServerLease:
    """Lease the server of all processes with the same `files`; the first process starts it.

    `files` is a path without suffix. Raises PaymentsEmulatorError.
    """
    state = files.with_suffix(".json")
    with _locked(files.with_suffix(".lock")):
        lease = _join(state)
        if lease is None:
            lease = start_server(files)
            state.write_text(json.dumps(asdict(lease.server)), encoding="utf-8")
        return lease


def _join(state: Path) -> ServerLease | None:
    """Lease the running server; None when there is none, or no longer."""
    try:
        server = SharedServer(**json.loads(state.read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError):
        return None
    # Which the server holds as long as it responds.
    lifeline = connect_lifeline(server.lifeline_port)
    return None if lifeline is None else ServerLease(server=server, lifeline=lifeline)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Exclude all other processes for the length of the block."""
    with path.open("a+b") as file:
        if sys.platform == "win32":
            _lock_windows(file.fileno())
        else:
            flock: Any = import_module("fcntl")
            flock.flock(file, flock.LOCK_EX)
        yield


def _lock_windows(descriptor: int) -> None:
    locking: Any = import_module("msvcrt")
    for _ in range(MAX_START_S):
        # Each call tries ten times, once a second.
        with suppress(OSError):
            locking.locking(descriptor, locking.LK_LOCK, 1)
            return
