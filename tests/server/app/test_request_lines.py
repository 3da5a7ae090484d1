"""Request lines that are not accepted get the same response, in whichever packets they arrive."""

import json

import pytest

from emulator.server.app.connection import MAX_HEAD_MS
from tests.server.app.connection import Connection, connection
from tests.server.app.test_protocol import create, request
from tests.world import World, world

READ = request(b"", method="GET", framing="", target="/_emulator/health")
NOT_HTTP = "This is not an HTTP request."
AFTER_A_REQUEST = "The bytes after the previous request are not an HTTP request."
PERCENT = "The address has characters that must be percent-encoded."


def line(text: str) -> bytes:
    return f"{text}\r\nHost: 127.0.0.1\r\n\r\n".encode()


def other_protocol(name: str) -> str:
    return f"The protocol must be HTTP/1.1 or HTTP/1.0 (got {name})."


# The bytes of a client, the status, and the start of the message.
REFUSED: dict[str, tuple[bytes, int, str]] = {
    "unknown method": (line("FOO /v1/payments HTTP/1.1"), 404, "There is no FOO"),
    "unknown method in lower case": (line("get /v1/payments HTTP/1.1"), 404, "There is no get"),
    "method that begins as another": (line("GETS /v1 HTTP/1.0"), 404, "There is no GETS"),
    "method of another protocol": (line("DESCRIBE /v1 HTTP/1.1"), 404, "There is no DESCRIBE"),
    "long method": (line("F" * 33 + " / HTTP/1.1"), 400, NOT_HTTP),
    "HTTP/2 preface": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, other_protocol("HTTP/2.0")),
    "HTTP/2.0": (line("GET /v1/payments HTTP/2.0"), 400, other_protocol("HTTP/2.0")),
    "HTTP/0.9": (line("GET /v1/payments HTTP/0.9"), 400, other_protocol("HTTP/0.9")),
    "HTTP/9.9": (line("GET /v1/payments HTTP/9.9"), 400, other_protocol("HTTP/9.9")),
    "RTSP": (line("GET /v1/payments RTSP/1.0"), 400, other_protocol("RTSP/1.0")),
    "ICE": (line("SOURCE /v1/payments ICE/1.0"), 400, other_protocol("ICE/1.0")),
    "unknown method of RTSP": (line("FOO /v1 RTSP/1.0"), 400, other_protocol("RTSP/1.0")),
    "no version": (b"GET /v1/payments\r\n\r\n", 400, NOT_HTTP),
    "no HTTP": (line("hello big world"), 400, NOT_HTTP),
    "line feeds": (b"GET /v1/payments HTTP/1.1\nHost: 127.0.0.1\n\n", 400, NOT_HTTP),
    "unknown method, line feeds": (b"FOO /v1 HTTP/1.1\n\n", 404, "There is no FOO"),
    "raw UTF-8": (line("GET /v1/payments?note=ሰላም HTTP/1.1"), 400, PERCENT),
    "blank": (line("GET /v1/payments?note=a b HTTP/1.1"), 400, PERCENT),
    "raw UTF-8, unknown method": (line("FOO /ሰ HTTP/1.1"), 400, PERCENT),
}


async def answer(emulator: World, *packets: bytes) -> tuple[int, str]:
    """The status and message of the last response, after which the connection ends."""
    client = Connection(emulator)
    for packet in packets:
        if not client.is_closed:
            client.protocol.data_received(packet)
    await client.quiet()
    assert client.is_closed, packets
    last = client.responses()[-1]
    return last.status, json.loads(last.body)["error"]["message"]


@pytest.mark.parametrize(("sent", "status", "message"), REFUSED.values(), ids=REFUSED)
async def test_it_is_refused_alike_in_any_packets(sent: bytes, status: int, message: str) -> None:
    async with world() as emulator:
        expected = await answer(emulator, sent)
        assert (expected[0], expected[1][: len(message)]) == (status, message)
        for at in range(1, len(sent)):
            assert await answer(emulator, sent[:at], sent[at:]) == expected, at
        one_by_one = [sent[at : at + 1] for at in range(len(sent))]
        assert await answer(emulator, *one_by_one) == expected


@pytest.mark.parametrize("name", ["unknown method", "RTSP", "HTTP/2.0", "raw UTF-8"])
@pytest.mark.parametrize("before", [READ, create(), READ + b"\r\n"], ids=["GET", "POST", "CRLF"])
async def test_it_is_refused_alike_after_another_request(name: str, before: bytes) -> None:
    sent, status, message = REFUSED[name]
    async with world() as emulator:
        expected = await answer(emulator, sent)
        for packets in ([before + sent], [before, sent], [before + sent[:3], sent[3:]]):
            assert await answer(emulator, *packets) == expected
    assert (expected[0], expected[1][: len(message)]) == (status, message)


async def test_a_client_of_http_2_learns_what_to_use() -> None:
    async with world() as emulator:
        _, message = await answer(emulator, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", bytes(9))
    assert "Configure the client to use HTTP/1.1" in message


INVALID_BODIES = {
    "chunk": (request(b"", framing="Transfer-Encoding: chunked\r\n"), b"XYZ\r\n"),
    "coding": (request(b"", method="GET", framing="Transfer-Encoding: gzip\r\n"), b""),
    "control": (
        request(b"", target="/_emulator/accounts", framing="Transfer-Encoding: chunked\r\n"),
        b"XYZ\r\n",
    ),
}


@pytest.mark.parametrize("before", [b"", READ], ids=["first", "second"])
@pytest.mark.parametrize(("head", "body"), INVALID_BODIES.values(), ids=INVALID_BODIES)
async def test_an_invalid_body_is_described_as_one(head: bytes, body: bytes, before: bytes) -> None:
    async with world() as emulator:
        for packets in ([before + head + body], [before + head, body], [before, head, body]):
            status, message = await answer(emulator, *packets)
            assert (status, message[:24]) == (400, "The body cannot be read:"), packets


async def test_the_first_request_has_no_request_before_it() -> None:
    async with world() as emulator:
        for sent in (b"}", line("GET /v1/payments HTTP/1.1").replace(b"Host:", b"Ho st:")):
            assert await answer(emulator, sent) == (400, NOT_HTTP)
            status, message = await answer(emulator, READ + sent)
            assert (status, message.startswith(AFTER_A_REQUEST)) == (400, True)


async def test_the_rest_of_an_unknown_request_line_is_limited() -> None:
    async with connection() as client:
        for _ in range(8):
            assert not client.is_closed
            client.protocol.data_received(b"FOO /".ljust(1_024, b"x"))
        assert client.is_closed
        assert [response.status for response in client.responses()] == [400]


async def test_an_unknown_request_line_has_to_end_in_time() -> None:
    async with connection() as client:
        client.protocol.data_received(b"FOO /")
        for _ in range(MAX_HEAD_MS // 1_000):
            client.protocol.data_received(b"x")
            assert not client.is_closed
            client.pass_time(1_000)
        assert client.is_closed
