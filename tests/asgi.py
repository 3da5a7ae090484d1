"""The program as an ASGI application, for tests without connections."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote

from emulator.server.api.exchange import Headers, Reply
from emulator.server.app.gateway import Gateway
from emulator.server.app.heads import Head
from emulator.server.app.pending_request import PendingRequest

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


def asgi(gateway: Gateway) -> Callable[[Any, Any, Any], Awaitable[None]]:
    """An application that passes its requests to the gateway.

    It raises ConnectionResetError where a connection would be cut.
    """

    async def application(scope: Any, receive: Receive, send: Send) -> None:
        path = scope["path"]
        head = Head(
            method=scope["method"],
            path=path,
            raw_path=scope.get("raw_path") or quote(path).encode(),
            query=scope["query_string"],
            headers=scope["headers"],
            by_name=Headers(scope["headers"]),
            length=0,
        )
        request = _AsgiRequest(_Client(scope, gateway), head, receive, send)
        before = set(gateway.tasks)
        gateway.start(request)
        try:
            for task in set(gateway.tasks) - before:
                await task
        except asyncio.CancelledError:
            request.lose()
            raise
        await request.send_reply()

    return application


class _Client:
    """The client of a request, which reads everything at once."""

    def __init__(self, scope: Any, gateway: Gateway) -> None:
        self.addresses = {"scheme": "http", "client": None, "server": scope["server"]}
        self.is_for_api = gateway.is_api_port(scope["server"][1])

    def close(self) -> None:
        """Nothing to do: the application has ended."""


class _AsgiRequest(PendingRequest):
    """A request whose body comes from `receive`, and whose response goes to `send`."""

    def __init__(self, client: Any, head: Head, receive: Receive, send: Send) -> None:
        super().__init__(client, head)
        self.receive = receive  # type: ignore[method-assign,assignment]
        self._send = send
        self._reply: Reply | None = None
        self._lines = b""
        self._stream: tuple[int, bytes] | None = None

    def reply(self, reply: Reply, more_lines: bytes = b"") -> None:
        self._reply, self._lines = reply, more_lines
        self.has_response = True

    async def send_reply(self) -> None:
        reply = self._reply
        if reply is None:
            return
        if not reply.is_dropped:
            await self._begin(reply.status, reply.headers, self._lines)
            message = {"type": "http.response.body", "body": reply.sent_body}
            await self._send({**message, "more_body": reply.is_cut})
        if (reply.is_cut or reply.is_dropped) and reply.status:
            raise ConnectionResetError

    def begin_stream(self, status: int, lines: bytes) -> None:
        self._stream = (status, lines)

    async def send_part(self, part: bytes, *, is_last: bool) -> None:
        if self._stream is not None:
            (status, lines), self._stream = self._stream, None
            await self._begin(status, [], lines)
        message = {"type": "http.response.body", "body": part, "more_body": not is_last}
        await self._send(message)
        self.has_response = is_last

    async def _begin(self, status: int, headers: Any, lines: bytes) -> None:
        more = [tuple(line.split(b": ", 1)) for line in lines.split(b"\r\n") if line]
        headers = [*headers, *more]
        await self._send({"type": "http.response.start", "status": status, "headers": headers})
