"""Receives webhooks at registered paths, and verifies their signatures (Standard Webhooks 1.0).

The verification is independent of the code that signs, so that an error there is noticed. Old
timestamps are accepted: a changed timestamp breaks the signature, and a late webhook is genuine.
"""

import asyncio
import hmac
import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Any, Self

from .addresses import host_with_port

MAX_HEAD_BYTES = 64 * 1024
MAX_BODY_BYTES = 1024 * 1024
MAX_REQUEST_S = 15

_SECRET_PREFIX = "whsec_"  # noqa: S105 - not a secret
_ACCEPTED = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


@dataclass(frozen=True, kw_only=True)
class ReceivedWebhook:
    """A webhook; `local_host` is the address at which it arrived, header names are lower case."""

    headers: Mapping[str, str]
    body: bytes
    local_host: str = ""

    @property
    def id(self) -> str:
        """The event's id, by which a handler recognises what it has already processed."""
        return self.headers.get("webhook-id", "")

    @cached_property
    def event(self) -> Mapping[str, Any]:
        """The parsed body; empty when it is not a JSON object."""
        try:
            event = json.loads(self.body)
        except ValueError:
            return {}
        return event if isinstance(event, dict) else {}

    @property
    def type(self) -> str:
        return str(self.event.get("type"))

    @property
    def data(self) -> Mapping[str, Any]:
        """The payment at the time of the event."""
        data = self.event.get("data")
        return data if isinstance(data, dict) else {}

    @property
    def payment(self) -> str | None:
        """The payment's id."""
        return self.data.get("id")

    def is_signed_with(self, secret: str) -> bool:
        """Whether one of its signatures is that of the secret."""
        timestamp = self.headers.get("webhook-timestamp", "")
        signed = f"{self.id}.{timestamp}.".encode("latin-1") + self.body
        key = b64decode(secret.removeprefix(_SECRET_PREFIX))
        expected = b"v1," + b64encode(hmac.digest(key, signed, "sha256"))
        return any(
            hmac.compare_digest(signature.encode("latin-1"), expected)
            for signature in self.headers.get("webhook-signature", "").split(" ")
        )


class WebhookReceiver:
    """Server that passes each webhook to the function registered for its path.

    Any other connection is closed without a response.
    """

    def __init__(self) -> None:
        self.base_url = ""
        self._numbers = count(1)
        self._functions: dict[str, Callable[[ReceivedWebhook], object]] = {}
        self._servers: list[asyncio.Server] = []
        self._connections: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        for server in self._servers:
            server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def listen(self, host: str, port: int = 0) -> int:
        """Listen on one more address; return the port. Raises OSError."""
        server = await asyncio.start_server(self._accept, host, port, limit=MAX_HEAD_BYTES)
        self._servers.append(server)
        port = int(server.sockets[0].getsockname()[1])
        self.base_url = self.base_url or f"http://{host_with_port(host, port)}"
        return port

    def register(self, function: Callable[[ReceivedWebhook], object]) -> str:
        """Return the new path whose webhooks the function receives."""
        path = f"/{next(self._numbers)}"
        self._functions[path] = function
        return path

    def unregister(self, path: str) -> None:
        self._functions.pop(path, None)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = asyncio.create_task(self._serve(reader, writer))
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)
        # Not in the task, which may be cancelled before it begins.
        connection.add_done_callback(lambda _: writer.close())

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # ValueError: not HTTP.
        with suppress(OSError, EOFError, ValueError, asyncio.LimitOverrunError):
            async with asyncio.timeout(MAX_REQUEST_S):
                await self._respond(reader, writer)

    async def _respond(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path, headers = parse_head(await reader.readuntil(b"\r\n\r\n"))
        length = int(headers.get("content-length", "0"))
        function = self._functions.get(path)
        if function is None or not 0 <= length <= MAX_BODY_BYTES:
            return
        local_host = str(writer.get_extra_info("sockname")[0])
        body = await reader.readexactly(length)
        function(ReceivedWebhook(local_host=local_host, headers=headers, body=body))
        writer.write(_ACCEPTED)
        await writer.drain()


def parse_head(head: bytes) -> tuple[str, dict[str, str]]:
    """Return the path and the headers of a request. Raises ValueError."""
    first, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    _, path, _ = first.split(" ")
    pairs = (line.partition(":") for line in lines)
    return path, {name.lower(): value.strip() for name, _, value in pairs}
