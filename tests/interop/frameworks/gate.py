"""A server between a shop and the emulator, which holds the shop's requests until it is opened."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.cli.invocation import running
from tests.cli.processes import HANGS_AFTER_S, Server


class Gate:
    """Holds each request until `open` is called, and then forwards it."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._is_open = threading.Event()
        gate = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                gate.forward(self)

            def log_message(self, *_: object) -> None:
                pass

        self.listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.listener.server_port}"

    def open(self) -> None:
        self._is_open.set()

    def forward(self, handler: BaseHTTPRequestHandler) -> None:
        self._is_open.wait(HANGS_AFTER_S)
        key = handler.headers["Authorization"].removeprefix("Bearer ")
        answer = self._server.request("GET", handler.path, key=key)
        handler.send_response(answer.status)
        handler.send_header("Content-Type", answer.headers["content-type"])
        handler.send_header("Content-Length", str(len(answer.body)))
        handler.end_headers()
        handler.wfile.write(answer.body)


@contextmanager
def gate_before(server: Server) -> Iterator[Gate]:
    """A closed gate."""
    gate = Gate(server)
    with running(gate.listener):
        try:
            yield gate
        finally:
            gate.open()
