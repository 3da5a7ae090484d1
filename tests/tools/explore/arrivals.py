"""Makes a race certain: a handler waits until requests sent at the same moment have checked, too.

Only the standard library is imported: a shop that runs as a program uses it.
"""

import select
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MAX_WAIT_S = 30


class Arrivals:
    """Counts the connections that have been opened and whose first request is not handled yet."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._backlog = select.poll()
        self._backlog.register(listener, select.POLLIN)
        self._changed = threading.Condition()
        self._count = 0
        self._thread = threading.local()

    def accept(self) -> tuple[socket.socket, Any]:
        with self._changed:
            accepted = self._listener.accept()
            self._count += 1
            return accepted

    def begin(self) -> None:
        """This thread handles a new connection."""
        self._thread.is_new = True

    def end(self) -> None:
        """The connection of this thread is not waited for any more."""
        if getattr(self._thread, "is_new", False):
            self._thread.is_new = False
            with self._changed:
                self._count -= 1
                self._changed.notify_all()

    def wait(self) -> None:
        """Return when the connections that have been opened until now are handled, or wait, too."""
        self.end()
        with self._changed:
            assert self._changed.wait_for(self._is_empty, MAX_WAIT_S)

    def _is_empty(self) -> bool:
        return self._count == 0 and not self._backlog.poll(0)


class ShopServer(ThreadingHTTPServer):
    """Listens on a free port, unless it has another one."""

    request_queue_size = 64
    daemon_threads = True

    def __init__(self, handler: type[BaseHTTPRequestHandler], port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), handler)
        self.arrivals = Arrivals(self.socket)

    def get_request(self) -> tuple[socket.socket, Any]:
        return self.arrivals.accept()

    def handle_error(self, *_: object) -> None:
        """A client that leaves is no error."""


class ShopHandler(BaseHTTPRequestHandler):
    """Requests of these paths are awaited until their handlers have checked, others are not."""

    server: ShopServer
    awaited_paths: tuple[str, ...] = ("/webhooks",)

    def setup(self) -> None:
        self.server.arrivals.begin()
        super().setup()

    def parse_request(self) -> bool:
        is_valid = super().parse_request()
        if is_valid and not self.path.startswith(self.awaited_paths):
            self.server.arrivals.end()
        return is_valid

    def handle_one_request(self) -> None:
        super().handle_one_request()
        self.server.arrivals.end()
