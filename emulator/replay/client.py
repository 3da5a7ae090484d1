"""One connection to an emulator: what was answered, or that no whole answer came.

It speaks HTTP with the parser of our server. httpx would take three times as long for a request,
and as long to load as forty requests take; a script is to replay while one looks.
"""

import asyncio
import json
import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast
from urllib.parse import urlsplit

import httptools

# A latency that a scenario scripts may be five minutes.
LONGEST_ANSWER_S = 330
LARGEST_ANSWER_BYTES = 64 * 1024 * 1024
JSON = "application/json"

_USUAL_PORTS = {"http": 80, "https": 443}
_CUT = "the connection was cut before an answer came"
_CUT_OFF = "the connection was cut in the middle of the answer"
_NEVER = f"none came within {LONGEST_ANSWER_S} s"


class Unreachable(Exception):
    """Nobody listens at the emulator's address; the message is one line for the user."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a request came to. `lost` tells, in words, why there is no whole answer."""

    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    lost: str | None = None

    @property
    def is_refusal(self) -> bool:
        """Whether it is an error, or none at all."""
        return self.lost is not None or self.status >= 400

    @property
    def is_replay(self) -> bool:
        """Whether it repeats an earlier answer, by its idempotency key."""
        return self.headers.get("idempotent-replayed") == "true"

    @cached_property
    def json(self) -> Any:
        """The body, or None where it is no JSON."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None

    def member(self, name: str) -> Any:
        """A member of a body that is an object; None where it is not, or has no such member."""
        return self.json.get(name) if isinstance(self.json, dict) else None

    @property
    def error(self) -> Mapping[str, Any]:
        """The error object of a refusal (contract, section 7); empty where there is none."""
        error = self.member("error")
        return error if isinstance(error, dict) else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where an emulator is; `path` is what a proxy puts in front of all its paths."""

    scheme: str
    host: str
    port: int
    path: str = ""

    @classmethod
    def of(cls, url: str) -> "Address":
        """The address in a URL that is known to be absolute."""
        parts = urlsplit(url)
        return cls(
            scheme=parts.scheme,
            host=parts.hostname or "",
            port=parts.port or _USUAL_PORTS[parts.scheme],
            path=parts.path.rstrip("/"),
        )

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"

    @property
    def authority(self) -> str:
        return authority(self.host, self.port)


def authority(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class Connection:
    """A connection that is made when it is needed, and made anew where the other side cut it."""

    def __init__(self, address: Address, *, key: str | None = None) -> None:
        self._address = address
        self._key = key
        self._wire: _Wire | None = None
        # The address of this machine that the emulator sees, once there is a connection.
        self.local_host = ""

    def use_key(self, key: str) -> None:
        """Be the owner of a key from here on."""
        self._key = key

    async def ask(
        self, method: str, path: str, body: bytes = b"", *, media_type: str = JSON
    ) -> Answer:
        """One request. Raises Unreachable."""
        wire = self._wire
        if wire is None or wire.is_closed:
            wire = self._wire = await self._connect()
            self.local_host = wire.local_host
        address = self._address
        lines = [f"{method} {address.path}{path} HTTP/1.1", f"host: {address.authority}"]
        if self._key is not None:
            lines.append(f"authorization: Bearer {self._key}")
        if body or method != "GET":
            lines += [f"content-type: {media_type}"] if body else []
            lines.append(f"content-length: {len(body)}")
        return await wire.ask("\r\n".join((*lines, "\r\n")).encode("latin-1") + body)

    async def ask_json(self, method: str, path: str, value: object) -> Answer:
        """One request with a value as its body. Raises Unreachable."""
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return await self.ask(method, path, text.encode("utf-8", "surrogatepass"))

    def close(self) -> None:
        if self._wire is not None:
            self._wire.close()

    async def _connect(self) -> "_Wire":
        address = self._address
        secured = ssl.create_default_context() if address.scheme == "https" else None
        try:
            async with asyncio.timeout(LONGEST_ANSWER_S):
                _, wire = await asyncio.get_running_loop().create_connection(
                    _Wire, address.host, address.port, ssl=secured
                )
        except (OSError, TimeoutError, UnicodeError) as error:
            reason = _reason(error)
            raise Unreachable(f"cannot reach the emulator at {address}: {reason}") from None
        return wire


def _reason(error: Exception) -> str:
    """Why there is no connection; asyncio's own words would name addresses and tuples."""
    if isinstance(error, TimeoutError) and not error.errno:
        return _NEVER
    if isinstance(error, ssl.SSLError):
        return error.reason or str(error)
    if isinstance(error, OSError) and error.errno is not None:
        return os.strerror(error.errno) if error.errno > 0 else error.strerror or str(error)
    return str(error)


class _Wire(asyncio.Protocol):
    """The bytes of one connection; one request is under way at a time."""

    def __init__(self) -> None:
        self.is_closed = False
        self.local_host = ""
        self._transport: asyncio.Transport
        self._parser: httptools.HttpResponseParser
        self._answered: asyncio.Future[Answer] | None = None
        self._has_begun = False
        self._headers: dict[str, str] = {}
        self._body = bytearray()

    async def ask(self, request: bytes) -> Answer:
        self._answered = asyncio.get_running_loop().create_future()
        self._parser = httptools.HttpResponseParser(self)
        self._has_begun = False
        self._headers = {}
        self._body = bytearray()
        self._transport.write(request)
        try:
            async with asyncio.timeout(LONGEST_ANSWER_S):
                return await self._answered
        except TimeoutError:
            self.close()
            return Answer(lost=_NEVER)
        except asyncio.CancelledError:
            self.close()
            raise

    def close(self) -> None:
        self.is_closed = True
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self.local_host = transport.get_extra_info("sockname")[0]

    def data_received(self, data: bytes) -> None:
        self._has_begun = True
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self.close()
            self._answer(Answer(lost=f"what came is no HTTP: {error}"))

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self.is_closed = True
        self._answer(Answer(lost=_CUT_OFF if self._has_begun else _CUT))

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_body(self, body: bytes) -> None:
        self._body += body
        if len(self._body) > LARGEST_ANSWER_BYTES:
            self.close()
            self._answer(Answer(lost=f"it is larger than {LARGEST_ANSWER_BYTES:,} bytes"))

    def on_message_complete(self) -> None:
        if not self._parser.should_keep_alive():
            self.close()
        status = self._parser.get_status_code()
        self._answer(Answer(status=status, headers=self._headers, body=bytes(self._body)))

    def _answer(self, answer: Answer) -> None:
        if self._answered is not None and not self._answered.done():
            self._answered.set_result(answer)
