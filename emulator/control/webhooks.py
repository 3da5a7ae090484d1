"""Endpoints and deliveries over HTTP: who is told of events, and what became of it."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from emulator.control.calls import Calls
from emulator.control.fields import Fields, required, word_of
from emulator.control.pages import limit_of
from emulator.control.replies import MEDIA_TYPE, no_content, reply, written
from emulator.domain.errors import InvalidField
from emulator.domain.instants import format_instant
from emulator.domain.webhooks import (
    EVENT_TYPES_IN_ORDER,
    Attempt,
    DeliveryState,
    Endpoint,
    Profile,
    is_webhook_secret,
)
from emulator.engine.delivery.deliveries import Deliveries, DeliveryDetail, DeliveryFilter
from emulator.engine.delivery.endpoints import Endpoints, EndpointTerms

DELIVERIES_A_PART = 20

_TERMS = ("url", "events", "secret", "profile")


class EndpointCalls:
    """`/webhook_endpoints`."""

    def __init__(self, calls: Calls, endpoints: Endpoints, deliveries: Deliveries) -> None:
        self._calls = calls
        self._endpoints = endpoints
        self._deliveries = deliveries

    async def create(self, request: Request) -> Response:
        call = await self._calls.decode(request, body=_TERMS)
        terms = _terms(call.fields)
        url = required(terms.url, "url")
        return reply(_shown(await self._endpoints.create(call.owner, url, terms)), status=201)

    async def list(self, request: Request) -> Response:
        call = await self._calls.decode(request)
        return reply({"data": [_shown(endpoint) for endpoint in self._endpoints.all(call.owner)]})

    async def get(self, request: Request) -> Response:
        call = await self._calls.decode(request)
        return reply(_shown(self._endpoints.get(call.owner, _id(request))))

    async def change(self, request: Request) -> Response:
        call = await self._calls.decode(request, body=(*_TERMS, "enabled"))
        terms = _terms(call.fields)
        return reply(_shown(await self._endpoints.change(call.owner, _id(request), terms)))

    async def delete(self, request: Request) -> Response:
        call = await self._calls.decode(request, body=())
        await self._endpoints.delete(call.owner, _id(request))
        return no_content()

    async def rotate(self, request: Request) -> Response:
        call = await self._calls.decode(request, body=("secret",))
        secret = _secret(call.fields)
        return reply(_shown(await self._endpoints.rotate(call.owner, _id(request), secret)))

    async def ping(self, request: Request) -> Response:
        call = await self._calls.decode(request, body=())
        return reply(_delivery(await self._deliveries.ping(call.owner, _id(request))))


class DeliveryCalls:
    """`/deliveries`."""

    def __init__(self, calls: Calls, deliveries: Deliveries) -> None:
        self._calls = calls
        self._deliveries = deliveries

    async def list(self, request: Request) -> Response:
        call = await self._calls.decode(request, query=("limit", "payment", "endpoint", "status"))
        status = call.query.get("status")
        wanted = DeliveryFilter(
            limit=limit_of(call.query),
            payment_id=call.query.get("payment"),
            endpoint_id=call.query.get("endpoint"),
            state=None if status is None else word_of(status, DeliveryState, "status"),
        )
        found = await self._deliveries.newest(call.owner, wanted)
        return StreamingResponse(_listed(found), media_type=MEDIA_TYPE)

    async def get(self, request: Request) -> Response:
        call = await self._calls.decode(request)
        return reply(_delivery(await self._deliveries.get(call.owner, _delivery_id(request))))

    async def resend(self, request: Request) -> Response:
        call = await self._calls.decode(request, body=())
        return reply(_delivery(await self._deliveries.resend(call.owner, _delivery_id(request))))


def _listed(records: Sequence[DeliveryDetail]) -> Iterator[bytes]:
    """The answer in parts, since what endpoints have answered can be much."""
    yield b'{"data":['
    for start in range(0, len(records), DELIVERIES_A_PART):
        part = [_delivery(record) for record in records[start : start + DELIVERIES_A_PART]]
        yield (b"," if start else b"") + msgspec.json.encode(part)[1:-1]
    yield b"]}"


def _id(request: Request) -> str:
    return str(request.path_params["endpoint_id"])


def _delivery_id(request: Request) -> str:
    return str(request.path_params["delivery_id"])


def _terms(fields: Fields) -> EndpointTerms:
    return EndpointTerms(
        url=fields.url("url"),
        events=fields.words("events", EVENT_TYPES_IN_ORDER),
        secret=_secret(fields),
        profile=fields.word("profile", Profile),
        is_enabled=fields.flag("enabled"),
    )


def _secret(fields: Fields) -> str | None:
    secret = fields.text("secret")
    if secret is not None and not is_webhook_secret(secret):
        # A secret is not repeated, not even one that is wrong.
        raise InvalidField("secret", '"secret" must be whsec_ and the base64 of 24 to 64 bytes.')
    return secret


def _shown(endpoint: Endpoint) -> dict[str, object]:
    return {
        "id": endpoint.id,
        "url": endpoint.url,
        "events": endpoint.events,
        "secret": endpoint.secret,
        "profile": endpoint.profile,
        "enabled": endpoint.is_enabled,
    }


def _delivery(record: DeliveryDetail) -> dict[str, object]:
    job = record.job
    delivery = job.delivery
    return {
        "id": record.id,
        "event": job.event_id,
        "type": job.event_type,
        "payment": job.payment_id,
        "endpoint": record.endpoint_id,
        "status": delivery.state,
        "created_at": format_instant(delivery.created_at),
        "oddity": None if delivery.oddity is None else written(delivery.oddity),
        "next_attempt_at": (None if delivery.due_at is None else format_instant(delivery.due_at)),
        "attempts": [_attempt(record, attempt) for attempt in record.attempts],
    }


def _attempt(record: DeliveryDetail, attempt: Attempt) -> dict[str, object]:
    result = attempt.result
    response = result.response
    return {
        "number": attempt.number,
        "at": format_instant(attempt.at),
        "trigger": attempt.trigger,
        "tampered": attempt.tamper,
        "request": {
            "url": attempt.url,
            "headers": _headers(attempt.headers),
            "body": record.job.sent_body(attempt.tamper).decode(),
        },
        "status": None if response is None else response.status,
        "response": (
            None
            if response is None
            else {"headers": _headers(response.headers), "body": response.body}
        ),
        "error": result.error,
        "cause": result.cause,
        "duration_ms": result.duration_ms,
    }


def _headers(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Headers by name; of those that came several times the values are joined, as HTTP says."""
    headers: dict[str, str] = {}
    for name, value in pairs:
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers
