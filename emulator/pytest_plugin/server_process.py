"""Runs `serve` in its own process, until the last test process has closed its lifeline.

It is run as a file, because `emulator` may be the name of a merchant's package. The first line that
it prints is the port of the lifeline; each test process holds a connection to it, which also closes
when that process is killed. The other lines are from `serve`, which runs in this process, or as
the command of PAYMENTS_EMULATOR_COMMAND.
"""

import os
import selectors
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from threading import Thread

# Sent to each process that connects in time: the server runs until it disconnects.
WELCOME = b"+"
# The time for the process that started this to connect.
MAX_FIRST_CONNECT_S = 60

_PACKAGE = "emulator"
# Also in `emulator/http/emulator_calls.py`, which a file cannot import.
_COMMAND_VARIABLE = "PAYMENTS_EMULATOR_COMMAND"
_URL_VARIABLE = "PAYMENTS_EMULATOR_URL"


def main() -> None:
    lifeline = socket.create_server(("127.0.0.1", 0))
    sys.stdout.write(f"lifeline {lifeline.getsockname()[1]}\n")
    sys.stdout.flush()
    if command := os.environ.get(_COMMAND_VARIABLE, "").strip():
        sys.exit(_run_command(command, lifeline))
    _watch(lifeline, end=partial(os.kill, os.getpid(), signal.SIGTERM))
    try:
        _load_package()
        import_module(f"{_PACKAGE}.cli").main()
    except ModuleNotFoundError as error:
        sys.exit(
            f"the module {error.name!r} is not installed: install etb-payments-emulator with its"
            f" dependencies, or set {_COMMAND_VARIABLE} or {_URL_VARIABLE}"
        )


def _run_command(command: str, lifeline: socket.socket) -> int:
    """Run `serve` as a command, which is a path or words, and return its exit code."""
    words = [command] if Path(command).is_file() else command.split()
    try:
        server = subprocess.Popen([*words, *sys.argv[1:]])  # noqa: S603 - it is the user's
    except OSError as error:
        sys.exit(f"{_COMMAND_VARIABLE}: cannot start {words[0]!r}: {error.strerror}")
    if sys.platform == "win32":
        _watch(lifeline, end=server.terminate)
    else:
        # The command may be a script that has started the server; all are in one process group.
        signal.signal(signal.SIGTERM, lambda *_: None)
        _watch(lifeline, end=partial(os.killpg, 0, signal.SIGTERM))
    return server.wait()


def _load_package() -> None:
    """Import the package of this file, whatever else has its name."""
    spec = PathFinder.find_spec(_PACKAGE, [str(Path(__file__).resolve().parents[2])])
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(_PACKAGE)
    module = sys.modules[_PACKAGE] = module_from_spec(spec)
    spec.loader.exec_module(module)


def _watch(lifeline: socket.socket, *, end: Callable[[], object]) -> None:
    """End the server, from a thread, when the lifeline is no longer needed."""

    def watch() -> None:
        if sys.platform != "win32":
            # The main thread handles signals.
            signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM, signal.SIGINT))
        with lifeline:
            wait_until_released(lifeline, max_first_connect_s=MAX_FIRST_CONNECT_S)
        # After closing it: a process that connects now is refused, and starts another server.
        end()

    Thread(target=watch, name="lifeline", daemon=True).start()


def wait_until_released(lifeline: socket.socket, *, max_first_connect_s: float) -> None:
    """Return when the last connection has closed, or when no process ever connects."""
    holders: set[socket.socket] = set()
    timeout_s: float | None = max_first_connect_s
    with selectors.DefaultSelector() as selector:
        selector.register(lifeline, selectors.EVENT_READ)
        while events := selector.select(timeout_s):
            timeout_s = None
            for key, _ in events:
                if key.fileobj is lifeline:
                    holder, _ = lifeline.accept()
                    if _is_welcomed(holder):
                        selector.register(holder, selectors.EVENT_READ, holder)
                        holders.add(holder)
                elif _has_closed(key.data):
                    selector.unregister(key.data)
                    key.data.close()
                    holders.discard(key.data)
            if not holders:
                return


def _is_welcomed(holder: socket.socket) -> bool:
    try:
        holder.sendall(WELCOME)
    except OSError:
        holder.close()
        return False
    return True


def _has_closed(holder: socket.socket) -> bool:
    try:
        return not holder.recv(1)
    except OSError:
        return True


if __name__ == "__main__":
    main()
