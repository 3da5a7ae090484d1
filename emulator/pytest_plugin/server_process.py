"""Runs `serve` in its own process, until the last test process has closed its lifeline.

It is run as a file, because `emulator` may be the name of a merchant's package. The first line that
it prints is the port of the lifeline; each test process holds a connection to it, which also closes
when that process is killed. The other lines are those of `serve`.
"""

import os
import selectors
import signal
import socket
import sys
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


def main() -> None:
    lifeline = socket.create_server(("127.0.0.1", 0))
    sys.stdout.write(f"lifeline {lifeline.getsockname()[1]}\n")
    sys.stdout.flush()
    Thread(target=_watch, args=(lifeline,), name="lifeline", daemon=True).start()
    _load_package()
    import_module(f"{_PACKAGE}.cli").main()


def _load_package() -> None:
    """Import the package of this file, whatever else has its name."""
    spec = PathFinder.find_spec(_PACKAGE, [str(Path(__file__).resolve().parents[2])])
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(_PACKAGE)
    module = sys.modules[_PACKAGE] = module_from_spec(spec)
    spec.loader.exec_module(module)


def _watch(lifeline: socket.socket) -> None:
    """End this process when the lifeline is no longer needed."""
    if sys.platform != "win32":
        # The main thread handles signals.
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM, signal.SIGINT))
    with lifeline:
        wait_until_released(lifeline, max_first_connect_s=MAX_FIRST_CONNECT_S)
    # After closing it: a process that connects now is refused, and starts another server.
    os.kill(os.getpid(), signal.SIGTERM)


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
