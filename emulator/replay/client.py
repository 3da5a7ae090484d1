"""The way to an emulator: what a request was answered, or that no whole answer came."""

import asyncio
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import ssl

    import httpx

# A latency that a scenario scripts may be five minutes.
MAX_RESPONSE_S = 330
MAX_CONNECT_S = 10
# Sooner than any server does, so that no request meets a connection that is just being closed:
# whether that one was heard nobody could tell.
MAX_IDLE_S = 2
MAX_RESPONSE_BYTES = 64 * 1024 * 1024
JSON = "application/json"

_USUAL_PORTS = {"http": 80, "https": 443}
_CUT = "the connection was cut before an answer came"
_CUT_OFF = "the connection was cut in the middle of the answer"
_MAX_CAUSES = 64


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
        except (ValueError, RecursionError):
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


class Client:
    """Makes connections to one emulator; what takes long to load they share."""

    def __init__(self, address: Address) -> None:
        self.address = address

    def connection(self, *, key: str | None = None) -> "Connection":
        """For the owner of a key, or for nobody in particular."""
        return Connection(self.address, self._tls, key)

    @cached_property
    def _tls(self) -> "ssl.SSLContext":
        import ssl

        import certifi

        if self.address.scheme == "http":
            return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # which is never asked for anything
        # The system's authorities, or those of SSL_CERT_FILE, and those that browsers trust.
        context = ssl.create_default_context()
        context.load_verify_locations(certifi.where())
        return context


class Connection:
    """Asks as the owner of a key, if it has one; open for the length of a block.

    It is httpx without its client, which would keep cookies, use proxies and follow redirects.
    Each has a transport of its own, since one that many share looks after all their connections
    with every request.
    """

    def __init__(self, address: Address, tls: "ssl.SSLContext", key: str | None) -> None:
        # The address of this machine that the emulator sees, once it was asked something.
        self.local_host = ""
        self._address = address
        self._tls = tls
        self._key = key
        self._transport: httpx.AsyncHTTPTransport
        self._url: httpx.URL

    async def __aenter__(self) -> Self:
        import httpx

        address = self._address
        try:
            self._url = httpx.URL(scheme=address.scheme, host=address.host, port=address.port)
        except (httpx.InvalidURL, UnicodeError) as error:
            raise Unreachable(f"cannot reach the emulator at {address}: {error}") from None
        self._transport = httpx.AsyncHTTPTransport(
            verify=self._tls, trust_env=False, limits=httpx.Limits(keepalive_expiry=MAX_IDLE_S)
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._transport.aclose()

    def use_key(self, key: str) -> None:
        """Be the owner of a key from here on."""
        self._key = key

    async def ask(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        media_type: str = JSON,
        within_s: float = MAX_RESPONSE_S,
    ) -> Answer:
        """One request, never sent again: a fault would strike but once. Raises Unreachable."""
        import httpx

        try:
            request = self._request(method, path, body, media_type)
            # For all of it: httpx would take the time of each part of an answer by itself.
            async with asyncio.timeout(within_s):
                return await self._exchange(request)
        except TimeoutError:
            return Answer(lost=f"none came within {within_s:g} s")
        # OSError, UnicodeError: a name that nobody has, or that no name server could know.
        except (httpx.ConnectError, httpx.ConnectTimeout, OSError, UnicodeError) as error:
            reason = _why_unreachable(error)
            raise Unreachable(f"cannot reach the emulator at {self._address}: {reason}") from None
        except httpx.TransportError as error:
            return Answer(lost=_why_lost(error))

    async def ask_json(self, method: str, path: str, value: object) -> Answer:
        """One request with a value as its body. Raises Unreachable."""
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return await self.ask(method, path, text.encode("utf-8", "surrogatepass"))

    def _request(self, method: str, path: str, body: bytes, media_type: str) -> "httpx.Request":
        import httpx

        headers = {} if self._key is None else {"authorization": f"Bearer {self._key}"}
        if body:
            headers["content-type"] = media_type
        extensions = {
            # As it is: in a URL httpx would resolve the dots of `/v1/payments/..`.
            "target": f"{self._address.path}{path}".encode(),
            "timeout": {"connect": MAX_CONNECT_S},
        }
        return httpx.Request(
            method, self._url, headers=headers, content=body, extensions=extensions
        )

    async def _exchange(self, request: "httpx.Request") -> Answer:
        import httpx

        response = await self._transport.handle_async_request(request)
        try:
            if not self.local_host:
                stream = response.extensions["network_stream"]
                self.local_host = str(stream.get_extra_info("client_addr")[0])
            body = bytearray()
            async for part in response.aiter_raw():
                body += part
                if len(body) > MAX_RESPONSE_BYTES:
                    return Answer(lost=f"it is larger than {MAX_RESPONSE_BYTES:,} bytes")
        except httpx.TransportError:
            return Answer(lost=_CUT_OFF)
        finally:
            await response.aclose()
        headers = dict(response.headers)
        return Answer(status=response.status_code, headers=headers, body=bytes(body))


def _why_unreachable(error: Exception) -> str:
    """Why there is no connection; the library's own words would name addresses and tuples."""
    import ssl

    import httpx

    if isinstance(error, httpx.ConnectTimeout):
        return f"no connection within {MAX_CONNECT_S} s"
    for cause in _chain(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"its certificate is not trusted: {cause.verify_message}"
        if isinstance(cause, ssl.SSLError):
            return f"no TLS with it: {cause.reason or cause}"
        if isinstance(cause, OSError) and cause.errno is not None:
            return os.strerror(cause.errno) if cause.errno > 0 else cause.strerror or str(cause)
    return str(error)


def _why_lost(error: "httpx.TransportError") -> str:
    """Why there is not even the head of an answer."""
    import httpcore
    import httpx

    [*_, origin] = _chain(error)
    # Else it is the parser that complains.
    was_cut = isinstance(origin, httpcore.RemoteProtocolError)
    if isinstance(error, httpx.RemoteProtocolError) and not was_cut:
        return f"what came is no HTTP: {error}"
    return _CUT


def _chain(error: BaseException) -> Iterator[BaseException]:
    """What an error came from; of several that came together the first."""
    cause: BaseException | None = error
    for _ in range(_MAX_CAUSES):
        if cause is None:
            return
        yield cause
        if isinstance(cause, BaseExceptionGroup):
            cause = cause.exceptions[0]
        else:
            # httpcore raises again `from None`.
            cause = cause.__cause__ or cause.__context__
