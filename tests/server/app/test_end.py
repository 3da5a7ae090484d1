"""SIGTERM ends the server within its time, whatever its clients wait for, and with a clean log."""

import json
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.cli.processes import HANGS_AFTER_S, Server, serving, wait_for
from tests.cli.test_stop import HEADERS, SIGNALS, received_until, sent
from tests.depth import usually
from tests.world import order

BODY = json.dumps(order())
# A scenario leaves this customer's payment in processing until the customer answers.
HANDSET = "0911223344"
UNREAD_BYTES = 4_096


def get(path: str) -> str:
    return f"GET {path} HTTP/1.1\r\n{HEADERS}\r\n"


def post(path: str, body: str) -> str:
    return f"POST {path} HTTP/1.1\r\n{HEADERS}Content-Length: {len(body)}\r\n\r\n{body}"


def control(server: Server, path: str, body: Any) -> Any:
    answer = server.request("POST", f"/_emulator{path}", body)
    assert answer.status in {200, 201}, answer.body
    return answer.json


@contextmanager
def faulty(server: Server, request: str, then: dict[str, str], sent_request: str) -> Iterator[None]:
    """A request whose response a fault delays."""
    control(server, "/faults", {"when": {"request": request}, "then": then, "times": 1})
    with sent(server, sent_request) as client:

        def is_used() -> bool:
            faults = server.request("GET", "/_emulator/faults").json["data"]
            return all(fault["used"] for fault in faults)

        wait_for(server.process, is_used)
        client.setblocking(False)
        with pytest.raises(BlockingIOError):
            client.recv(1)
        yield


@contextmanager
def silent_receiver(server: Server) -> Iterator[socket.socket]:
    """An endpoint that accepts connections and never responds."""
    with socket.create_server(("127.0.0.1", 0)) as receiver:
        url = f"http://127.0.0.1:{receiver.getsockname()[1]}/"
        control(server, "/webhook_endpoints", {"url": url})
        yield receiver


@contextmanager
def a_stream(server: Server) -> Iterator[None]:
    with socket.create_connection(("127.0.0.1", server.api_port), HANGS_AFTER_S) as client:
        client.sendall(get("/_emulator/stream").encode())
        received_until(client, b"\n\n\r\n")
        yield


@contextmanager
def a_wait(server: Server) -> Iterator[None]:
    payment = server.create()["id"]
    with sent(server, get(f"/_emulator/payments/{payment}/wait?status=completed&timeout=60")):
        yield


@contextmanager
def a_held_response(server: Server) -> Iterator[None]:
    payment = server.create()["id"]
    customer = {"method": "telebirr", "phone": HANDSET}
    assert control(server, f"/payments/{payment}/pay", customer)["status"] == "processing"
    path = f"/v1/payments/{payment}"
    with (
        silent_receiver(server),
        faulty(server, "retrieve_payment", {"hold": "delivery"}, get(path)),
    ):
        yield


@contextmanager
def a_latency(server: Server) -> Iterator[None]:
    create = post("/v1/payments", BODY)
    with faulty(server, "create_payment", {"latency": "5m"}, create):
        yield


@contextmanager
def an_advance(server: Server) -> Iterator[None]:
    """It waits for the response to a webhook, whose receiver never sends one."""
    with silent_receiver(server) as receiver:
        server.create()
        with receiver.accept()[0] as attempt:
            assert attempt.recv(4) == b"POST"
            with sent(server, post("/_emulator/clock/advance", '{"seconds": 60}')):
                yield


@contextmanager
def unread_responses(server: Server) -> Iterator[None]:
    for _ in range(50):
        server.create()
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, UNREAD_BYTES)
        client.settimeout(HANGS_AFTER_S)
        client.connect(("127.0.0.1", server.api_port))
        client.sendall(get("/v1/payments?limit=50").encode() * 60)
        assert client.recv(9) == b"HTTP/1.1 "
        yield


@contextmanager
def pipelined_requests(server: Server) -> Iterator[None]:
    """Creates, sent and read without end."""
    requests = post("/v1/payments", BODY).encode() * 30
    responded = threading.Event()

    def send() -> None:
        with (
            suppress(OSError),
            socket.create_connection(("127.0.0.1", server.api_port), HANGS_AFTER_S) as client,
        ):
            client.sendall(requests * 2)
            while received := client.recv(65_536):
                responded.set()
                if received.count(b"HTTP/1.1 201"):
                    client.sendall(requests[: len(requests) // 30])

    sender = threading.Thread(target=send)
    sender.start()
    try:
        assert responded.wait(HANGS_AFTER_S)
        yield
    finally:
        server.kill()
        sender.join(HANGS_AFTER_S)


Opened = Callable[[Server], AbstractContextManager[None]]
OPEN: tuple[Opened, ...] = (
    *(a_stream, a_wait, a_held_response, a_latency, an_advance),
    *(unread_responses, pipelined_requests),
)
EVERYTHING = {"everything": OPEN}
OPENED = usually(EVERYTHING, deep={**{each.__name__: (each,) for each in OPEN}, **EVERYTHING})


@pytest.mark.sampled
@pytest.mark.parametrize("times", [1, 2], ids=["once", "twice"])
@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("name", OPENED)
def test_open_requests_do_not_delay_the_end(
    name: str, number: signal.Signals, times: int, tmp_path: Path
) -> None:
    options = ("--log-format", "json", "--clock", "frozen")
    with serving(*options, logs=tmp_path) as server, ExitStack() as stack:
        for opened in OPENED[name]:
            stack.enter_context(opened(server))
        for _ in range(times):
            server.process.send_signal(number)
        assert server.process.wait(HANGS_AFTER_S) == 0, server.stderr
        requests = [json.loads(line) for line in server.stderr.splitlines()]
        assert [line for line in requests if "request_id" not in line] == []
