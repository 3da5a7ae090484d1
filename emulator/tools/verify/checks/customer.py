"""Checks of payments that a customer pays and of their webhooks (contract, sections 1, 3, 4.4, 6).

The customer follows an instruction, the status is polled until the payment has ended, and the
customer enters the address to which the browser was redirected.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from emulator.clock import pause
from emulator.domain.payment import Status
from emulator.domain.transitions import TRANSITIONS, Edge
from emulator.domain.webhooks import STANDARD, WebhookForm
from emulator.http.received_webhooks import ReceivedWebhook
from emulator.reporting import counted
from emulator.tools.verify.client import CheckStopped, json_text, member_text
from emulator.tools.verify.findings import Check, Findings, assumed, none, stated, unseen
from emulator.tools.verify.session import TIMEOUT_MS, CollectedWebhooks, Payment, Session

# Far below the rate limit of any service.
POLL_MS = 2_000
# A payment that ends within this time ends at once.
MAX_IMMEDIATE_MS = 5_000
_SLACK_MS = 2_000
_ENDED = ("completed", "failed", "expired", "refunded")
_ADDRESS = (
    "When the page no longer changes, enter the address that the browser shows,"
    " or an empty line if it is still the checkout page: "
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolledStatus:
    """A status that began between two polls."""

    status: str
    after_ms: float
    before_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PaidPayment:
    """A payment after the customer paid it; `address` is empty for the checkout page."""

    polled: Sequence[PolledStatus]
    payment: Payment
    address: str | None

    @property
    def status(self) -> str:
        return self.polled[-1].status

    @property
    def length_ms(self) -> tuple[float, float]:
        """The minimum and the maximum time between the submit and the last status."""
        created, submitted, ended = self.polled[0], self.polled[1], self.polled[-1]
        if submitted is ended:
            return 0, ended.before_ms - created.after_ms
        return ended.after_ms - submitted.before_ms, ended.before_ms - submitted.after_ms

    @property
    def is_immediate(self) -> bool:
        return self.length_ms[0] <= MAX_IMMEDIATE_MS

    @property
    def is_after_timeout(self) -> bool:
        least_ms, most_ms = self.length_ms
        return least_ms - _SLACK_MS <= TIMEOUT_MS <= most_ms + _SLACK_MS

    @property
    def summary(self) -> str:
        least_s, most_s = (round(length / 1_000) for length in self.length_ms)
        statuses = ", then ".join(json_text(each.status) for each in self.polled[1:])
        is_ended = self.status != "processing"
        return f"{statuses} after {least_s} to {most_s} s" if is_ended else f"still {statuses}"


async def _start(session: Session, method: str, instruction: str) -> Payment:
    """Create a payment, and print what the customer does with it. Raises CheckStopped."""
    customer = session.paying_customer
    response = await session.create(session.order(methods=[method]))
    if not response.is_success:
        raise CheckStopped(f"a payment by `{method}`: {response.summary}")
    await customer.instruct(f"Open {response.members.get('checkout_url')}", f"and {instruction}.")
    return response.members


async def _pay(session: Session, method: str, instruction: str) -> PaidPayment:
    """Start a payment, and poll it until it has ended. Raises CheckStopped."""
    payment = await _start(session, method, instruction)
    customer, wall = session.paying_customer, session.client.wall
    start = last = wall.monotonic_ms()
    polled = [PolledStatus(status="pending", after_ms=start, before_ms=start)]
    while (now := wall.monotonic_ms()) < start + customer.max_wait_ms:
        await pause(wall, min(POLL_MS, customer.max_wait_ms))
        response = await session.retrieve(str(payment["id"]))
        status, last, now = response.members.get("status"), now, wall.monotonic_ms()
        if isinstance(status, str) and status != polled[-1].status:
            # As the customer submitted it: another attempt has no method.
            payment = response.members if len(polled) == 1 else payment
            polled.append(PolledStatus(status=status, after_ms=last, before_ms=now))
        # A payment that is pending again has another attempt.
        if polled[-1].status in (*_ENDED, "pending") and len(polled) > 1:
            break
    if len(polled) == 1:
        raise CheckStopped("the customer did not pay in time")
    address = await customer.ask(_ADDRESS)
    return PaidPayment(polled=polled, payment=payment, address=address)


def _redirect(payment: Payment, name: str, address: str | None, number: str) -> Findings:
    """The browser was redirected to a URL of the payment, and nothing was appended to it."""
    if address is None:
        return unseen("no address was entered", number)
    url = str(payment.get(name))
    seen = f"redirected to {json_text(address)}" if address else "not redirected"
    if not _is_at(url, address):
        return stated(False, seen, number)
    is_same = address == url
    other = f"`{name}` with {json_text(address.removeprefix(url))} appended"
    return stated(True, f"to `{name}`", number) + assumed(
        is_same, "nothing is appended", number, otherwise=other
    )


def _is_at(url: str, address: str) -> bool:
    """Whether an address is a URL, perhaps with more parameters."""
    try:
        expected, entered = urlsplit(url), urlsplit(address)
    except ValueError:
        return False
    has_query = set(parse_qsl(expected.query)) <= set(parse_qsl(entered.query))
    return expected[:3] == entered[:3] and has_query


def _transitions(paid: PaidPayment) -> Findings:
    """Each status follows from the one before, or from one between two polls; none is repeated."""
    edges = {edge for edge, kind in TRANSITIONS.items() if kind is Edge.ORDINARY}
    edges |= {(start, end) for start, via in edges for other, end in edges if via is other}
    is_so = all((one.status, other.status) in edges for one, other in pairwise(paid.polled))
    findings = assumed(is_so, paid.summary, "3.2")
    if paid.status == "completed":
        return findings + unseen("no attempt to pay failed", "3.4")
    return findings + assumed(paid.status != "pending", paid.summary, "3.4")


def _at_once(paid: PaidPayment) -> Findings:
    is_so = paid.status == "completed" and paid.is_immediate
    findings = stated(is_so, paid.summary, "4.4.1", "4.4.2")
    return findings + _success(paid)


def _success(paid: PaidPayment) -> Findings:
    if paid.status != "completed":
        return unseen("the payment did not complete", "1.7")
    return _redirect(paid.payment, "success_url", paid.address, "1.7")


def _without_balance(paid: PaidPayment) -> Findings:
    # With another attempt, only this attempt has failed.
    is_so = paid.status in ("failed", "pending")
    findings = stated(is_so, paid.summary, "4.4.1", "4.4.3")
    findings += assumed(paid.is_immediate, paid.summary, "4.4.3")
    if paid.address is None:
        return findings
    seen, other = "a failure does not redirect", f"a failure leads to {json_text(paid.address)}"
    return findings + assumed(not paid.address, seen, "1.8", otherwise=other)


def _timed_out(paid: PaidPayment) -> Findings:
    is_so = paid.status not in ("completed", "processing") and paid.is_after_timeout
    findings = stated(is_so, paid.summary, "4.4.1", "4.4.4", "8.6")
    return findings + assumed(paid.status == "failed", paid.summary, "4.4.4")


def _cancelled(paid: PaidPayment) -> Findings:
    findings = stated(paid.status != "completed", paid.summary, "4.4.1", "4.4.5")
    findings += assumed(paid.status == "failed", paid.summary, "4.4.5")
    return findings + _redirect(paid.payment, "cancel_url", paid.address, "1.8")


def _unanswered(paid: PaidPayment) -> Findings:
    return assumed(paid.status == "failed" and paid.is_after_timeout, paid.summary, "4.4.7")


async def _cancel_button(session: Session) -> Findings:
    """A cancellation before a method was submitted."""
    instruction = "press the cancel button of the page, and choose no method"
    payment = await _start(session, session.method, instruction)
    address = await session.paying_customer.ask(_ADDRESS)
    findings = _redirect(payment, "cancel_url", address, "1.8")
    if address is None:
        return findings + unseen("no address was entered", "3.3")
    status = (await session.retrieve(str(payment["id"]))).members.get("status")
    seen = f"{json_text(status)} after the cancel button"
    return findings + assumed(status == "pending", seen, "3.3")


async def _judged(
    session: Session, method: str, instruction: str, judge: Callable[[PaidPayment], Findings]
) -> Findings:
    paid = await _pay(session, method, instruction)
    seen = f"`method`: {member_text(paid.payment, 'method')}"
    findings = stated(paid.payment.get("method") == method, seen, "1.6")
    return findings + _transitions(paid) + judge(paid)


def _number(nth: int, name: str) -> str:
    return f"pay with the {name} test number (the emulator's is +25190000000{nth})"


_TELEBIRR, _BANK = "telebirr", "bank_transfer"
# The method, the instruction, the judgement and the clauses of each payment.
_PAYMENTS: tuple[tuple[str, str, Callable[[PaidPayment], Findings], str, str], ...] = (
    (_TELEBIRR, _number(1, "first"), _at_once, "1.7 4.4.1 4.4.2", "1.7"),
    (_TELEBIRR, _number(2, "second"), _without_balance, "4.4.1 4.4.3", "1.8 4.4.3"),
    (_TELEBIRR, _number(3, "third"), _timed_out, "4.4.1 4.4.4 8.6", "4.4.4"),
    (_TELEBIRR, _number(4, "fourth"), _cancelled, "1.8 4.4.1 4.4.5", "1.8 4.4.5"),
    (_TELEBIRR, "pay with any other number, and do not answer the push", _unanswered, "", "4.4.7"),
    (_BANK, "choose a bank, and approve the payment there", _success, "1.7", "1.7"),
)

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


CHECKS = (
    *(
        Check(
            run=partial(_judged, method=method, instruction=instruction, judge=judge),
            states=("1.6", *states.split()),
            assumes=("3.2", "3.4", *assumes.split()),
        )
        for method, instruction, judge, states, assumes in _PAYMENTS
    ),
    Check(run=_cancel_button, states=("1.8",), assumes=("1.8", "3.3")),
    Check(run=_webhooks, states=("6.1",), assumes=("4.2.5", "6.2", "6.3", "6.4", "6.5")),
)
