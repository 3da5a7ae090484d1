"""Collects what the emulator recorded of a case: its events, requests and deliveries."""

from collections.abc import Mapping, Sequence
from typing import Any

from emulator.domain.payment import Status, event_type
from emulator.http.client import HttpClient
from emulator.replay.emulator_api import CONTROL, MAX_ENTRIES
from emulator.replay.results import Trace, TracedEvent, TracedRequest, TracedWebhook
from emulator.replay.webhook_inbox import WebhookInbox

_FAILED = event_type(Status.FAILED)


async def collect_trace(client: HttpClient, inbox: WebhookInbox | None) -> Trace:
    """The latest events, requests and webhooks. Raises Unreachable."""
    webhooks: list[TracedWebhook] = []
    deliveries: Sequence[Mapping[str, Any]] = ()
    if inbox is not None:
        webhooks = await inbox.webhooks()
        deliveries = inbox.deliveries
    events = await _oldest_first(client, "events")
    requests = await _oldest_first(client, "requests")
    return Trace(
        events=tuple(await _with_reasons(client, events)),
        webhooks=tuple(webhooks),
        requests=tuple(map(_request, requests)),
        oddities=tuple(delivery["oddity"] for delivery in deliveries if delivery.get("oddity")),
        is_cut=any(len(entries) >= MAX_ENTRIES for entries in (events, requests, deliveries)),
    )


async def _oldest_first(client: HttpClient, collection: str) -> list[Mapping[str, Any]]:
    response = await client.request("GET", f"{CONTROL}/{collection}?limit={MAX_ENTRIES}")
    entries = response.member("data")
    return entries[::-1] if isinstance(entries, list) else []


async def _with_reasons(
    client: HttpClient, events: Sequence[Mapping[str, Any]]
) -> Sequence[TracedEvent]:
    """The events with the reasons of failures, which only the timeline of a payment contains."""
    failed = dict.fromkeys(event["data"]["id"] for event in events if event["type"] == _FAILED)
    reasons: dict[str, str | None] = {}
    for payment_id in failed:
        response = await client.request("GET", f"{CONTROL}/payments/{payment_id}")
        for entry in response.member("timeline") or ():
            reasons[entry["id"]] = entry["reason"]
    return [
        TracedEvent(
            id=event["id"],
            at=event["timestamp"],
            type=event["type"],
            payment=event["data"]["id"],
            reason=reasons.get(event["id"]),
        )
        for event in events
    ]


def _request(entry: Mapping[str, Any]) -> TracedRequest:
    return TracedRequest(
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
