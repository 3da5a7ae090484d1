"""The outermost layer, with the id and the log line of each request, and the guard of pages.

The guard protects everything outside of `/v1` from foreign hosts and from web pages.
"""

import asyncio
from collections.abc import Callable

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from emulator import ids
from emulator.clock import SystemClock
from emulator.domain.errors import ForbiddenOrigin, NotReady
from emulator.domain.hosts import authority, is_ip_literal, is_local_name, split_host
from emulator.domain.instants import Instant, format_instant
from emulator.server.api.errors import code_in
from emulator.server.api.exchange import FIRST_ERROR, NO_STATUS, raw_path_of, refused, shown_path
from emulator.server.api.layers import REQUEST_ID, STATUS
from emulator.server.engine.engine import Engine
from emulator.server.engine.state.account import OWNER_OF_REQUEST, Owner

HEALTH = "/_emulator/health"
OK = 200
_NO_STORE = (b"cache-control", b"no-store")
UNAUTHORIZED = 401
WRITTEN_EVERY_S = 0.05
MAX_WAITING_LINES = 256
MAX_SHOWN_HOST_CHARACTERS = 253
_PAGES = frozenset({"/", "/_emulator", "/_emulator/", "/_emulator/view", "/favicon.ico"})
_GUARDED = frozenset({b"host", b"origin", b"sec-fetch-site", b"sec-fetch-mode", b"sec-fetch-dest"})


class RequestLog:
    """One line for each request; lines are written together, because each write wakes a thread."""

    def __init__(self, write: Callable[[str], object], *, as_json: bool) -> None:
        self._write = write
        self._line = _json_line if as_json else _text_line
        self._lines: list[str] = []

    def flush(self) -> None:
        """Write the lines that are not written yet."""
        if self._lines:
            self._write("".join(self._lines))
            self._lines.clear()

    def add(self, scope: Scope, at_ms: Instant, status: int, code: str, took_ms: float) -> None:
        """Add the line of a request; `code` is the code of a refusal, or empty."""
        self._lines.append(self._line(scope, format_instant(at_ms), status, code, took_ms))
        if len(self._lines) == 1:
            asyncio.get_running_loop().call_later(WRITTEN_EVERY_S, self.flush)
        elif len(self._lines) >= MAX_WAITING_LINES:
            self.flush()


def _text_line(scope: Scope, at: str, status: int, code: str, took_ms: float) -> str:
    # A reader of the text format knows the date.
    path, refusal = shown_path(scope["raw_path"]), f" {code}" if code else ""
    return f"{at[11:23]} {scope['method']} {path} {status}{refusal} {took_ms:.1f} ms\n"


def _json_line(scope: Scope, at: str, status: int, code: str, took_ms: float) -> str:
    owner: Owner | None = scope.get(OWNER_OF_REQUEST)
    members = {
        "at": at,
        "level": "error" if status >= 500 else "warning" if status >= 400 else "info",
        "request_id": scope[REQUEST_ID].decode(),
        "account": None if owner is None else owner.account.profile.id,
        "mode": None if owner is None else owner.mode,
        "method": scope["method"],
        "path": shown_path(scope["raw_path"]),
        "status": status,
        **({"code": code} if code else {}),
        "duration_ms": round(took_ms, 1),
    }
    return f"{msgspec.json.encode(members).decode()}\n"


class RequestLayer:
    """Adds the headers of every response, writes the log, and collects requests without a key."""

    def __init__(self, app: ASGIApp, *, engine: Engine, log: RequestLog, stream: bytes) -> None:
        """`stream` is the stream of the ids of the requests that are not of the contract."""
        self._app = app
        self._engine = engine
        self._log = log
        self._stream = stream
        self._requests = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        wall: SystemClock = self._engine.wall
        # As it was sent, without the query; some servers leave it out.
        scope["raw_path"] = raw_path_of(scope)
        started_ms, status, error = wall.monotonic_ms(), NO_STATUS, b""

        async def complete(message: Message) -> None:
            nonlocal status, error
            if message["type"] == "http.response.start":
                status = scope[STATUS] = message["status"]
                request_id = (b"request-id", self._request_id(scope))
                headers = message["headers"] = [*message["headers"], request_id]
                if b"cache-control" not in dict(headers):
                    headers.append(_NO_STORE)
            elif status >= FIRST_ERROR:
                error = error or message.get("body", b"")
            await send(message)

        if self._engine.is_open:
            await self._app(scope, receive, complete)
        else:
            await refused(NotReady()).send(complete)
        self._request_id(scope)
        at_ms, code = wall.system_ms(), code_in(error) if error else ""
        if status == UNAUTHORIZED and OWNER_OF_REQUEST not in scope:
            authorization = dict(scope["headers"]).get(b"authorization", b"")
            unauthorized = self._engine.accounts.unauthorized
            unauthorized.add(at_ms, scope["method"], scope["raw_path"], code, authorization)
        if status != OK or scope["path"] != HEALTH:
            self._log.add(scope, at_ms, status, code, wall.monotonic_ms() - started_ms)

    def _request_id(self, scope: Scope) -> bytes:
        """The id of a request; the layer of the contract has set the ids of its requests."""
        if REQUEST_ID not in scope:
            self._requests += 1
            scope[REQUEST_ID] = ids.request_id(self._stream, self._requests)
        request_id: bytes = scope[REQUEST_ID]
        return request_id


def is_page(path: str) -> bool:
    """Whether people open the path, or their browsers do for a page."""
    return path in _PAGES or path.startswith("/_emulator/view/")


def check_host(engine: Engine, scope: Scope) -> dict[bytes, bytes]:
    """Refuse a `Host` that an attacker's DNS could resolve to this machine.

    Returns the checked headers; a repeated one is ambiguous. Raises ForbiddenOrigin.
    """
    headers: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        if name in _GUARDED:
            if name in headers:
                raise ForbiddenOrigin(f"The header '{name.decode()}' is given more than once.")
            headers[name] = value
    host = split_host(headers.get(b"host", b"").decode("latin-1"))
    if not host:
        raise ForbiddenOrigin("The header 'Host' is empty or missing.")
    if not (
        is_ip_literal(host)
        or is_local_name(host)
        or host in engine.settings.allowed_hosts
        # The address of the pages may change while the program runs.
        or host == split_host(authority(engine.payments.checkout_base))
    ):
        shown = host[:MAX_SHOWN_HOST_CHARACTERS]
        raise ForbiddenOrigin(
            f"The host '{shown}' is not an accepted name of this machine."
            f" Accept it with --allowed-hosts {shown}."
        )
    return headers


class Guard:
    """Refuses web pages of other origins as well."""

    def __init__(self, app: ASGIApp, *, engine: Engine) -> None:
        self._app = app
        self._engine = engine

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Raises ForbiddenOrigin."""
        headers = check_host(self._engine, scope)
        origin = headers.get(b"origin")
        # Without the scheme, which a proxy in front changes; `null` has no host at all.
        if origin is not None and origin.partition(b"://")[2] != headers.get(b"host"):
            raise ForbiddenOrigin("A web page of another origin may not call the control API.")
        if headers.get(b"sec-fetch-site") == b"cross-site" and not _is_navigation(headers, scope):
            raise ForbiddenOrigin("A web page of another site may not call the control API.")
        await self._app(scope, receive, send)


def _is_navigation(headers: dict[bytes, bytes], scope: Scope) -> bool:
    """Whether a person opens a page by a link."""
    return (
        is_page(scope["path"])
        and scope["method"] == "GET"
        and headers.get(b"sec-fetch-mode") == b"navigate"
        and headers.get(b"sec-fetch-dest") == b"document"
    )
