"""Clients that are many, slow, broken or hostile, over real sockets."""

import json
import socket
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from tests.cli.processes import COMMAND, HANGS_AFTER_S, Server, ask, serving
from tests.world import TEST_KEY, order

CLIENTS = 64
PAYMENTS_EACH = 10
MAX_LOOKS = 1_000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(logs=tmp_path_factory.mktemp("server")) as server:
        yield server


def raw(server: Server, sent: bytes, *, port: int = 0, ends_its_side: bool = False) -> bytes:
    """The bytes that the server returns before it closes the connection."""
    address = ("127.0.0.1", port or server.api_port)
    with socket.create_connection(address, HANGS_AFTER_S) as client:
        client.sendall(sent)
        if ends_its_side:
            client.shutdown(socket.SHUT_WR)
        received = b""
        while part := client.recv(65_536):
            received += part
        return received


def create_request(
    body: bytes, *, length: int | None = None, more: str = "Connection: close\r\n"
) -> bytes:
    return (
        f"POST /v1/payments HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TEST_KEY}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {length or len(body)}\r\n{more}\r\n"
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


def test_64_clients_with_one_idempotency_key_get_one_payment(server: Server) -> None:
    body = order(idempotency_key="shared")
    with ThreadPoolExecutor(CLIENTS) as clients:
        answers = list(
            clients.map(lambda _: server.request("POST", "/v1/payments", body), range(CLIENTS))
        )
    assert {answer.status for answer in answers} == {201}
    assert len({answer.body for answer in answers}) == 1
    replayed = [answer for answer in answers if "idempotent-replayed" in answer.headers]
    assert len(replayed) == CLIENTS - 1


INCOMPLETE = [
    b"POST /v1/pay",
    b"POST /v1/payments HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthor",
    create_request(b'{"amount":', length=1_000),
]


def test_a_client_that_sends_half_a_request_blocks_no_other(server: Server) -> None:
    for half in INCOMPLETE:
        address = ("127.0.0.1", server.api_port)
        with socket.create_connection(address, HANGS_AFTER_S) as waiting:
            waiting.sendall(half)
            assert_unharmed(server)
        assert_unharmed(server)


INVALID = {
    "bytes": b"\x00\x01\x02\x03\r\n\r\n",
    "no path": b"GET\r\n\r\n",
    "version": b"GET /v1/payments HTTP/9.9\r\n\r\n",
    "path": b"GET /\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n",
    "length": b"POST /v1/payments HTTP/1.1\r\nContent-Length: many\r\n\r\n",
    "two lengths": b"POST /v1/payments HTTP/1.1\r\nContent-Length: 5\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n",
    "chunk": b"POST /v1/payments HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nXYZ\r\n",
}


@pytest.mark.clause("1.3", "7.1")
def test_invalid_http_gets_400_in_the_contract_s_form(server: Server) -> None:
    """Contract, section 7: every error response has the error object."""
    for name, sent in INVALID.items():
        head, _, body = raw(server, sent).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 400 "), name
        assert json.loads(body)["error"]["code"] == "invalid_request_body", name
    assert_unharmed(server)


@pytest.mark.clause("4.0.6")
def test_an_address_without_percent_encoding_is_explained(server: Server) -> None:
    for path in ("/v1/payments?note=ሰላም", "/v1/payments?note=a b"):
        answer = raw(server, f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        assert b"The address has characters that must be percent-encoded." in answer, path


def test_a_body_that_is_declared_huge_is_refused_before_it_is_sent(server: Server) -> None:
    answer = raw(server, create_request(b"", length=10_000_000_000))
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"request_too_large" in answer


def test_a_client_that_expects_100_gets_100_continue(server: Server) -> None:
    body = json.dumps(order()).encode()
    more = "Expect: 100-continue\r\nConnection: close\r\n"
    answer = raw(server, create_request(body, more=more))
    assert answer.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\n")


def test_a_head_request_is_answered_without_a_body(server: Server) -> None:
    sent = b"HEAD /_emulator/health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    answer = raw(server, sent)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.endswith(b"\r\n\r\n")


def test_a_client_that_still_sends_gets_the_last_response(server: Server) -> None:
    """A server that closes at once resets the connection, and the response is lost."""
    sent = b"GET /_emulator/health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    for _ in range(20):
        assert raw(server, sent + bytes(1_000_000)).startswith(b"HTTP/1.1 200 ")


def test_a_client_that_ends_its_side_gets_its_responses(server: Server) -> None:
    calls = [
        (server.api_port, "POST /_emulator/clock/advance", 200),
        (server.api_port, "GET /_emulator/", 200),
        (server.api_port, "GET /v1/payments", 401),
        (server.checkout_port, "GET /c/none", 404),
    ]
    for port, line, status in calls:
        body = b'{"seconds":0}' if line.startswith("POST") else b""
        head = f"{line} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        sent = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
        answer = raw(server, sent * 2, port=port, ends_its_side=True)
        assert answer.count(b"HTTP/1.1 %d " % status) == 2, line


def test_a_method_that_http_does_not_know_is_an_unknown_route(server: Server) -> None:
    """Design, section 4: unknown route or verb: 404."""
    answer = raw(server, b"FOO /v1/payments HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 404 ")
    assert b"route_not_found" in answer
    assert b"request-id: req_" in answer


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit of this kind")
def test_calls_are_answered_while_no_file_can_be_opened(tmp_path: Path) -> None:
    limited = ("sh", "-c", 'ulimit -n 64; exec "$0" "$@"', *COMMAND)
    with serving(logs=tmp_path, command=limited) as server, ExitStack() as clients:
        connection = clients.enter_context(closing(server.connection()))
        assert ask(connection, "GET", "/_emulator/health").status == 200
        pages = clients.enter_context(closing(server.connection(server.checkout_port)))
        pages.connect()
        held = clients.enter_context(ExitStack())
        for _ in range(80):
            address = ("127.0.0.1", server.api_port)
            last = held.enter_context(socket.create_connection(address, HANGS_AFTER_S))
        assert last.recv(1) == b"", "the server has no descriptor left for it, and closes it"
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
        assert server.stop() == 0
        assert "Too many open files" in server.stderr
        assert "Traceback" not in server.stderr
