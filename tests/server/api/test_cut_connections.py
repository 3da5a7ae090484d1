"""The effects of faults on a client with a real socket."""

import http.client
import json
import socket
from contextlib import suppress
from typing import Any

import httpx
import pytest

from tests.cli.processes import Server
from tests.server.app.test_connections import create_request, raw
from tests.world import headers, order


@pytest.fixture
def server(server: Server) -> Server:
    assert server.request("POST", "/_emulator/reset").status == 204
    return server


def fail(server: Server, then: Any, **more: Any) -> None:
    rule = {"when": {"request": "create_payment"}, "then": then, "times": 1, **more}
    assert server.request("POST", "/_emulator/faults", rule).status == 201


def create(server: Server) -> httpx.Response:
    url = f"http://127.0.0.1:{server.api_port}/v1/payments"
    return httpx.post(url, json=order(idempotency_key="once"), headers=headers(), trust_env=False)


def ids(server: Server) -> list[str]:
    listed = server.request("GET", "/v1/payments").json
    return [payment["id"] for payment in listed["data"]]


def assert_the_retry_is_the_replay(server: Server) -> None:
    (made,) = ids(server)
    again = create(server)
    assert again.status_code == 201
    assert again.headers["idempotent-replayed"] == "true"
    assert again.json()["id"] == made
    assert ids(server) == [made]


def test_a_connection_that_is_cut_before_the_commit_leaves_nothing(server: Server) -> None:
    fail(server, {"drop": True})
    with pytest.raises(httpx.TransportError):
        create(server)
    assert ids(server) == []
    assert "idempotent-replayed" not in create(server).headers


def test_a_connection_that_is_cut_after_the_commit_loses_the_answer_alone(server: Server) -> None:
    fail(server, {"drop": True, "point": "after_commit"})
    with pytest.raises(httpx.TransportError):
        create(server)
    assert_the_retry_is_the_replay(server)


def test_no_byte_arrives_over_a_connection_that_is_cut(server: Server) -> None:
    fail(server, {"drop": True})
    with suppress(ConnectionResetError):  # the other way to learn of it
        assert raw(server, create_request(json.dumps(order()).encode())) == b""


def test_a_truncated_body_is_half_of_its_content_length(server: Server) -> None:
    fail(server, {"truncate": True})
    connection = server.connection()
    connection.request(
        "POST",
        "/v1/payments",
        json.dumps(order(idempotency_key="once")),
        {**headers(), "Content-Type": "application/json"},
    )
    response = connection.getresponse()
    assert response.status == 201
    with pytest.raises(http.client.IncompleteRead) as cut:
        response.read()
    part = cut.value.partial
    assert len(part) == int(response.headers["Content-Length"]) // 2
    assert part.startswith(b'{"id":"pay_')
    connection.close()
    assert_the_retry_is_the_replay(server)


def test_an_error_body_can_be_truncated_too(server: Server) -> None:
    fail(server, {"status": 500, "truncate": True})
    with pytest.raises(httpx.RemoteProtocolError):
        create(server)
    assert ids(server) == []


def test_other_connections_live_on_and_the_next_request_is_answered(server: Server) -> None:
    other = server.connection()
    other.request("GET", "/v1/payments", headers=headers())
    assert other.getresponse().read()
    fail(server, {"drop": True})
    with pytest.raises(httpx.TransportError):
        create(server)
    other.request("GET", "/v1/payments", headers=headers())
    assert other.getresponse().status == 200
    other.close()
    assert "Traceback" not in server.stderr
    assert "ASGI" not in server.stderr


def test_a_latency_keeps_a_client_waiting_past_its_own_time_out(server: Server) -> None:
    fail(server, {"latency": "5m", "point": "after_commit"})
    with socket.create_connection(("127.0.0.1", server.api_port)) as client:
        client.sendall(create_request(json.dumps(order(idempotency_key="once")).encode()))
        client.settimeout(0.2)
        with pytest.raises(TimeoutError):
            client.recv(1)
    assert_the_retry_is_the_replay(server)


def test_a_429_on_the_wire_says_when_to_retry(server: Server) -> None:
    fail(server, {"status": 429, "retry_after": 2})
    response = create(server)
    assert (response.status_code, response.headers["retry-after"]) == (429, "2")
    assert create(server).status_code == 201
