"""Servers with errors in what becomes of a payment, in redirects and in webhooks.

A run against one of them has a customer. What the customer and the handler of webhooks see is
changed instead of a reply where the API does not show it.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from emulator.http.received_webhooks import ReceivedWebhook
from tests.tools.verify.payer import Seen
from tests.tools.verify.wrong import Change, Object, Reply, Request, Serve, fields, retrieved

COMPLETED_AT = "2026-06-01T00:00:00.000Z"
ENDED = {"completed", "failed"}


def ended(*among: str, **members: Any) -> Change:
    """Payments that have ended with one of these statuses have other members when retrieved."""
    return fields(
        lambda request, reply: retrieved(request, reply) and reply.json["status"] in among,
        **members,
    )


def slow(polls: int) -> Change:
    """An ended payment is processing until it was retrieved so often."""

    def is_early(request: Request, reply: Reply) -> bool:
        has_ended = retrieved(request, reply) and reply.json["status"] in ENDED
        return has_ended and sum(each.path == request.path for each, _ in request.earlier) < polls

    return fields(is_early, status="processing", completed_at=None)


async def attempts(request: Request, serve: Serve) -> Reply:
    """A payment that has ended is processing when it is retrieved first, and then pending."""
    reply = await slow(1)(request, serve)
    if not (retrieved(request, reply) and reply.json["status"] in ENDED):
        return reply
    members = {"status": "pending", "method": None, "completed_at": None}
    return reply.with_json({**reply.json, **members})


def is_after_one_by_bank(request: Request, reply: Reply) -> bool:
    return retrieved(request, reply) and any(
        each.is_retrieve and earlier.json.get("method") == "bank_transfer"
        for each, earlier in request.earlier
    )


def event(edit: Callable[[Object], Object]) -> Seen:
    """Every webhook has another event."""

    def edited(webhook: ReceivedWebhook) -> list[ReceivedWebhook]:
        return [replace(webhook, body=json.dumps(edit(dict(webhook.event))).encode())]

    return Seen(webhooks=edited, has_secret=False)


def header(name: str, value: str | None) -> Seen:
    """Every webhook has another header; None is none."""

    def edited(webhook: ReceivedWebhook) -> list[ReceivedWebhook]:
        headers = {**webhook.headers, name: value or ""}
        return [replace(webhook, headers={k: v for k, v in headers.items() if v})]

    return Seen(webhooks=edited)


CHANGES: Mapping[str, Change] = {
    "fails each payment: 4.4.1 4.4.2 (4.2.5)": ended(
        "completed", status="failed", completed_at=None
    ),
    "completes each payment: 4.4.1 4.4.3 4.4.4 4.4.5 8.6 (4.4.7)": ended(
        "failed", status="completed", completed_at=COMPLETED_AT
    ),
    "expires failures: 4.4.1 4.4.3 (3.2 4.2.5 4.4.4 4.4.5 4.4.7)": ended(
        "failed", status="expired"
    ),
    "refunds at once: 4.4.1 4.4.2 4.4.3 (3.2 4.2.5 4.4.4 4.4.5 4.4.7)": ended(
        *ENDED, status="refunded"
    ),
    "never ends a payment: 4.4.1 4.4.2 4.4.3 4.4.4 8.6 (4.4.5 4.4.7)": ended(
        *ENDED, status="processing", completed_at=None
    ),
    "takes more time: 4.4.1 4.4.2 4.4.4 8.6 (4.4.3 4.4.7)": slow(21),
    "has another attempt: 4.4.1 4.4.2 (3.2 3.4 4.4.4 4.4.5 4.4.7)": attempts,
    "has no method: 1.6": ended(*ENDED, "processing", method=None),
    "has another method: 1.6 (2.1.17)": ended(*ENDED, method="cash"),
    "fails after the button: (3.3 4.2.5)": fields(is_after_one_by_bank, status="failed"),
}
SEEN: Mapping[str, Seen] = {
    "appends to URLs: (1.7 1.8)": Seen(address=lambda url: url and f"{url}&payment=1"),
    "redirects elsewhere: 1.7 1.8": Seen(address=lambda url: url and "https://other.example/"),
    "redirects to no URL: 1.7 1.8": Seen(address=lambda url: url and "http://["),
    "does not redirect: 1.7 1.8": Seen(address=lambda _: ""),
    "redirects after each failure: (1.8)": Seen(
        address=lambda url: url or "https://other.example/"
    ),
    "sends other types: (6.2)": event(lambda event: {**event, "type": "charge.success"}),
    "sends no id: 6.1": event(lambda event: {"type": event["type"]}),
    "sends another member: (6.3)": event(lambda event: {**event, "version": 1}),
    "sends less of a payment: (6.3)": event(
        lambda event: {**event, "data": {"id": event["data"]["id"]}}
    ),
    "sends twice: (6.4)": Seen(webhooks=lambda webhook: [webhook, webhook]),
    "announces only new payments: (4.2.5)": Seen(
        webhooks=lambda webhook: [webhook] * (webhook.type == "payment.created")
    ),
    "signs otherwise: (6.5)": header("webhook-signature", None),
    "signs wrong: (6.5)": header("webhook-signature", "v1,abc"),
}
