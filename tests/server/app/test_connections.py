"""Clients that are many, slow, broken or hostile, over real sockets."""

import json
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import pytest

from emulator.server.app.server import listener
from tests.cli.processes import COMMAND, HANGS_AFTER_S, Server, ask, serving
from tests.world import TEST_KEY, order

CLIENTS = 64
PAYMENTS_EACH = 10
MAX_LOOKS = 1_000


def connected(server: Server) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.api_port), HANGS_AFTER_S)


def raw(server: Server, sent: bytes) -> bytes:
    """The bytes that the server returns before it closes the connection."""
    with connected(server) as client:
        client.sendall(sent)
        received = b""
        while part := client.recv(65_536):
            received += part
        return received


def create_request(body: bytes, *, length: int | None = None, more: str = "") -> bytes:
    return (
        f"POST /v1/payments HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TEST_KEY}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {length or len(body)}\r\n"
        f"Connection: close\r\n{more}\r\n"
    ).encode() + body


def assert_unharmed(server: Server) -> None:
    """The next request succeeds, and the log has no error."""
    server.create()
    assert "Traceback" not in server.stderr
    assert " 500 " not in server.stderr


def test_64_clients_at_once_are_all_served(server: Server) -> None:
    def shop(_: int) -> set[str]:
        return {server.create()["id"] for _ in range(PAYMENTS_EACH)}

    with ThreadPoolExecutor(CLIENTS) as clients:
        ids = set().union(*clients.map(shop, range(CLIENTS)))
    assert len(ids) == CLIENTS * PAYMENTS_EACH
    assert_unharmed(server)


INCOMPLETE = [
    b"POST /v1/pay",
    b"POST /v1/payments HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthor",
    create_request(b'{"amount":', length=1_000),
]


def test_a_client_that_sends_half_a_request_blocks_no_other(server: Server) -> None:
    for half in INCOMPLETE:
        with connected(server) as waiting:
            waiting.sendall(half)
            assert_unharmed(server)
        assert_unharmed(server)


INVALID = {
    "bytes": b"\x00\x01\x02\x03\r\n\r\n",
    "version": b"GET /v1/payments HTTP/9.9\r\n\r\n",
    "path": b"GET /\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n",
    "method": b"FOO /v1/payments HTTP/1.1\r\nHost: x\r\n\r\n",
    "chunk": b"POST /v1/payments HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nXYZ\r\n",
}


@pytest.mark.clause("1.3", "4.0.6")
def test_bytes_that_are_no_http_get_400_from_uvicorn_and_harm_nobody(server: Server) -> None:
    """Design, section 4: what httptools refuses gets uvicorn's own 400, or is closed."""
    for name, sent in INVALID.items():
        received = raw(server, sent)
        assert received.count(b"HTTP/1.1 400 Bad Request") == 1, name
        assert b"connection: close" in received, name
    assert_unharmed(server)


def test_a_client_that_expects_100_gets_it_with_a_date_and_no_server_header(server: Server) -> None:
    body = json.dumps(order()).encode()
    answer = raw(server, create_request(body, more="Expect: 100-continue\r\n"))
    assert answer.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\n")
    assert b"\r\ndate: " in answer
    assert b"\r\nserver: " not in answer


LIMITED = ("sh", "-c", 'ulimit -n 64; exec "$0" "$@"', *COMMAND)


def hold_all_descriptors(server: Server, clients: ExitStack) -> None:
    for _ in range(80):
        last = clients.enter_context(connected(server))
    assert last.recv(1) == b"", "the server has no descriptor left for it, and closes it"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit of open files")
def test_calls_are_answered_and_a_signal_ends_it_while_no_file_can_be_opened(
    tmp_path: Path,
) -> None:
    with serving(logs=tmp_path, command=LIMITED) as server, ExitStack() as clients:
        connection = clients.enter_context(closing(server.connection()))
        assert ask(connection, "GET", "/_emulator/health").status == 200
        pages = clients.enter_context(closing(server.connection(server.checkout_port)))
        pages.connect()
        held = clients.enter_context(ExitStack())
        hold_all_descriptors(server, held)
        calls = [
            ("/_emulator/clock/advance", {"seconds": 1}),
            ("/_emulator/webhook_endpoints", {"url": "http://127.0.0.1:1/"}),
        ]
        for path, body in calls:
            answer = ask(connection, "POST", path, body)
            assert answer.status == 500
            assert answer.json["error"]["code"] == "internal_error"
        assert ask(connection, "POST", "/v1/payments", order()).status == 201
        # The pages' templates have not been loaded yet.
        assert ask(pages, "GET", "/c/token").status == 500
        held.close()
        for path, body in calls:
            # The server closes its sides of those connections in its own time.
            looks = (ask(connection, "POST", path, body).status for _ in range(MAX_LOOKS))
            assert next(status for status in looks if status != 500) in (200, 201)
        hold_all_descriptors(server, clients)
        assert server.stop() == 0
        assert "Too many open files" in server.stderr
        assert "Traceback" not in server.stderr


def test_variables_and_headers_for_uvicorn_change_nothing(tmp_path: Path) -> None:
    variables = {"WEB_CONCURRENCY": "two", "FORWARDED_ALLOW_IPS": "*", "UVICORN_RELOAD": "1"}
    forwarded = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.7", "Host": "localhost"}
    with serving(logs=tmp_path, variables=variables) as server:
        with closing(server.connection()) as connection:
            connection.request("GET", "/", headers=forwarded)
            index = json.loads(connection.getresponse().read())
        assert index["api"] == "http://localhost/v1"
        rule = {"when": {}, "then": {"drop": True}, "times": 1}
        assert server.request("POST", "/_emulator/faults", rule).status == 201
        cut = b"GET /v1/payments HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 192.0.2.7\r\n"
        with suppress(ConnectionResetError):
            assert raw(server, cut + f"Authorization: Bearer {TEST_KEY}\r\n\r\n".encode()) == b""
        assert_unharmed(server)


def test_a_listener_has_the_protocol_with_which_asyncio_delays_no_response() -> None:
    with listener("127.0.0.1", 0, option="--port") as bound:
        assert bound.proto == socket.IPPROTO_TCP
