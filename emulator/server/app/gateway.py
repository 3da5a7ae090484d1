"""Dispatches requests to the applications by listener and path, and logs each in one line."""

import asyncio
import json
from collections.abc import Callable, Mapping
from functools import lru_cache

from emulator import __version__, ids
from emulator.clock import SystemClock
from emulator.domain.accounts import mask_keys
from emulator.domain.control_characters import escape_controls
from emulator.domain.errors import Refusal, UnknownRoute
from emulator.domain.instants import format_instant
from emulator.server.api.app import PaymentsApi
from emulator.server.api.bodies import ClientDisconnected
from emulator.server.api.errors import (
    INTERNAL_ERROR_BODY,
    code_in,
    error_body,
    error_headers,
    status_of,
)
from emulator.server.api.exchange import (
    CONNECTION,
    FIRST_ERROR,
    ASGIApp,
    ClientConnection,
    Exchange,
    Header,
    Headers,
    Message,
    Receive,
    Scope,
    Send,
    lines_of,
    log_failure,
)
from emulator.server.engine.engine import Engine
from emulator.server.engine.state.account import OWNER_OF_REQUEST, Owner

HEALTH = "/_emulator/health"
_PAGES = frozenset({"/", "/_emulator", "/_emulator/", "/_emulator/view", "/favicon.ico"})

_API_PATHS = ("/v1", "/_emulator")
_OTHER_PORT = (
    "This port has only the checkout pages: send the request to the address of the API, which the"
    " emulator prints at start (port 8080 by default)."
)
_JSON: Header = (b"content-type", b"application/json")

UNAUTHORIZED = 401
WRITTEN_EVERY_S = 0.05
MAX_WAITING = 256
# When a response was written, method, path, status, duration, request id, owner and error code.
_Logged = tuple[int, str, bytes, int, float, bytes, Owner | None, str]
_JSON_LINE = (
    '{"at":"%s","level":"%s","request_id":"%s","account":%s,"mode":%s,'
    '"method":"%s","path":"%s","status":%d,%s"duration_ms":%.1f}\n'
)


def is_page(path: str) -> bool:
    """Whether people open the path, or their browsers do for a page."""
    return path in _PAGES or path.startswith("/_emulator/view/")


class Lazily:
    """An application that is built for its first request.

    Starlette's routing and the page templates take as long to import as everything else, and a
    program that only serves `/v1` never needs them.
    """

    def __init__(self, build: Callable[[], ASGIApp]) -> None:
        self._build = build
        self._app: ASGIApp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._app is None:
            self._app = self._build()
        await self._app(scope, receive, send)


class RequestLog:
    """The request log: one line per request, written in batches several times a second."""

    def __init__(self, wall: SystemClock, write: Callable[[str], object], *, as_json: bool) -> None:
        self._wall = wall
        self._write = write
        self._line = _json_line if as_json else _text_line
        # Formatted together, which takes half of the time.
        self._waiting: list[_Logged] = []
        self.start = wall.monotonic_ms

    def add(
        self,
        method: str,
        path: bytes,
        status: int,
        started_ms: float,
        request_id: bytes,
        owner: Owner | None,
        error: bytes,
    ) -> None:
        """`error` is the body of a refusal."""
        wall = self._wall
        duration_ms = wall.monotonic_ms() - started_ms
        at_ms = wall.system_ms()
        code = code_in(error) if error else ""
        self._waiting.append((at_ms, method, path, status, duration_ms, request_id, owner, code))
        if len(self._waiting) == 1:
            asyncio.get_running_loop().call_later(WRITTEN_EVERY_S, self.flush)
        elif len(self._waiting) >= MAX_WAITING:
            self.flush()

    def flush(self) -> None:
        """Write the lines that are not written yet."""
        if self._waiting:
            self._write("".join(map(self._line, self._waiting)))
            self._waiting.clear()


def _text_line(logged: _Logged) -> str:
    at_ms, method, path, status, duration_ms, _, _, code = logged
    # A reader of the text format knows the date.
    at = format_instant(at_ms)[11:23]
    return f"{at} {method} {_shown(path)} {status} {code}{' ' * bool(code)}{duration_ms:.1f} ms\n"


def _json_line(logged: _Logged) -> str:
    at_ms, method, path, status, duration_ms, request_id, owner, code = logged
    at = format_instant(at_ms)
    account, mode = (
        ("null", "null")
        if owner is None
        else (json.dumps(owner.account.profile.id), f'"{owner.mode}"')
    )
    level = "error" if status >= 500 else "warning" if status >= 400 else "info"
    facts = (at, level, request_id.decode(), account, mode, method, _shown(path))
    return _JSON_LINE % (*facts, status, code and f'"code":"{code}",', duration_ms)


class _Response:
    """A response of an application: adds the last headers, and writes it whole where possible."""

    __slots__ = ("_connection", "_head", "_request_id", "_send", "error", "is_begun", "status")

    def __init__(self, request_id: bytes, send: Send, connection: ClientConnection | None) -> None:
        self._request_id = request_id
        self._send = send
        self._connection = connection
        self._head: Message | None = None
        self.status = 0
        self.error = b""
        self.is_begun = False

    async def send(self, message: Message) -> None:
        """The application's `send`; a head is held until the next message."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self._head = message
            headers = message["headers"] = list(message.get("headers", ()))
            headers.append((b"request-id", self._request_id))
            if all(name != b"cache-control" for name, _ in headers):
                headers.append((b"cache-control", b"no-store"))
            return
        head, self._head = self._head, None
        self.is_begun = True
        if self.status >= FIRST_ERROR:
            self.error = message.get("body", b"")
        if head is not None:
            if self._connection is not None and not message.get("more_body"):
                lines = lines_of(head["headers"])
                self._connection.reply(self.status, lines, message.get("body", b""))
                return
            await self._send(head)
        await self._send(message)


class Gateway:
    """The one ASGI application: `/v1` and `/_emulator` on one listener, the pages on the other."""

    def __init__(
        self,
        *,
        api: PaymentsApi,
        control: ASGIApp,
        dashboard: ASGIApp,
        checkout: ASGIApp,
        checkout_port: int,
        log: RequestLog,
        stream: bytes,
        engine: Engine,
    ) -> None:
        self._api = api
        self._control = control
        self._dashboard = dashboard
        self._checkout = checkout
        self._checkout_port = checkout_port
        self._log = log
        self._stream = stream
        self._engine = engine
        self._requests = 0
        self.is_ready = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Removed from the scope, to which it refers: a cycle would need the garbage collector.
        connection: ClientConnection | None = scope.pop(CONNECTION, None)
        path = scope["path"]
        is_contract = path.startswith("/v1/") or path == "/v1"
        method, raw_path = scope["method"], scope.get("raw_path") or b""
        is_readable = connection is None or connection.body_error is None
        if is_readable and is_contract and self.is_api_port(scope["server"][1]):
            headers = Headers(scope["headers"])
            exchange = Exchange(
                method, path, raw_path, scope["query_string"], headers, receive=receive
            )
            await self.answer(exchange, connection, send)
            return
        started_ms, request_id = self._log.start(), self.next_request_id()
        response = _Response(request_id, send, connection)
        if connection is not None and connection.body_error is not None:
            await _refuse(response.send, connection.body_error)
        else:
            await self._route(scope, receive, response, connection)
        owner, error = scope.get(OWNER_OF_REQUEST), response.error
        status = response.status
        if status == UNAUTHORIZED and owner is None:
            self._add_unauthorized(method, raw_path, error, dict(scope["headers"]))
        self._log.add(method, raw_path, status, started_ms, request_id, owner, error)

    async def answer(
        self, exchange: Exchange, connection: ClientConnection | None, send: Send | None = None
    ) -> None:
        """Answer a request of the contract; without a connection it needs `send`."""
        started_ms = self._log.start()
        status = await self._api.answer(exchange, connection, send, started_ms=started_ms)
        method, path, request_id = exchange.method, exchange.raw_path, exchange.request_id
        error = exchange.reply.body if status >= FIRST_ERROR else b""
        if status == UNAUTHORIZED and exchange.owner is None:
            self._add_unauthorized(method, path, error, exchange.headers)
        self._log.add(method, path, status, started_ms, request_id, exchange.owner, error)

    def _add_unauthorized(
        self, method: str, path: bytes, error: bytes, headers: Mapping[bytes, bytes]
    ) -> None:
        at_ms, authorization = self._engine.wall.system_ms(), headers.get(b"authorization", b"")
        code = code_in(error)
        self._engine.accounts.unauthorized.add(at_ms, method, path, code, authorization)

    def is_api_port(self, port: int | None) -> bool:
        """Whether a listener serves the contract, and not the pages."""
        return port != self._checkout_port

    def next_request_id(self) -> bytes:
        """The id of a request outside of the contract."""
        self._requests += 1
        return ids.request_id(self._stream, self._requests)

    async def _route(
        self,
        scope: Scope,
        receive: Receive,
        response: _Response,
        connection: ClientConnection | None,
    ) -> None:
        try:
            await self._dispatch(scope, receive, response.send)
        except Refusal as refusal:
            await _refuse(response.send, refusal)
        except ClientDisconnected:
            if connection is not None and connection.body_error is not None:
                await _refuse(response.send, connection.body_error)
        except Exception as error:  # noqa: BLE001 - logged; the client gets a 500
            log_failure(scope["method"], _shown(scope.get("raw_path") or b""), error)
            if not response.is_begun:
                await _answer(response.send, 500, INTERNAL_ERROR_BODY)

    async def _dispatch(self, scope: Scope, receive: Receive, send: Send) -> None:
        method, path = scope["method"], scope["path"]
        if not self.is_api_port(scope["server"][1]):
            if path.startswith(_API_PATHS):
                raise UnknownRoute(method, path, advice=_OTHER_PORT)
            await self._checkout(scope, receive, send)
        elif path == HEALTH and method in ("GET", "HEAD"):
            is_usable = self.is_ready and self._engine.has_database()
            status, word = (200, b"ok") if is_usable else (503, b"unavailable")
            body = b'{"status":"%s","version":"%s"}' % (word, __version__.encode())
            await _answer(send, status, body)
        elif is_page(path) and method in ("GET", "HEAD"):
            await self._dashboard(scope, receive, send)
        elif path.startswith("/_emulator/"):
            await self._control(scope, receive, send)
        else:
            raise UnknownRoute(method, path)


async def _refuse(send: Send, refusal: Refusal) -> None:
    body = error_body(refusal)
    await _answer(send, status_of(refusal), body, *error_headers(refusal))


async def _answer(send: Send, status: int, body: bytes, *more: Header) -> None:
    headers = [_JSON, (b"content-length", b"%d" % len(body)), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


# Many requests have the same path.
@lru_cache(maxsize=64)
def _shown(raw: bytes) -> str:
    """The path for a log line: percent-encoded, without query and keys."""
    path = raw.decode("ascii", "replace").replace('"', "%22").replace("\\", "%5C")
    if not path.isprintable():
        path = escape_controls(path)
    return mask_keys(path)
