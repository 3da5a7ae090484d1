"""Forks processes of the program from one that has imported it: in 15 ms instead of half a second.

`python -m tests.cli.fork_server FD` serves the socket FD until its other end is closed. Each
request is a JSON object (`arguments`, `environment`, `directory`) with three descriptors: the
standard output, the standard error, and a socket on which the server sends the process id and a
descriptor of the process at once, and the exit code at the end.
"""

import atexit
import gc
import json
import os
import pkgutil
import selectors
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import IO, NoReturn

REPOSITORY = Path(__file__).resolve().parents[2]
PROGRAM = REPOSITORY / "emulator" / "__main__.py"
IS_SUPPORTED = hasattr(os, "fork") and hasattr(os, "pidfd_open")
# Python reads variables of this prefix before it runs the program.
PYTHON_VARIABLES = "PYTHON"
MAX_REQUEST_BYTES = 200_000
MAX_STATUS_BYTES = 100
MAX_DESCRIPTORS = 4_096
# These are imported by functions, at their first call.
LATE_IMPORTS = (
    *("anyio._backends._asyncio", "certifi", "concurrent.futures.thread", "encodings.idna", "h11"),
    *("httpcore", "uvicorn.lifespan.off", "uvloop"),
)


class ForkedProcess:
    """A process of the program, with the methods of `subprocess.Popen` that tests use."""

    def __init__(self, status: socket.socket, stdout: IO[str] | None) -> None:
        self._status = status
        # The exit code, which may have been sent already, is not received with a descriptor.
        message, [self._pidfd], _, _ = socket.recv_fds(status, MAX_STATUS_BYTES, 1)
        self.pid = int(message)
        self.stdout = stdout
        self.returncode: int | None = None
        # A watchdog kills the process on another thread.
        self._lock = Lock()

    def poll(self) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            with selectors.DefaultSelector() as selector:
                selector.register(self._status, selectors.EVENT_READ)
                if not selector.select(timeout):
                    raise subprocess.TimeoutExpired("emulator", timeout or 0)
            with self._lock:
                self.returncode = int(self._status.recv(MAX_STATUS_BYTES))
                self._status.close()
                os.close(self._pidfd)
        return self.returncode

    def send_signal(self, number: int) -> None:
        # To the descriptor: another process may have got the id after this one has ended.
        with self._lock, suppress(ProcessLookupError):
            if self.returncode is None:
                signal.pidfd_send_signal(self._pidfd, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def fork(
    arguments: Sequence[str],
    *,
    stdout: int | IO[str],
    stderr: int | IO[str],
    environment: Mapping[str, str],
    directory: Path = REPOSITORY,
) -> ForkedProcess:
    """Start the program with these arguments; `stdout` and `stderr` are as for `Popen`."""
    return _server().fork(arguments, stdout, stderr, environment, directory)


@cache
def _server() -> "_Server":
    return _Server()


class _Server:
    def __init__(self) -> None:
        self._lock = Lock()
        self._socket, end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with end:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(end.fileno())],
                cwd=REPOSITORY,
                pass_fds=[end.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
        atexit.register(self._close)

    def fork(
        self,
        arguments: Sequence[str],
        stdout: int | IO[str],
        stderr: int | IO[str],
        environment: Mapping[str, str],
        directory: Path,
    ) -> ForkedProcess:
        request = {
            "arguments": list(arguments),
            "environment": dict(environment),
            "directory": str(directory),
        }
        status, end = socket.socketpair()
        opened = [end.fileno()]
        reader = None
        if stdout == subprocess.PIPE:
            readable, stdout = os.pipe()
            opened.append(stdout)
            reader = os.fdopen(readable, encoding="utf-8")
        elif stdout == subprocess.DEVNULL:
            stdout = os.open(os.devnull, os.O_WRONLY)
            opened.append(stdout)
        descriptors = [d if isinstance(d, int) else d.fileno() for d in (stdout, stderr)]
        try:
            with self._lock:
                content = json.dumps(request).encode()
                socket.send_fds(self._socket, [content], [*descriptors, end.fileno()])
        finally:
            end.detach()
            for descriptor in opened:
                os.close(descriptor)
        return ForkedProcess(status, reader)

    def _close(self) -> None:
        self._socket.close()
        self._process.wait()


def _serve(control: socket.socket) -> None:
    """Fork a process for each request and report how it ends."""
    with selectors.DefaultSelector() as selector:
        selector.register(control, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.data is None:
                    content, descriptors, _, _ = socket.recv_fds(control, MAX_REQUEST_BYTES, 3)
                    if not content:
                        return
                    _start(selector, json.loads(content), descriptors)
                else:
                    selector.unregister(key.fd)
                    _report(key.fd, *key.data)


def _start(
    selector: selectors.BaseSelector, request: dict[str, object], descriptors: list[int]
) -> None:
    *outputs, status = descriptors
    pid = os.fork()
    if pid == 0:
        _run(request, outputs)
    for descriptor in outputs:
        os.close(descriptor)
    pidfd, sender = os.pidfd_open(pid), socket.socket(fileno=status)
    # A test that has ended early reads no more.
    with suppress(ConnectionError):
        socket.send_fds(sender, [b"%d" % pid], [pidfd])
    selector.register(pidfd, selectors.EVENT_READ, (pid, sender))


def _report(pidfd: int, pid: int, sender: socket.socket) -> None:
    _, code = os.waitpid(pid, 0)
    os.close(pidfd)
    with sender, suppress(ConnectionError):
        sender.send(b"%d" % os.waitstatus_to_exitcode(code))


def _run(request: dict[str, object], outputs: list[int]) -> NoReturn:
    """Become the program, and end with its exit code."""
    code = 1
    try:
        os.chdir(str(request["directory"]))
        for number, descriptor in enumerate(outputs, start=1):
            os.dup2(descriptor, number)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8")
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1)
        os.closerange(3, MAX_DESCRIPTORS)
        os.environ.clear()
        os.environ.update(request["environment"])  # type: ignore[arg-type]
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.argv = [str(PROGRAM), *request["arguments"]]  # type: ignore[misc]
        from emulator.cli import main

        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:  # noqa: BLE001 - the interpreter prints them, too
        traceback.print_exc()
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
        os._exit(code)


def _import_program() -> None:
    emulator = import_module("emulator")
    for module in pkgutil.walk_packages(emulator.__path__, "emulator."):
        if not module.name.startswith(("emulator.__main__", "emulator.pytest_plugin")):
            import_module(module.name)
    for name in LATE_IMPORTS:
        import_module(name)
    from emulator.server.app.settings_files import shipped_scenarios

    # They are cached: no process has to read the files again.
    shipped_scenarios()
    shipped_scenarios(only_on=True)


if __name__ == "__main__":
    _import_program()
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=int(sys.argv[1])) as control:
        _serve(control)
