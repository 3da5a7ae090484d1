"""The merchant's end of the webhooks: an address for each case, and what arrived there.

It believes nothing but the signature, and works that out by itself (Standard Webhooks 1.0), so
that the emulator is not measured with its own yardstick. A timestamp that is too old is not
refused beside it: whoever changes one breaks the signature, and one that is late is genuine.
"""

import asyncio
import hmac
import json
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from emulator.replay.client import authority

MAX_HEAD_BYTES = 64 * 1024
MAX_BODY_BYTES = 1024 * 1024

_PREFIX = "whsec_"
_ACCEPTED = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A webhook as it came in while the script was at its `step`-th step."""

    step: int
    id: str
    timestamp: str
    signature: str
    body: bytes
    is_genuine: bool

    @property
    def event(self) -> Mapping[str, Any]:
        """The event that it tells of; empty where the body is none."""
        try:
            event = json.loads(self.body)
        except ValueError:
            return {}
        return event if isinstance(event, dict) else {}

    @property
    def type(self) -> str:
        return str(self.event.get("type"))

    @property
    def payment_id(self) -> str | None:
        data = self.event.get("data")
        return data.get("id") if isinstance(data, dict) else None


class Inbox:
    """One case's address. `step` is where its script is; `secret` is what signs for it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.secret = ""
        self.step = 0
        self.arrivals: list[Arrival] = []

    def take(self, headers: Mapping[str, str], body: bytes) -> None:
        message_id = headers.get("webhook-id", "")
        timestamp = headers.get("webhook-timestamp", "")
        signature = headers.get("webhook-signature", "")
        expected = signed(self.secret, f"{message_id}.{timestamp}.".encode("latin-1") + body)
        self.arrivals.append(
            Arrival(
                step=self.step,
                id=message_id,
                timestamp=timestamp,
                signature=signature,
                body=body,
                is_genuine=any(
                    hmac.compare_digest(one.encode("latin-1"), expected.encode())
                    for one in signature.split(" ")
                ),
            )
        )


def signed(secret: str, content: bytes) -> str:
    """The one signature that is right for `id.timestamp.body`."""
    key = b64decode(secret.removeprefix(_PREFIX))
    return f"v1,{b64encode(hmac.digest(key, content, 'sha256')).decode('ascii')}"


class Receiver:
    """A server for the webhooks of all cases, on a free port."""

    def __init__(self) -> None:
        self.base_url = ""
        self._inboxes: dict[str, Inbox] = {}
        self._conversations: set[asyncio.Task[None]] = set()

    def open_inbox(self) -> Inbox:
        path = f"/{len(self._inboxes) + 1}"
        inbox = self._inboxes[path] = Inbox(self.base_url + path)
        return inbox

    def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take one webhook; whoever sends what is none is hung up on."""
        conversation = asyncio.create_task(self._converse(reader, writer))
        self._conversations.add(conversation)
        conversation.add_done_callback(self._conversations.discard)

    async def close(self) -> None:
        for conversation in self._conversations:
            conversation.cancel()
        await asyncio.gather(*self._conversations, return_exceptions=True)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(OSError, EOFError, ValueError, asyncio.LimitOverrunError):
                path, headers = _head(await reader.readuntil(b"\r\n\r\n"))
                length = int(headers.get("content-length", "0"))
                if path in self._inboxes and 0 <= length <= MAX_BODY_BYTES:
                    self._inboxes[path].take(headers, await reader.readexactly(length))
                    writer.write(_ACCEPTED)
                    await writer.drain()
        finally:
            writer.close()


def _head(head: bytes) -> tuple[str, dict[str, str]]:
    """The path and the headers, by name in small letters. Raises ValueError."""
    first, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    _, path, _ = first.split(" ")
    pairs = (line.partition(":") for line in lines)
    return path, {name.lower(): value.strip() for name, _, value in pairs}


@asynccontextmanager
async def receiving(host: str) -> AsyncIterator[Receiver]:
    """Receive at an address of this machine until the block ends."""
    receiver = Receiver()
    server = await asyncio.start_server(receiver.connected, host, 0, limit=MAX_HEAD_BYTES)
    receiver.base_url = f"http://{authority(host, server.sockets[0].getsockname()[1])}"
    try:
        yield receiver
    finally:
        server.close()
        await receiver.close()
