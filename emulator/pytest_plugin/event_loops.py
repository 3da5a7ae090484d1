"""Finds the servers whose event loop cannot run while a thread waits."""

import asyncio
import gc
import socket
from collections.abc import Iterator
from typing import Any


def runs_event_loop() -> bool:
    """Whether this thread runs an event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def blocked_ports() -> set[int]:
    """The ports of servers whose event loop this thread runs, or no thread.

    Such a server cannot respond while this thread waits. No function of asyncio lists the servers
    of a loop, so that all objects are searched, for about 10 ms.
    """
    running = asyncio.get_running_loop() if runs_event_loop() else None
    return {
        listener.getsockname()[1]
        for server in _servers()
        if (loop := server.get_loop()) is running or not loop.is_running()
        for listener in server.sockets
        if listener.family in (socket.AF_INET, socket.AF_INET6)
    }


def _servers() -> Iterator[Any]:
    """The servers of asyncio and of uvloop, whose class has another base.

    Only attributes of types are read: a proxy would load the object that it stands for.
    """
    for value in gc.get_objects():
        kind = type(value)
        if kind.__name__ == "Server" and hasattr(kind, "get_loop") and hasattr(kind, "sockets"):
            yield value
