"""What the emulator remembers of a case that has ended: its events, requests and deliveries."""

from collections.abc import Mapping, Sequence
from typing import Any

from emulator.domain.payment import Status, event_type
from emulator.replay.client import Connection
from emulator.replay.results import Event, Request, Trace, Webhook
from emulator.replay.step_executor import CONTROL
from emulator.replay.webhook_inbox import WebhookInbox

MOST = 1_000
_FAILED = event_type(Status.FAILED)


async def collect_trace(connection: Connection, mailbox: WebhookInbox | None) -> Trace:
    """All of it, as far as the emulator tells. Raises Unreachable."""
    webhooks: list[Webhook] = []
    deliveries: Sequence[Mapping[str, Any]] = ()
    if mailbox is not None:
        webhooks = await mailbox.webhooks()
        deliveries = mailbox.deliveries
    events = await _oldest_first(connection, "events")
    requests = await _oldest_first(connection, "requests")
    return Trace(
        events=tuple(await _with_reasons(connection, events)),
        webhooks=tuple(webhooks),
        requests=tuple(map(_request, requests)),
        oddities=tuple(one["oddity"] for one in deliveries if one.get("oddity")),
        is_cut=any(len(found) >= MOST for found in (events, requests, deliveries)),
    )


async def _oldest_first(connection: Connection, collection: str) -> list[Mapping[str, Any]]:
    answer = await connection.ask("GET", f"{CONTROL}/{collection}?limit={MOST}")
    found = answer.member("data")
    return found[::-1] if isinstance(found, list) else []


async def _with_reasons(
    connection: Connection, events: Sequence[Mapping[str, Any]]
) -> Sequence[Event]:
    """The events; only the timeline of a payment tells why it failed."""
    failed = dict.fromkeys(event["data"]["id"] for event in events if event["type"] == _FAILED)
    reasons: dict[str, str | None] = {}
    for payment_id in failed:
        answer = await connection.ask("GET", f"{CONTROL}/payments/{payment_id}")
        for entry in answer.member("timeline") or ():
            reasons[entry["id"]] = entry["reason"]
    return [
        Event(
            id=event["id"],
            at=event["timestamp"],
            type=event["type"],
            payment=event["data"]["id"],
            reason=reasons.get(event["id"]),
        )
        for event in events
    ]


def _request(entry: Mapping[str, Any]) -> Request:
    return Request(
        id=entry["id"],
        at=entry["at"],
        method=entry["method"],
        path=entry["path"],
        query=entry.get("query") or "",
        status=entry.get("status") or None,
        request_body=entry.get("request_body") or "",
        response_body=entry.get("response_body") or "",
        warnings=tuple(entry.get("warnings") or ()),
        error=entry.get("error"),
        fault=entry.get("fault"),
    )
