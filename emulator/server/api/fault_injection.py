"""Executes the effect of a scripted fault on a request (`faults` of a scenario)."""

from http import HTTPStatus

from emulator.clock import SystemClock, pause
from emulator.domain.errors import RateLimitExceeded
from emulator.domain.faults import Cut, GatewayBody, Point, RequestEffect
from emulator.server.api.errors import INTERNAL_ERROR_BODY, error_body, error_headers, error_object
from emulator.server.api.exchange import COMMON_LINES, GatewayReply, Header, Reply

_INTERNAL_ERROR = 500
_TOO_MANY_REQUESTS = 429
_BAD_REQUEST = error_object("invalid_request_body", "The request cannot be processed.")
# What the contract says with these statuses; with any other below 500 the request is just bad.
_BODIES = {
    401: error_object("invalid_api_key", "The API key is unknown."),
    404: error_object("payment_not_found", "There is no such payment."),
    409: error_object(
        "idempotency_key_in_use",
        "A request with this idempotency key is still being processed.",
        "idempotency_key",
    ),
}
_HEADERS: dict[int, Header] = {401: (b"www-authenticate", b"Bearer"), 409: (b"retry-after", b"1")}


_PAGE = "<!doctype html>\n<title>{0}</title>\n<h1>{0}</h1>\n"
_TYPES = {
    GatewayBody.HTML.value: b"content-type: text/html\r\n",
    GatewayBody.EMPTY.value: b"",
}
_TEXT = b"content-type: text/plain; charset=utf-8\r\n"
_, _AFTER_TYPE = COMMON_LINES.split(b"\r\n", 1)
_PHRASES = {int(status): f"{status.value} {status.phrase}" for status in HTTPStatus}


def is_late(effect: RequestEffect) -> bool:
    """Whether it applies after the commit; before it otherwise."""
    return effect.point is Point.AFTER_COMMIT


async def inject_before(effect: RequestEffect, wall: SystemClock) -> Reply | None:
    """The response instead of the request's work; None where the work follows a delay."""
    await _delay(effect, wall)
    if effect.status is None and effect.cut is None:
        return None
    return _cut(effect, _scripted(effect))


async def inject_after(effect: RequestEffect, wall: SystemClock, reply: Reply) -> Reply:
    """The response after the request's work is done."""
    await _delay(effect, wall)
    return _cut(effect, reply if effect.status is None else _scripted(effect))


async def _delay(effect: RequestEffect, wall: SystemClock) -> None:
    # Wire time: a latency tests the client's own time-out.
    if effect.delay_ms:
        await pause(wall, effect.delay_ms)


def _cut(effect: RequestEffect, reply: Reply) -> Reply:
    if effect.cut is None:
        return reply
    return reply.drop() if effect.cut is Cut.BEFORE_RESPONSE else reply.cut()


def _scripted(effect: RequestEffect) -> Reply:
    """The contract's error of the status, by default 500, or that of a gateway."""
    status = effect.status or _INTERNAL_ERROR
    if status == _TOO_MANY_REQUESTS and effect.body is None:
        limited = RateLimitExceeded(retry_after_s=effect.retry_after_s or 1, clock_is_frozen=False)
        return Reply(status, error_body(limited), error_headers(limited))
    headers = dict([_HEADERS[status]] if status in _HEADERS else [])
    if effect.retry_after_s is not None:
        headers[b"retry-after"] = b"%d" % effect.retry_after_s
    if effect.body is not None:
        lines = _TYPES.get(effect.body, _TEXT) + _AFTER_TYPE
        return GatewayReply(
            status, _gateway_body(effect.body, status), [*headers.items()], lines=lines
        )
    body = INTERNAL_ERROR_BODY if status >= _INTERNAL_ERROR else _BODIES.get(status, _BAD_REQUEST)
    return Reply(status, body, list(headers.items()))


def _gateway_body(body: str, status: int) -> bytes:
    if body == GatewayBody.EMPTY:
        return b""
    page = _PAGE.format(_PHRASES.get(status, status))
    return (page if body == GatewayBody.HTML else body).encode()
