"""Checks of the webhooks of the payments of a run (contract, sections 4.2 and 6)."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from emulator.clock import pause
from emulator.domain.payment import Status
from emulator.domain.webhook_forms import STANDARD, WebhookForm
from emulator.http.received_webhooks import ReceivedWebhook
from emulator.reporting import counted
from emulator.tools.verify.client import CheckStopped, json_text
from emulator.tools.verify.findings import Check, Findings, assumed, none, stated
from emulator.tools.verify.session import CollectedWebhooks, Session

# How long the last webhook may take.
MAX_ARRIVAL_S = 15
_TYPES = {"payment.created", *(f"payment.{status}" for status in Status)} - {"payment.pending"}


async def _webhooks(session: Session) -> Findings:
    inbox = session.webhooks
    if inbox is None:
        raise CheckStopped("a check needs an address that the service can reach, --webhook-port")
    for _ in range(MAX_ARRIVAL_S):
        if session.client.is_stopped or not _missing(session, inbox, inbox.received):
            break
        await pause(session.client.wall, 1_000)
    if not inbox.received:
        raise CheckStopped("no webhook arrived")
    ids = [id_.encode() for id_ in session.created_ids]
    own = [each for each in inbox.received if any(id_ in each.body for id_ in ids)]
    seen = f"{len(own)} of {counted(len(inbox.received), 'webhook')} with the id of a payment"
    findings = stated(bool(own), seen, "6.1")
    if not own:
        return findings
    missing = [f"no webhook of {each}" for each in _missing(session, inbox, own)]
    findings += assumed(*none(missing, "of each change"), "4.2.5")
    types = [_other_type(each, inbox.form) for each in own]
    findings += assumed(*none(filter(None, types), "the types of the emulator"), "6.2")
    known = [each for each, other in zip(own, types, strict=True) if other is None]
    template, payment = json.loads(inbox.form.body_json), session.first.payment
    members = [
        text for each in known or own for text in _other_members(template, each.event, payment)
    ]
    findings += assumed(*none(members, "the members of the emulator"), "6.3")
    most = max(Counter((each.id, each.body) for each in own).values())
    findings += assumed(most == 1, f"{counted(most, 'delivery', 'deliveries')} after a 200", "6.4")
    return findings + assumed(*none(_signatures(inbox, own), _signing(inbox)), "6.5")


def _other_type(webhook: ReceivedWebhook, form: WebhookForm) -> str | None:
    """The type that differs from the form's types; None where it does not differ."""
    has_type = "{event.type}" in f"{form.body_json}{form.headers}"
    if webhook.sent_type is None:
        return "no type" if has_type else None
    return None if webhook.type in _TYPES else f"`type`: {json_text(webhook.sent_type)}"


def _missing(
    session: Session, inbox: CollectedWebhooks, received: Sequence[ReceivedWebhook]
) -> list[str]:
    """The last status of each payment that has changed, without a webhook that has both."""
    last = {
        str(response.members.get("id")): str(response.members.get("status"))
        for response in session.responses
        if response.is_success and response.members.get("id") in session.created_ids
    }
    return [
        json_text(status)
        for id_, status in last.items()
        if status != "pending" and inbox.form.sends(f"payment.{status}")
        if not any(_is_about(each, id_, status) for each in received)
    ]


def _is_about(webhook: ReceivedWebhook, id_: str, status: str) -> bool:
    has_status = status.encode() in webhook.body or webhook.type == f"payment.{status}"
    return has_status and id_.encode() in webhook.body


def _other_members(
    template: Any, value: Any, payment: Mapping[str, Any], path: str = ""
) -> Iterator[str]:
    """The members that differ from the form's members, or from members of other responses."""
    is_payment = template == "{payment}"
    if not (is_payment or isinstance(template, dict)):
        return
    names = list(value) if isinstance(value, dict) else []
    if names != list(payment if is_payment else template):
        yield f"{f'`{path}` with ' if path else ''}members {json_text(names)}"
    elif not is_payment:
        for name in names:
            inner = f"{path}.{name}".lstrip(".")
            yield from _other_members(template[name], value[name], payment, inner)


def _signing(inbox: CollectedWebhooks) -> str:
    """What the webhooks are, where nothing differs."""
    form = "Standard Webhooks" if inbox.form == STANDARD else f"the format {inbox.form.name}"
    if not inbox.form.is_signed:
        return f"{form}, without a signature"
    return f"{form}, {'verified' if inbox.secret else 'without the secret'}"


def _signatures(inbox: CollectedWebhooks, received: Sequence[ReceivedWebhook]) -> Iterator[str]:
    """What differs from the headers and the signature of the form."""
    for webhook in received:
        if not all(name in webhook.headers for name, _ in inbox.form.headers):
            yield f"headers {json_text([name for name in webhook.headers if '-' in name])}"
        elif inbox.secret and webhook.is_signed and not webhook.is_signed_with(inbox.secret):
            yield "a signature that the secret does not verify"


CHECKS = (Check(run=_webhooks, states=("6.1",), assumes=("4.2.5", "6.2", "6.3", "6.4", "6.5")),)
