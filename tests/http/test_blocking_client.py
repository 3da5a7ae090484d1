"""Blocking client: its connections, and when a later request uses them again."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from emulator.http.blocking_client import BlockingRequest, IdleConnections


class Handler(BaseHTTPRequestHandler):
    """Sends the path back; closes the connection without a word after `/last`."""

    protocol_version = "HTTP/1.1"
    ports: set[int]

    def do_GET(self) -> None:
        self.ports.add(self.client_address[1])
        self.send_response(200)
        self.send_header("content-length", str(len(self.path)))
        self.end_headers()
        self.wfile.write(self.path.encode())
        self.close_connection = self.path == "/last"

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving() -> Iterator[tuple[str, set[int]]]:
    """The URL of a server, and the ports of its clients."""
    ports: set[int] = set()
    handler = type("CountingHandler", (Handler,), {"ports": ports})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", ports
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(("paths", "expected"), [(("/a", "/b"), 1), (("/last", "/b"), 2)])
def test_a_kept_connection_is_used_again_until_the_server_closes_it(
    paths: tuple[str, str], expected: int
) -> None:
    with serving() as (url, ports), closing(IdleConnections()) as kept:
        for path in paths:
            request = BlockingRequest(
                base_url=url, path=path, timeout_s=5, idle_connections=kept, max_bytes=None
            )
            assert request.send().body == path.encode()
        assert len(ports) == expected


def test_a_response_that_is_not_read_to_its_end_ends_its_connection() -> None:
    with serving() as (url, ports), closing(IdleConnections()) as kept:
        for _ in range(2):
            request = BlockingRequest(
                base_url=url, path="/a", timeout_s=5, idle_connections=kept, max_bytes=1
            )
            assert request.send().body == b"/"
        assert len(ports) == 2


def test_a_server_that_has_ended_is_a_failure_on_a_kept_connection_too() -> None:
    with closing(IdleConnections()) as kept:
        with serving() as (url, _):
            request = BlockingRequest(
                base_url=url, path="/last", timeout_s=5, idle_connections=kept
            )
            request.send()
        assert request.send().failure == "connection refused"
