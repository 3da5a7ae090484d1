"""How the server of a test run is started, held on to, shared by its processes, and let go."""

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from threading import Timer
from typing import Any

from . import server_process
from .control_client import ControlClient, PaymentsEmulatorError

MAX_START_S = 60
MAX_END_S = 10
MAX_HOLD_S = 10
# Where tests run, `http://localhost` is where a shop is.
USUAL_OPTIONS = ("--port", "0", "--checkout-port", "0", "--allow-http-localhost")

_LIFELINE = re.compile(rb"lifeline ([0-9]+)\s*")
_API = re.compile(rb" +API +(http\S+)\s*")
_TOLD_LINES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a server is, for whoever has not started it."""

    base_url: str
    lifeline_port: int
    log: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server that runs at least until it is let go; `process` is that of who started it."""

    address: Address
    lifeline: socket.socket
    process: "subprocess.Popen[bytes] | None" = None

    def let_go(self) -> None:
        # Not only closed: a process that a test has forked may hold on to it, too.
        with suppress(OSError):
            self.lifeline.shutdown(socket.SHUT_RDWR)
        self.lifeline.close()

    def wait(self, *, is_shared: bool) -> None:
        """Return when it has ended, which it does when nobody holds on to it any more.

        Nothing but who started it waits, so that no run leaves one behind.
        """
        if self.process is None:
            return
        try:
            # How long others hold on to it only they know.
            self.process.wait(None if is_shared else MAX_END_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """What kind of server a run is to have: its options, and where relative paths begin."""

    options: Sequence[str]
    directory: Path


def start(wanted: ServerOptions, files: Path) -> Server:
    """Start a server on free ports; its log is `files` with a suffix.

    Raises PaymentsEmulatorError.
    """
    log = files.with_suffix(".log")
    with log.open("wb") as stderr:
        process = subprocess.Popen(  # noqa: S603 - what the user's own configuration says
            # -P: what lies beside that file is no module of everybody's.
            [
                sys.executable,
                "-P",
                server_process.__file__,
                "serve",
                *USUAL_OPTIONS,
                *wanted.options,
            ],
            cwd=wanted.directory,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            # A Ctrl-C at the terminal is for the tests, which tidy up before they let go.
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
    watchdog = Timer(MAX_START_S, process.kill)
    watchdog.start()
    try:
        return _started(process, log)
    except BaseException:
        process.kill()
        process.wait()
        raise
    finally:
        watchdog.cancel()
        if process.stdout is not None:
            process.stdout.close()


def _started(process: "subprocess.Popen[bytes]", log: Path) -> Server:
    port, lifeline = 0, None
    # Whoever customises Python here may have lines printed before ours.
    for line in process.stdout or ():
        if found := _LIFELINE.fullmatch(line):
            port = int(found[1])
            lifeline = hold(port)
        elif lifeline is not None and (found := _API.fullmatch(line)):
            address = Address(base_url=found[1].decode(), lifeline_port=port, log=str(log))
            return Server(address=address, lifeline=lifeline, process=process)
    if lifeline is not None:
        lifeline.close()
    process.wait()
    told = "\n".join(log.read_text("utf-8", "replace").splitlines()[-_TOLD_LINES:])
    raise PaymentsEmulatorError(
        "the payments emulator did not start" + (f": {told}" if told else f"; see {log}")
    )


def _environment() -> dict[str, str]:
    """Ours, without what would configure an emulator that somebody starts by hand."""
    return {name: value for name, value in os.environ.items() if not name.startswith("EMULATOR_")}


def hold(port: int) -> socket.socket | None:
    """Hold on to the server whose lifeline this is; None where it has ended, or is about to."""
    try:
        lifeline = socket.create_connection(("127.0.0.1", port), timeout=MAX_HOLD_S)
    except OSError:
        return None
    with suppress(OSError):
        if lifeline.recv(1) == server_process.WELCOME:
            return lifeline
    lifeline.close()
    return None


def join_or_start(files: Path, start_one: Callable[[Path], Server]) -> Server:
    """The server of all who share `files`, paths that want a suffix: the first there starts it.

    Raises PaymentsEmulatorError.
    """
    state = files.with_suffix(".json")
    with _locked(files.with_suffix(".lock")):
        server = _joined(state)
        if server is None:
            server = start_one(files)
            state.write_text(json.dumps(asdict(server.address)), encoding="utf-8")
        return server


def _joined(state: Path) -> Server | None:
    """The server that is there, or None where the process that had it has taken it along."""
    try:
        address = Address(**json.loads(state.read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError):
        return None
    lifeline = hold(address.lifeline_port)
    if lifeline is None:
        return None
    try:
        ControlClient(base_url=address.base_url).call("GET", "/health")
    except PaymentsEmulatorError:
        lifeline.close()
        return None
    return Server(address=address, lifeline=lifeline)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keep all other processes out for the length of the block."""
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
        # It tries ten times, a second each, and then gives up.
        with suppress(OSError):
            locking.locking(descriptor, locking.LK_LOCK, 1)
            return
