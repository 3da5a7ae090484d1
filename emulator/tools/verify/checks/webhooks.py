"""Checks of the webhooks of the payments of a run (contract, sections 4.2 and 6)."""

from collections import Counter
from collections.abc import Iterator, Sequence

from emulator.clock import pause
from emulator.domain.payment import Status
from emulator.domain.webhook_forms import STANDARD
from emulator.http.received_webhooks import ReceivedWebhook
from emulator.reporting import counted
from emulator.tools.verify.client import CheckStopped, json_text, member_text
from emulator.tools.verify.findings import Check, Findings, assumed, none, stated
from emulator.tools.verify.session import Session

# How long the last webhook may take.
MAX_ARRIVAL_S = 15
_TYPES = {"payment.created", *(f"payment.{status}" for status in Status)} - {"payment.pending"}
_MEMBERS = ("id", "object", "type", "timestamp", "mode", "data")
_HEADERS = tuple(name for name, _ in STANDARD.headers)


async def _webhooks(session: Session) -> Findings:
    inbox = session.webhooks
    if inbox is None:
        raise CheckStopped("a check needs an address that the service can reach, --webhook-port")
    for _ in range(MAX_ARRIVAL_S):
        if session.client.is_stopped or not _missing(session, inbox.received):
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
    missing = [f"no webhook of {each}" for each in _missing(session, own)]
    findings += assumed(*none(missing, "of each change"), "4.2.5")
    known = [each for each in own if each.event.get("type") in _TYPES]
    types = [f"`type`: {member_text(each.event, 'type')}" for each in own if each not in known]
    findings += assumed(*none(types, "the types of the emulator"), "6.2")
    findings += assumed(*none(_other_members(session, known), "the members of the emulator"), "6.3")
    most = max(Counter((each.id, each.body) for each in own).values())
    findings += assumed(most == 1, f"{counted(most, 'delivery', 'deliveries')} after a 200", "6.4")
    seen = "Standard Webhooks" + (", verified" if inbox.secret else ", without the secret")
    return findings + assumed(*none(_signatures(own, inbox.secret), seen), "6.5")


def _missing(session: Session, received: Sequence[ReceivedWebhook]) -> list[str]:
    """The last status of each payment that has changed, without a webhook that has both."""
    last = {
        str(response.members.get("id")): str(response.members.get("status"))
        for response in session.responses
        if response.is_success and response.members.get("id") in session.created_ids
    }
    return [
        json_text(status)
        for id_, status in last.items()
        if status != "pending"
        and not any(id_.encode() in each.body and status.encode() in each.body for each in received)
    ]


def _other_members(session: Session, received: Sequence[ReceivedWebhook]) -> Iterator[str]:
    """The members that differ from those of the emulator, or from those of other responses."""
    for webhook in received:
        if tuple(webhook.event) != _MEMBERS:
            yield f"members {json_text(list(webhook.event))}"
        elif tuple(webhook.data) != tuple(session.first.payment):
            yield f"`data` with members {json_text(list(webhook.data))}"


def _signatures(received: Sequence[ReceivedWebhook], secret: str) -> Iterator[str]:
    """What differs from the signature of Standard Webhooks."""
    for webhook in received:
        if not all(name in webhook.headers for name in _HEADERS):
            yield f"headers {json_text([name for name in webhook.headers if '-' in name])}"
        elif secret and not webhook.is_signed_with(secret):
            yield "a signature that the secret does not verify"


CHECKS = (Check(run=_webhooks, states=("6.1",), assumes=("4.2.5", "6.2", "6.3", "6.4", "6.5")),)
