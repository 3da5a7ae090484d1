"""How a scripted fault spoils an answer (`faults` of a scenario)."""

from emulator.api.errors import INTERNAL_ERROR_BODY, error_body, error_headers, error_object
from emulator.api.exchange import CutReply, Header, Reply
from emulator.clock import SystemClock, pause
from emulator.domain.errors import RateLimitExceeded
from emulator.domain.faults import Fault, Point

_INTERNAL_ERROR = 500
_TOO_MANY_REQUESTS = 429
_BAD_REQUEST = error_object("invalid_request_body", "The request cannot be processed.")
# What the contract says with these statuses; with any other below 500 the request is just bad.
_BODIES = {
    401: error_object("invalid_api_key", "The API key is not known here."),
    404: error_object("payment_not_found", "There is no such payment."),
    409: error_object(
        "idempotency_key_in_use",
        "A request with this idempotency key is still being processed.",
        "idempotency_key",
    ),
}
_HEADERS: dict[int, Header] = {
    401: (b"www-authenticate", b"Bearer"),
    409: (b"retry-after", b"1"),
}


def is_late(fault: Fault) -> bool:
    """Whether it strikes when all is done; before the commit otherwise."""
    return fault.point is Point.AFTER_COMMIT


async def inject_before(fault: Fault, wall: SystemClock) -> Reply | None:
    """What is answered before anything is done; None where the true answer only comes later."""
    await _keep_waiting(fault, wall)
    if fault.status is None and not (fault.drop or fault.truncate):
        return None
    return _cut(fault, _scripted(fault))


async def inject_after(fault: Fault, wall: SystemClock, reply: Reply) -> Reply:
    """What becomes of a true answer whose work is done."""
    await _keep_waiting(fault, wall)
    return _cut(fault, reply if fault.status is None else _scripted(fault))


async def _keep_waiting(fault: Fault, wall: SystemClock) -> None:
    # Wire time: the client's own time-out is what a latency tests.
    if fault.latency_ms:
        await pause(wall, fault.latency_ms)


def _cut(fault: Fault, reply: Reply) -> Reply:
    if not (fault.drop or fault.truncate):
        return reply
    cut_at = None if fault.drop else len(reply.body) // 2
    return CutReply(reply.status, reply.body, reply.headers, cut_at=cut_at)


def _scripted(fault: Fault) -> Reply:
    """The contract's error of the fault's status, 500 where it names none."""
    status = fault.status or _INTERNAL_ERROR
    if status == _TOO_MANY_REQUESTS:
        limited = RateLimitExceeded(retry_after_s=fault.retry_after_s or 1, clock_is_frozen=False)
        return Reply(status, error_body(limited), error_headers(limited))
    headers = dict([_HEADERS[status]] if status in _HEADERS else [])
    if fault.retry_after_s is not None:
        headers[b"retry-after"] = b"%d" % fault.retry_after_s
    body = INTERNAL_ERROR_BODY if status >= _INTERNAL_ERROR else _BODIES.get(status, _BAD_REQUEST)
    return Reply(status, body, list(headers.items()))
