"""Dispatches requests to the applications by listener and path, and logs each in one line."""

import asyncio
import json
from collections.abc import Callable, Coroutine, Generator, Mapping
from functools import lru_cache
from typing import Any

from emulator import __version__, ids
from emulator.clock import SystemClock
from emulator.domain.accounts import mask_keys
from emulator.domain.errors import Refusal, UnknownRoute
from emulator.domain.instants import format_instant
from emulator.domain.message_text import escape_controls
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
    FIRST_ERROR,
    ASGIApp,
    Exchange,
    Header,
    Message,
    Receive,
    Reply,
    Scope,
    Send,
    lines_of,
    log_failure,
)
from emulator.server.app.pending_request import PendingRequest
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
        self.monotonic_ms = wall.monotonic_ms

    def add(
        self,
        method: str,
        path: bytes,
        status: int,
        duration_ms: float,
        request_id: bytes,
        owner: Owner | None,
        error: bytes,
    ) -> None:
        """`error` is the body of a refusal."""
        at_ms = self._wall.system_ms()
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
    """The response of an application; it is written whole, unless it has several parts."""

    __slots__ = ("_headers", "_lines", "_request", "error", "is_begun", "status")

    def __init__(self, request: PendingRequest, request_id: bytes) -> None:
        self._request = request
        self._lines = b"request-id: %b\r\n" % request_id
        self._headers: list[Header] = []
        self.status = 0
        self.error = b""
        self.is_begun = False

    async def send(self, message: Message) -> None:
        """The application's `send`; a head is held until the next message."""
        if message["type"] == "http.response.start":
            self.status, self._headers = message["status"], list(message.get("headers", ()))
            if all(name != b"cache-control" for name, _ in self._headers):
                self._lines += b"cache-control: no-store\r\n"
            return
        body, is_last = message.get("body", b""), not message.get("more_body")
        if not self.is_begun:
            self.is_begun = True
            self.error = body if self.status >= FIRST_ERROR else b""
            if is_last:
                self._request.reply(Reply(self.status, body, self._headers), self._lines)
                return
            self._request.begin_stream(self.status, lines_of(self._headers) + self._lines)
        await self._request.send_part(body, is_last=is_last)


class Rest(Coroutine[Any, Any, None]):
    """A coroutine after its first step, as a task executes it: the first step has been done.

    A coroutine that never waits needs no task, which would begin one turn of the event loop later.
    """

    __slots__ = ("_awaited", "_coroutine")

    def __init__(self, coroutine: Coroutine[Any, Any, None], awaited: Any) -> None:
        """`awaited` is what the first step returned, in which there was no current task."""
        self._coroutine = coroutine
        self._awaited = awaited

    def send(self, value: Any) -> Any:
        """What the coroutine waits for, at the first step of the task; then its next step."""
        awaited, self._awaited = self._awaited, self
        return self._coroutine.send(value) if awaited is self else awaited

    def throw(self, *error: Any) -> Any:
        """Raise an error in the coroutine."""
        return self._coroutine.throw(*error)

    def close(self) -> None:
        """End the coroutine."""
        self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, None]:
        """Execute the rest in the task of another coroutine."""
        yield self.send(None)
        return (yield from self._coroutine.__await__())


class Gateway:
    """Answers all requests: `/v1` and `/_emulator` on one listener, the pages on the other."""

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
        self.tasks: set[asyncio.Task[None]] = set()
        self.is_ready = False

    def start(self, request: PendingRequest) -> None:
        """Begin to answer a request; a read of the contract has its response afterwards."""
        path = request.head.path
        is_contract = request.client.is_for_api and (path.startswith("/v1/") or path == "/v1")
        if not is_contract or request.body_error is not None:
            self._continue(self._respond(request))
            return
        answer = self._answer(request)
        try:
            awaited = answer.send(None)
        except StopIteration:
            return
        self._continue(Rest(answer, awaited))

    def _continue(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _answer(self, request: PendingRequest) -> None:
        """Answer a request of the contract."""
        method, path, raw_path, query, _, headers = request.head[:6]
        body, started_ms = bytes(request.body), self._log.monotonic_ms()
        exchange = Exchange(method, path, raw_path, query, headers, body, started_ms)
        if request.head.expects_100 or not request.has_whole_body:
            exchange.receive = request.receive
        reply = await self._api.answer(exchange, request)
        status, owner, request_id = reply.sent_status, exchange.owner, exchange.request_id
        error = reply.body if status >= FIRST_ERROR else b""
        if status == UNAUTHORIZED and owner is None:
            self._add_unauthorized(method, raw_path, error, headers)
        duration_ms = exchange.ended_ms - started_ms
        self._log.add(method, raw_path, status, duration_ms, request_id, owner, error)

    async def _respond(self, request: PendingRequest) -> None:
        """Answer any other request, by an ASGI application."""
        head, started_ms = request.head, self._log.monotonic_ms()
        request_id = self.next_request_id()
        scope: Scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": head.version,
            "method": head.method,
            "path": head.path,
            "raw_path": head.raw_path,
            "query_string": head.query,
            "root_path": "",
            "headers": head.headers,
            "state": {},
            **request.client.addresses,
        }
        response = _Response(request, request_id)
        await self._route(scope, request, response)
        if not request.has_response:
            request.client.close()  # the client is lost, or a stream has failed
        owner, error, status = scope.get(OWNER_OF_REQUEST), response.error, response.status
        if status == UNAUTHORIZED and owner is None:
            self._add_unauthorized(head.method, head.raw_path, error, head.by_name)
        duration_ms = self._log.monotonic_ms() - started_ms
        self._log.add(head.method, head.raw_path, status, duration_ms, request_id, owner, error)

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

    async def _route(self, scope: Scope, request: PendingRequest, response: _Response) -> None:
        try:
            if request.body_error is not None:
                raise request.body_error
            await self._dispatch(scope, request.receive, response.send)
        except Refusal as refusal:
            await _refuse(response.send, refusal)
        except ClientDisconnected:
            if request.body_error is not None:
                await _refuse(response.send, request.body_error)
        except Exception as error:  # noqa: BLE001 - logged; the client gets a 500
            log_failure(request.head.method, _shown(request.head.raw_path), error)
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
