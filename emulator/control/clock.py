"""An account's clock over HTTP: read, set, advanced."""

from collections.abc import Iterator

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from emulator.control.calls import Calls
from emulator.control.fields import CLOCK, Fields
from emulator.control.replies import MEDIA_TYPE, reply
from emulator.domain.errors import InvalidField
from emulator.domain.instants import format_instant
from emulator.domain.received_values import not_accepted
from emulator.engine.accounts.clock_service import Advanced, ClockService, ClockState, Target

# A part of the answer costs the event loop well under a millisecond.
EFFECTS_A_PART = 2_000

WAYS = ("seconds", "until", "to")
NEXT = "next"
BACKGROUND = "background"


class ClockCalls:
    """`/clock` and `/clock/advance`."""

    def __init__(self, calls: Calls, clock_service: ClockService) -> None:
        self._calls = calls
        self._clock_service = clock_service

    async def read(self, request: Request) -> Response:
        call = await self._calls.decode(request)
        return reply(_shown(await self._clock_service.read(call.account)))

    async def set(self, request: Request) -> Response:
        call = await self._calls.decode(request, body=("now", "frozen"))
        reading = await self._clock_service.set(
            call.account,
            now=call.fields.instant("now"),
            frozen=call.fields.flag("frozen", kind=CLOCK),
        )
        return reply(_shown(reading))

    async def advance(self, request: Request) -> Response:
        call = await self._calls.decode(request, body=(*WAYS, "webhooks"))
        waits = _waits_for_webhooks(call.fields)
        way = _only_way(call.fields)
        target = _target(call.fields, way, waits=waits)
        advanced = await self._clock_service.advance(call.account, target, param=way)
        parts = _written(advanced)
        if len(advanced.effects) <= EFFECTS_A_PART:
            return Response(b"".join(parts), media_type=MEDIA_TYPE)
        return StreamingResponse(parts, media_type=MEDIA_TYPE)


def _only_way(fields: Fields) -> str:
    ways = [way for way in WAYS if fields.has(way)]
    if len(ways) != 1:
        raise InvalidField(
            ways[-1] if ways else WAYS[0],
            f"The body must have exactly one of: {', '.join(WAYS)}"
            f" (got {', '.join(ways) or 'none'}).",
            kind=CLOCK,
        )
    return ways[0]


def _target(fields: Fields, way: str, *, waits: bool) -> Target:
    if way == "seconds":
        return Target(by_ms=fields.span_ms(way), waits=waits)
    if way == "until":
        return Target(until=fields.instant(way), waits=waits)
    to = fields.text(way, kind=CLOCK)
    if to != NEXT:
        raise not_accepted(way, to, f'"{NEXT}"', kind=CLOCK)
    return Target(waits=waits)


def _waits_for_webhooks(fields: Fields) -> bool:
    webhooks = fields.text("webhooks")
    if webhooks not in (None, BACKGROUND):
        raise not_accepted(
            "webhooks", webhooks, f'"{BACKGROUND}"', advice="Leave it out to wait for the attempts."
        )
    return not fields.has("webhooks")


def _shown(reading: ClockState) -> dict[str, object]:
    following = None
    if reading.next is not None:
        at, kind, payment_id = reading.next
        following = {"at": format_instant(at), "kind": kind, "payment": payment_id}
    shown = {
        "now": format_instant(reading.now),
        "frozen": reading.is_frozen,
        "next": following,
    }
    return shown if reading.is_settled else {**shown, "settled": False}


def _written(advanced: Advanced) -> Iterator[bytes]:
    """The answer in parts, so that a hundred thousand effects do not hold up other requests."""
    yield f'{{"now":"{format_instant(advanced.now)}","effects":['.encode()
    effects = advanced.effects
    for start in range(0, len(effects), EFFECTS_A_PART):
        comma = "," if start else ""
        yield (comma + ",".join(effects[start : start + EFFECTS_A_PART])).encode()
    yield b'],"settled":true}' if advanced.is_settled else b'],"settled":false}'
