"""What a connection may carry: clients that are many, slow, broken or hostile."""

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


def raw(server: Server, sent: bytes) -> bytes:
    """What comes back for some bytes, until the server hangs up."""
    with socket.create_connection(("127.0.0.1", server.api_port), HANGS_AFTER_S) as client:
        client.sendall(sent)
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
    """The next client is served, and nothing was complained about in the log."""
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
    body = order(idempotency_key="everybody's")
    with ThreadPoolExecutor(CLIENTS) as clients:
        answers = list(
            clients.map(lambda _: server.request("POST", "/v1/payments", body), range(CLIENTS))
        )
    assert {answer.status for answer in answers} == {201}
    assert len({answer.body for answer in answers}) == 1
    replayed = [answer for answer in answers if "idempotent-replayed" in answer.headers]
    assert len(replayed) == CLIENTS - 1


@pytest.mark.parametrize(
    "half",
    [
        b"POST /v1/pay",
        b"POST /v1/payments HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthor",
        create_request(b'{"amount":', length=1_000),
    ],
    ids=["in the request line", "in a header", "in the body"],
)
def test_a_client_that_sends_half_a_request_keeps_nobody_waiting(
    server: Server, half: bytes
) -> None:
    address = ("127.0.0.1", server.api_port)
    with socket.create_connection(address, HANGS_AFTER_S) as waiting:
        waiting.sendall(half)
        assert_unharmed(server)
    assert_unharmed(server)


@pytest.mark.clause("1.3", "7.1")
@pytest.mark.parametrize(
    "nonsense",
    [
        b"\x00\x01\x02\x03\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /v1/payments HTTP/9.9\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n",
        b"POST /v1/payments HTTP/1.1\r\nContent-Length: many\r\n\r\n",
        b"POST /v1/payments HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST /v1/payments HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nXYZ\r\n",
    ],
    ids=["bytes", "no path", "version", "path", "length", "two lengths", "chunk"],
)
def test_what_is_no_http_is_answered_400_in_the_contract_s_form(
    server: Server, nonsense: bytes
) -> None:
    """Contract, section 7: every error response has the error object."""
    answer = raw(server, nonsense)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert json.loads(body)["error"]["code"] == "invalid_request_body"
    assert_unharmed(server)


@pytest.mark.parametrize("path", ["/v1/payments?note=ሰላም", "/v1/payments?note=a b"])
def test_an_address_that_is_not_percent_encoded_is_said_to_be_so(server: Server, path: str) -> None:
    answer = raw(server, f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
    assert b"The address has characters that must be percent-encoded." in answer


def test_a_body_that_is_declared_huge_is_refused_before_it_is_sent(server: Server) -> None:
    answer = raw(server, create_request(b"", length=10_000_000_000))
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"request_too_large" in answer


def test_a_chunked_body_is_refused_once_it_is_too_large(server: Server) -> None:
    head = create_request(b"").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    answer = raw(server, head + chunk * 5 + b"0\r\n\r\n")
    assert b"request_too_large" in answer
    assert_unharmed(server)


def test_requests_that_are_pipelined_are_answered_in_order(server: Server) -> None:
    bodies = [json.dumps(order(amount=amount)).encode() for amount in (101, 102, 103)]
    first, second = (create_request(body, more="") for body in bodies[:2])
    answer = raw(server, first + second + create_request(bodies[2]))
    amounts = [part.split(b",")[0] for part in answer.split(b'"amount":')[1:]]
    assert amounts == [b"101", b"102", b"103"]


def test_a_client_that_expects_100_is_told_to_continue(server: Server) -> None:
    body = json.dumps(order()).encode()
    more = "Expect: 100-continue\r\nConnection: close\r\n"
    answer = raw(server, create_request(body, more=more))
    assert answer.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\n")


def test_a_head_request_is_answered_without_a_body(server: Server) -> None:
    sent = b"HEAD /_emulator/health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    answer = raw(server, sent)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.endswith(b"\r\n\r\n")


def test_a_verb_that_http_does_not_know_is_an_unknown_route(server: Server) -> None:
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
            held.enter_context(socket.create_connection(address, HANGS_AFTER_S))
        # It is answered when the connections before it have been accepted, or cannot be.
        assert ask(connection, "GET", "/_emulator/health").status == 200
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
