"""A client that sends any bytes, past the checks of HTTP libraries."""

import asyncio
from dataclasses import dataclass, field

import msgspec

from tests.asgi import asgi
from tests.server.api.calls import CODES
from tests.world import API_PORT, TEST_KEY, World

Headers = list[tuple[bytes, bytes]]

KEY: Headers = [(b"authorization", b"Bearer " + TEST_KEY.encode())]
TYPE: Headers = [(b"content-type", b"application/json")]


@dataclass(frozen=True, kw_only=True)
class RawRequest:
    """A request, part by part; after one that is not whole, the client disconnects.

    Where there is an event, the client waits for it before.
    """

    method: str = "GET"
    path: str = "/v1/payments"
    query: bytes = b""
    headers: Headers = field(default_factory=lambda: KEY + TYPE)
    chunks: tuple[bytes, ...] = (b"",)
    is_whole: bool = True
    port: int = API_PORT
    hang_up: asyncio.Event | None = None


@dataclass(frozen=True, kw_only=True)
class RawResponse:
    """The whole answer; status 0 when there was none."""

    status: int
    headers: Headers
    body: bytes


async def send_raw(emulator: World, request: RawRequest) -> RawResponse:
    """Send a request straight to the program, past every check of a client or a server."""
    messages = [
        {"type": "http.request", "body": chunk, "more_body": True} for chunk in request.chunks
    ]
    if request.is_whole:
        messages[-1]["more_body"] = False
    sent: list[dict[str, object]] = []

    async def receive() -> dict[str, object]:
        if messages:
            return messages.pop(0)
        if request.hang_up is not None:
            await request.hang_up.wait()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, object]) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "scheme": "http",
        "method": request.method,
        "path": request.path,
        "raw_path": request.path.encode(),
        "query_string": request.query,
        "headers": request.headers,
        "server": ("127.0.0.1", request.port),
        "client": ("127.0.0.1", 123),
    }
    await asgi(emulator.app)(scope, receive, send)
    if not sent:
        return RawResponse(status=0, headers=[], body=b"")
    start, *bodies = sent
    return RawResponse(
        status=start["status"],  # type: ignore[arg-type]
        headers=start["headers"],  # type: ignore[arg-type]
        body=b"".join(message["body"] for message in bodies),  # type: ignore[misc]
    )


def assert_sound(response: RawResponse) -> None:
    """Well-formed headers, valid JSON, and of an error the contract's shape and a known code."""
    names = [name for name, _ in response.headers]
    for name in (b"request-id", b"cache-control", b"content-type", b"content-length"):
        assert names.count(name) == 1, names
    for name, value in response.headers:
        assert name == name.lower()
        assert value.isascii()
        assert value.decode("ascii").isprintable()
    content = msgspec.json.decode(response.body)
    assert response.status < 500, response.body
    if response.status >= 400:
        error = content["error"]
        assert CODES[error["code"]] == response.status
        assert error["message"]
