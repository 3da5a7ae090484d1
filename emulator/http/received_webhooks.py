"""Receives webhooks, and verifies them by the form that the control API has of their endpoint.

The code is independent of the code that builds and signs webhooks, so that an error there is
noticed. Imports are relative, because the pytest plugin loads this module under another name.
"""

import asyncio
import hmac
import json
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Any, Self
from urllib.parse import parse_qsl

from .addresses import host_with_port

# Longer headers are not read, and further signatures are not compared.
MAX_HEADER_CHARACTERS = 4_096
MAX_SIGNATURES = 16
# How old a timestamp may be, or how far ahead, as in the libraries of merchants.
TOLERANCE_S = 300

# A form has no other braces.
_PLACEHOLDER = re.compile(r"\{([^{}]+)\}")
_METADATA = "payment.metadata."
_AMOUNT = re.compile(r"[0-9]{1,16}", re.ASCII)
_BIRR = re.compile(r"[0-9]{1,14}\.[0-9]{2}", re.ASCII)
_DIGITS = re.compile(r"[0-9]{1,15}", re.ASCII)
_FORM_TYPE = "application/x-www-form-urlencoded"
_SECRET_PREFIX = "whsec_"  # noqa: S105 - not a secret

Json = Mapping[str, Any]
MAX_HEAD_BYTES = 64 * 1024
MAX_BODY_BYTES = 1024 * 1024
MAX_REQUEST_S = 15
_ACCEPTED = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


@dataclass(frozen=True, kw_only=True)
class ReceivedRequest:
    """A request; `local_host` is the address at which it arrived, header names are lower case."""

    headers: Mapping[str, str]
    body: bytes
    local_host: str = ""

    def read(self, form: Json) -> "ReceivedWebhook":
        """The request as a webhook in a form."""
        return ReceivedWebhook(
            headers=self.headers, body=self.body, local_host=self.local_host, form=form
        )


@dataclass(frozen=True, kw_only=True)
class ReceivedWebhook(ReceivedRequest):
    """A webhook in a form, which is the member `format` of its endpoint."""

    form: Json

    @property
    def id(self) -> str:
        """The event's id, by which a handler recognises what it has already processed.

        Empty where the form does not contain it.
        """
        return str(self._values.get("id", self._values.get("event.id", "")))

    @cached_property
    def event(self) -> Json:
        """The parsed body; empty when it is not a mapping."""
        try:
            if self.form["content_type"] == _FORM_TYPE:
                return dict(parse_qsl(self.body.decode(), keep_blank_values=True))
            event = json.loads(self.body)
        except (ValueError, RecursionError):
            return {}
        return event if isinstance(event, dict) else {}

    @property
    def type(self) -> str:
        """The event's type under the emulator's name.

        The payment's status determines it if the form has no type, or one name for several types.
        """
        sent, status = self.sent_type, self._member("status")
        own = [name for name, other in self.form["events"].items() if other and other == sent]
        if len(own) == 1:
            return str(own[0])
        if sent is not None and not own:
            return str(sent)
        return f"payment.{'created' if status == 'pending' else status}" if status else ""

    @property
    def sent_type(self) -> Any:
        """The event's type as it was sent; None where the form has none, or it is absent."""
        return self._values.get("event.type")

    @property
    def data(self) -> Json:
        """The payment at the time of the event, or the members of it that the form contains."""
        data = self._values.get("payment")
        if isinstance(data, dict):
            return data
        values = self._values
        metadata = {
            name.removeprefix(_METADATA): value
            for name, value in values.items()
            if name.startswith(_METADATA)
        }
        members = {
            name.removeprefix("payment."): value
            for name, value in values.items()
            if name.startswith("payment.") and not name.startswith(_METADATA)
        }
        birr = members.pop("amount_birr", None)
        if isinstance(birr, str) and _BIRR.fullmatch(birr):
            members.setdefault("amount", int(birr.replace(".", "")))
        return {"metadata": metadata, **members} if metadata else members

    @property
    def payment(self) -> str | None:
        """The payment's id."""
        return self._member("id")

    def _member(self, name: str) -> str | None:
        value = self.data.get(name)
        return value if isinstance(value, str) else None

    @property
    def timestamp(self) -> str:
        """The time of the attempt as it was sent, in seconds."""
        return str(self._values.get("timestamp", ""))

    @property
    def occurred_at(self) -> str:
        """The instant of the event as it was sent; empty where the form does not contain it."""
        return str(self._values.get("event.timestamp", ""))

    @property
    def timestamp_s(self) -> int | None:
        """The time of the attempt; None where it is absent, or not a number."""
        return int(self.timestamp) if _DIGITS.fullmatch(self.timestamp) else None

    @property
    def signature(self) -> str:
        """The signatures as they were sent."""
        return str(self._values.get("signature", ""))

    @property
    def signatures(self) -> list[str]:
        """The first signatures, without their prefix."""
        prefix, separator = self.form["signature"]["prefix"], self.form["signature"]["separator"]
        text = self.signature
        given = text.split(separator, MAX_SIGNATURES) if separator else [text]
        first = given[:MAX_SIGNATURES]
        return [each.removeprefix(prefix) for each in first if each.startswith(prefix)]

    @property
    def is_signed(self) -> bool:
        """Whether the form has a signature."""
        return bool(self.form["signature"]["algorithm"] != "none")

    def is_recent(self, now_s: int) -> bool:
        """Whether the timestamp is within five minutes of now, or the form has no timestamp."""
        if not any("{timestamp}" in text for text in self.form["headers"].values()):
            return True
        sent_s = self.timestamp_s
        return sent_s is not None and abs(now_s - sent_s) <= TOLERANCE_S

    def is_signed_with(self, secret: str) -> bool:
        """Whether the secret made one of its signatures; never in a form without signatures."""
        if not self.is_signed:
            return False
        expected = self._expected(secret).encode()
        given = (each.encode("latin-1", "replace") for each in self.signatures)
        # Each is compared in constant time.
        return any(hmac.compare_digest(each, expected) for each in given)

    def _expected(self, secret: str) -> str:
        """The signature of a secret, without its prefix."""
        form = self.form["signature"]
        if form["algorithm"] == "token":
            return secret
        algorithm = form["algorithm"].removeprefix("hmac-")
        digest = hmac.digest(_key(secret, form["secret"]), self.signed_content, algorithm)
        return digest.hex() if form["encoding"] == "hex" else b64encode(digest).decode()

    @property
    def signed_content(self) -> bytes:
        """What is signed, with the values that were received."""
        # Texts and names of placeholders take turns.
        parts = enumerate(_PLACEHOLDER.split(self.form["signature"]["content"]))
        return b"".join(self._signed(part) if index % 2 else part.encode() for index, part in parts)

    def _signed(self, name: str) -> bytes:
        if name == "body":
            return self.body
        value = self.id if name in {"id", "event.id"} else self._value(name)
        text = "" if value is None else value
        if not isinstance(text, str):
            text = json.dumps(text, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "replace")

    def _value(self, name: str) -> Any:
        """The value at a placeholder, or the one that follows from the values at others."""
        if name in self._values:
            return self._values[name]
        if name == "payment.amount_birr":
            amount = str(self._value("payment.amount"))
            return (
                f"{amount.zfill(3)[:-2]}.{amount.zfill(2)[-2:]}"
                if _AMOUNT.fullmatch(amount)
                else ""
            )
        whole = "payment.metadata" if name.startswith(_METADATA) else "payment"
        if name in {"payment", "event", "timestamp"} or not name.startswith(f"{whole}."):
            return None
        members = self._value(whole)
        return members.get(name.removeprefix(f"{whole}.")) if isinstance(members, dict) else None

    @cached_property
    def _values(self) -> dict[str, Any]:
        """The values at the placeholders of the form."""
        values = dict(_values_in(self.form["body"], self.event))
        for name, template in self.form["headers"].items():
            values |= _values_in_text(template, self.headers.get(name.lower(), ""))
        return values


def _key(secret: str, encoding: str) -> bytes:
    if encoding == "base64":
        return b64decode(secret.removeprefix(_SECRET_PREFIX))
    return bytes.fromhex(secret) if encoding == "hex" else secret.encode()


def _values_in(template: Any, value: Any) -> Iterator[tuple[str, Any]]:
    """The values at the placeholders of a JSON value."""
    if isinstance(template, dict) and isinstance(value, dict):
        for name in filter(value.__contains__, template):
            yield from _values_in(template[name], value[name])
    elif isinstance(template, list) and isinstance(value, list):
        for part, item in zip(template, value, strict=False):
            yield from _values_in(part, item)
    elif isinstance(template, str) and (placeholder := _PLACEHOLDER.fullmatch(template)):
        yield placeholder[1], value
    elif isinstance(template, str) and isinstance(value, str):
        yield from _values_in_text(template, value).items()


def _values_in_text(template: str, text: str) -> dict[str, str]:
    """The values at the placeholders of a text; none where the text differs between them."""
    start, *parts = _PLACEHOLDER.split(template)
    if len(text) > MAX_HEADER_CHARACTERS or not parts or not text.startswith(start):
        return {}
    values: dict[str, str] = {}
    rest = text.removeprefix(start)
    for name, following in zip(parts[:-2:2], parts[1:-2:2], strict=True):
        values[name], found, rest = rest.partition(following)
        if not found:
            return {}
    *_, last, end = parts
    return {**values, last: rest.removesuffix(end)} if rest.endswith(end) else {}


class WebhookReceiver:
    """Server that passes each webhook to the function registered for its path.

    Any other connection is closed without a response.
    """

    def __init__(self) -> None:
        self.base_url = ""
        self._numbers = count(1)
        self._functions: dict[str, Callable[[ReceivedRequest], object]] = {}
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

    def register(self, function: Callable[[ReceivedRequest], object]) -> str:
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
        function(ReceivedRequest(local_host=local_host, headers=headers, body=body))
        writer.write(_ACCEPTED)
        await writer.drain()


def parse_head(head: bytes) -> tuple[str, dict[str, str]]:
    """Return the path and the headers of a request. Raises ValueError."""
    first, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    _, path, _ = first.split(" ")
    pairs = (line.partition(":") for line in lines)
    return path, {name.lower(): value.strip() for name, _, value in pairs}
