"""The process of the server that tests start: it serves as long as one of them holds on to it.

It is run as a file, because whoever asks for a module `emulator` may get somebody else's. The first
line that it prints names the port of its lifeline: each test process keeps a connection to it, and
when the last one is gone, however that came, the server ends. The rest is as `serve` prints it.
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

# What is sent to whoever holds on in time: from then on the server stays for them.
WELCOME = b"+"
# How long the first one, who started this, may take for it.
FIRST_HOLD_S = 60

_PACKAGE = "emulator"


def main() -> None:
    lifeline = socket.create_server(("127.0.0.1", 0))
    sys.stdout.write(f"lifeline {lifeline.getsockname()[1]}\n")
    sys.stdout.flush()
    Thread(target=_end_when_let_go, args=(lifeline,), name="lifeline", daemon=True).start()
    _load_package()
    import_module(f"{_PACKAGE}.cli").main()


def _load_package() -> None:
    """Make the package that this file belongs to the one of its name."""
    spec = PathFinder.find_spec(_PACKAGE, [str(Path(__file__).resolve().parents[2])])
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(_PACKAGE)
    module = sys.modules[_PACKAGE] = module_from_spec(spec)
    spec.loader.exec_module(module)


def _end_when_let_go(lifeline: socket.socket) -> None:
    if sys.platform != "win32":
        # The main thread takes the signals, as it does without this one.
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM, signal.SIGINT))
    with lifeline, selectors.DefaultSelector() as selector:
        selector.register(lifeline, selectors.EVENT_READ)
        _watch(lifeline, selector, first_hold_s=FIRST_HOLD_S)
    # Only now: to who comes late nobody listens, and they start another server.
    os.kill(os.getpid(), signal.SIGTERM)


def _watch(
    lifeline: socket.socket, selector: selectors.BaseSelector, *, first_hold_s: float
) -> None:
    """Return when the last of those who have held on lets go, or when nobody ever does."""
    held: set[socket.socket] = set()
    limit_s: float | None = first_hold_s
    while events := selector.select(limit_s):
        limit_s = None
        for key, _ in events:
            if key.fileobj is lifeline:
                holder, _ = lifeline.accept()
                if _is_welcomed(holder):
                    selector.register(holder, selectors.EVENT_READ, holder)
                    held.add(holder)
            elif _has_let_go(key.data):
                selector.unregister(key.data)
                key.data.close()
                held.discard(key.data)
        if not held:
            return


def _is_welcomed(holder: socket.socket) -> bool:
    try:
        holder.sendall(WELCOME)
    except OSError:
        holder.close()
        return False
    return True


def _has_let_go(holder: socket.socket) -> bool:
    try:
        return not holder.recv(1)
    except OSError:
        return True


if __name__ == "__main__":
    main()
