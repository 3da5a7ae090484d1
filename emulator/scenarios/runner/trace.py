"""Collects what the emulator recorded of a case: its events, requests and deliveries.

`WebhookInbox` receives the webhooks, in an order that is equal in every run.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import msgspec

from emulator.domain.payment import Status
from emulator.domain.webhooks import Tamper
from emulator.http import emulator_calls as calls
from emulator.http.client import EmulatorClient
from emulator.http.received_webhooks import ReceivedRequest, ReceivedWebhook, WebhookReceiver
from emulator.scenarios.runner.results import Trace, TracedEvent, TracedRequest, TracedWebhook
from emulator.scenarios.runner.step_executor import StepExecutor
from emulator.scenarios.values import Json
from emulator.summaries import payment_summary

MAX_PAYMENTS = 10


class Arrival(NamedTuple):
    """A webhook, and the number of the step during which it arrived."""

    step: int
    webhook: ReceivedWebhook


class WebhookInbox:
    """The webhooks of one case; `step` is the number of the current step."""

    def __init__(self, client: EmulatorClient, executor: StepExecutor) -> None:
        self.step = 0
        self.endpoint_id = ""
        self.deliveries: Sequence[Mapping[str, Json]] = ()
        self._client = client
        self._executor = executor
        self._secret = ""
        self._form: Mapping[str, Json] = {}
        self._arrivals: list[Arrival] = []

    async def register(self, receiver: WebhookReceiver) -> None:
        """Create an endpoint for the webhooks. Raises PaymentsEmulatorError."""
        url = receiver.base_url + receiver.register(self._receive)
        endpoint = await self._client.call(calls.CREATE_ENDPOINT(body={"url": url}))
        self.endpoint_id = str(endpoint["id"])
        self._secret, self._form = str(endpoint["secret"]), endpoint["format"]

    def _receive(self, request: ReceivedRequest) -> None:
        self._arrivals.append(Arrival(step=self.step, webhook=request.read(self._form)))

    async def webhooks(self) -> list[TracedWebhook]:
        """The webhooks that were due so far, in the order of arrival.

        The emulator has several concurrent attempts. Webhooks of different payments that are due
        at the same instant arrive in any order; they are sorted by payment.
        """
        await self._executor.advance(0)
        self.deliveries = await _oldest_first(self._client, calls.DELIVERIES)
        return in_order(self._arrivals, self.deliveries, self._secret)

    def delivery_failure(self) -> str | None:
        """The first failed attempt, which may explain missing webhooks."""
        for delivery in self.deliveries:
            for attempt in delivery["attempts"]:
                if attempt["error"] is not None:
                    reason = ". ".join(filter(None, (attempt["error"], attempt["cause"])))
                    return f"the emulator could not deliver {delivery['type']}: {reason}"
        return None


def in_order(
    arrivals: Sequence[Arrival], deliveries: Sequence[Mapping[str, Json]], secret: str
) -> list[TracedWebhook]:
    """The arrivals in order; `deliveries`, the oldest first, contain the instants of attempts."""
    instants: dict[str, list[str]] = defaultdict(list)
    ranks: dict[str | None, int] = {}
    # By these, an event is known in a form without its id.
    ids: dict[tuple[str | None, str], str] = {}
    for delivery in deliveries:
        ids[delivery["payment"], delivery["type"]] = delivery["event"]
        ranks.setdefault(delivery["payment"], len(ranks))
        instants[delivery["event"]] += [attempt["at"] for attempt in delivery["attempts"]]
    remaining = {event: iter(sorted(ats)) for event, ats in instants.items()}
    # Only its age makes such a webhook invalid, and real time is not the account's.
    stale = {
        delivery["event"]
        for delivery in deliveries
        if any(attempt.get("tampered") == Tamper.STALE for attempt in delivery["attempts"])
    }
    webhooks: list[TracedWebhook] = []
    for step, webhook in arrivals:
        event_id = webhook.id or ids.get((webhook.payment, webhook.type), "")
        is_correct = not webhook.is_signed or webhook.is_signed_with(secret)
        traced = TracedWebhook(
            step=step,
            at=next(remaining.get(event_id, iter(())), ""),
            type=webhook.type,
            payment=webhook.payment,
            id=webhook.id,
            timestamp=webhook.timestamp,
            signature=webhook.signature,
            body=webhook.body.decode("utf-8", "replace"),
            is_genuine=is_correct and event_id not in stale,
        )
        webhooks.append(traced)
    return sorted(
        webhooks,
        key=lambda webhook: (webhook.step, webhook.at, ranks.get(webhook.payment, len(ranks))),
    )


async def collect_trace(client: EmulatorClient, inbox: WebhookInbox | None, *, since: str) -> Trace:
    """The latest events, requests and webhooks, and the payments since an instant.

    Raises PaymentsEmulatorError.
    """
    webhooks = [] if inbox is None else await inbox.webhooks()
    deliveries = await _oldest_first(client, calls.DELIVERIES)
    events = await _oldest_first(client, calls.EVENTS)
    requests = await _oldest_first(client, calls.REQUESTS)
    details = [
        await client.send(calls.PAYMENT(payment_id))
        for payment_id in dict.fromkeys(event["data"]["id"] for event in events)
    ]
    timelines = [detail.member("timeline") or () for detail in details]
    transitions = (
        (Status(before["status"]), Status(after["status"]))
        for timeline in timelines
        for before, after in pairwise(timeline)
        if before["status"] != after["status"]
    )
    last_reasons = {
        detail.json["payment"]["id"]: detail.json["reason"]
        for detail in details
        if detail.is_success
    }
    payments = await client.send(calls.NEWEST_PAYMENTS(limit=MAX_PAYMENTS, created_gte=since))
    reasons = {
        entry["id"]: entry["reason"]
        for timeline in timelines
        for entry in timeline
        if entry["reason"]
    }
    return Trace(
        events=tuple(
            # Only the timeline of its payment contains the reason.
            TracedEvent(
                id=event["id"],
                at=event["timestamp"],
                type=event["type"],
                payment=event["data"]["id"],
                reason=reasons.get(event["id"]),
            )
            for event in events
        ),
        payments=tuple(
            payment_summary(
                payment,
                last_reasons.get(payment["id"]),
                [each["status"] for each in deliveries if each["payment"] == payment["id"]],
            )
            for payment in reversed(payments.member("data") or ())
        ),
        transitions=tuple(dict.fromkeys(transitions)),
        reasons=tuple(dict.fromkeys(reasons.values())),
        redirects=tuple(filter(None, (detail.member("redirect") for detail in details))),
        webhooks=tuple(webhooks),
        requests=tuple(msgspec.convert(requests, list[TracedRequest])),
        webhook_faults=tuple(delivery["fault"] for delivery in deliveries if delivery.get("fault")),
        is_cut=any(len(entries) >= calls.MAX_ENTRIES for entries in (events, requests, deliveries)),
    )


async def _oldest_first(
    client: EmulatorClient, call: calls.EmulatorCall[list[calls.Json]]
) -> list[calls.Json]:
    response = await client.send(call(limit=calls.MAX_ENTRIES))
    entries = response.member("data")
    return entries[::-1] if isinstance(entries, list) else []
