"""Blocking client: its connections, and when a later request uses them again."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from emulator.http.blocking_client import BlockingEmulator, IdleConnections
from emulator.http.emulator_calls import EmulatorCall, any_json
from tests.cli.invocation import running
from tests.cli.processes import HANGS_AFTER_S


class Handler(BaseHTTPRequestHandler):
    """Sends the path back; closes the connection after `/last`, and in place of a late response."""

    protocol_version = "HTTP/1.1"
    ports: list[int]

    def do_GET(self) -> None:
        self.ports.append(self.client_address[1])
        if self.path == "/late" and self.client_address[1] == self.ports[0]:
            self.close_connection = True
            return
        self.send_response(200)
        self.send_header("content-length", str(len(self.path)))
        self.end_headers()
        self.wfile.write(self.path.encode())
        self.close_connection = self.path == "/last"

    do_POST = do_GET  # noqa: N815 - the library's name

    def log_message(self, *_: object) -> None:
        pass


def get(path: str) -> EmulatorCall[Any]:
    return EmulatorCall("GET", path, any_json)


def post(path: str) -> EmulatorCall[Any]:
    return EmulatorCall("POST", path, any_json)


@contextmanager
def serving() -> Iterator[tuple[str, list[int]]]:
    """The URL of a server, and the port of the client of each request."""
    ports: list[int] = []
    handler = type("CountingHandler", (Handler,), {"ports": ports})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    with running(server) as url:
        yield url, ports


@pytest.mark.parametrize(("paths", "expected"), [(("/a", "/b"), 1), (("/last", "/b"), 2)])
def test_a_kept_connection_is_used_again_until_the_server_closes_it(
    paths: tuple[str, str], expected: int
) -> None:
    with serving() as (url, ports), closing(IdleConnections()) as kept:
        for path in paths:
            emulator = BlockingEmulator(
                base_url=url, timeout_s=HANGS_AFTER_S, idle_connections=kept
            )
            assert emulator.send(get(path)).body == path.encode()
        assert len(set(ports)) == expected


def test_a_response_that_is_not_read_to_its_end_ends_its_connection() -> None:
    with serving() as (url, ports), closing(IdleConnections()) as kept:
        for _ in range(2):
            emulator = BlockingEmulator(
                base_url=url, timeout_s=HANGS_AFTER_S, idle_connections=kept, max_bytes=1
            )
            assert emulator.send(get("/a")).body == b"/"
        assert len(set(ports)) == 2


def test_only_a_get_is_sent_again_when_the_server_closes_a_kept_connection() -> None:
    for call, requests in ((get("/late"), 3), (post("/late"), 2)):
        with serving() as (url, ports), closing(IdleConnections()) as kept:
            emulator = BlockingEmulator(base_url=url, timeout_s=5, idle_connections=kept)
            emulator.send(get("/a"))
            response = emulator.send(call)
            assert len(ports) == requests
            if call.method == "GET":
                assert response.body == b"/late"
            else:
                assert response.failure == "connection closed without a response"


def test_a_server_that_has_ended_is_a_failure_on_a_kept_connection_too() -> None:
    with closing(IdleConnections()) as kept:
        with serving() as (url, _):
            emulator = BlockingEmulator(
                base_url=url, timeout_s=HANGS_AFTER_S, idle_connections=kept
            )
            emulator.send(get("/last"))
        assert emulator.send(get("/last")).failure == "connection refused"


@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        (b"", "connection closed without a response"),
        (b"SSH-2.0-OpenSSH\r\n", "the response was not HTTP"),
        (None, "timed out after 0.01 s"),
    ],
)
def test_a_missing_response_is_explained_with_the_log(answer: bytes | None, failure: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening, ExitStack() as stack:

        def respond() -> None:
            connection, _ = listening.accept()
            stack.callback(connection.close)
            connection.recv(65_536)
            if answer is not None:
                connection.sendall(answer)
                connection.close()

        thread = Thread(target=respond)
        thread.start()
        stack.callback(thread.join)
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        timeout_s = HANGS_AFTER_S if answer is not None else 0.01
        emulator = BlockingEmulator(base_url=url, timeout_s=timeout_s, log=Path("serve.log"))
        assert emulator.send(get("/")).failure == f"{failure}; see its log serve.log"
