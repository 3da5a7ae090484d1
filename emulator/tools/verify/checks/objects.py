"""Checks of the fields of every payment and list (contract, sections 2.1 and 2.2).

Judges the responses to create calls (section 4.1) for the checks that send them.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from emulator.reporting import counted
from emulator.tools.verify.client import CheckStopped, ServiceResponse, json_text, member_text
from emulator.tools.verify.contract import (
    DEFAULT_EXPIRES_IN_S,
    DEFAULT_LIMIT,
    FIELDS,
    MAX_LIMIT,
    MAX_PAIRS,
    METHODS,
    RETURNED_FIELDS,
    RULES,
    FieldRule,
    Payment,
    is_url,
    parse_instant,
)
from emulator.tools.verify.findings import Check, Findings, Verdict, assumed, none, stated, unseen
from emulator.tools.verify.session import PAYMENTS, Session


def _payments(session: Session) -> list[Payment]:
    """All different forms of payments in the responses."""
    different: dict[str, Payment] = {}
    for response in session.responses:
        if response.is_success and response.members and not response.has_error:
            different |= {repr(payment): payment for payment in _returned(response)}
    if not different:
        raise session.without_payments("no payment was seen")
    return list(different.values())


def _returned(response: ServiceResponse) -> Sequence[Payment]:
    """The payments that a call of the contract returned."""
    method, path = response.request.method, response.request.path
    if path == PAYMENTS and method == "GET":
        return response.payments
    parent, _, id_ = path.rpartition("/")
    is_create = (method, path) == ("POST", PAYMENTS)
    is_retrieve = (method, parent) == ("GET", PAYMENTS) and id_
    return [response.members] if is_create or is_retrieve else []


async def _each_field(session: Session) -> Findings:
    payments = _payments(session)
    return [finding for rule in RULES for finding in _field(rule, payments)]


def _field(rule: FieldRule, payments: Sequence[Payment]) -> Findings:
    ids = len({str(payment.get("id")) for payment in payments})
    name, our_form = rule.field, rule.our_form
    wrong = [member_text(payment, name) for payment in payments if not rule.allows(payment)]
    seen = f"in {counted(ids, 'payment')}"
    findings = stated(*none((f"`{name}`: {text}" for text in wrong), seen), *rule.numbers)
    if wrong or our_form is None:
        return findings
    values = [payment[name] for payment in payments]
    other = [f"`{name}`: {json_text(value)}" for value in values if not our_form.fullmatch(value)]
    return findings + assumed(*none(other, "in the form of the emulator"), *rule.numbers)


async def _known_methods(session: Session) -> Findings:
    methods = [payment.get("method") for payment in _payments(session)]
    other = {method for method in methods if isinstance(method, str)} - {*METHODS}
    texts = (f"`method`: {json_text(method)}" for method in sorted(other))
    return assumed(*none(texts, "no other method"), "2.1.17")


async def _order_of_metadata(session: Session) -> Findings:
    """The pairs of every payment are in the order in which they were sent."""
    bodies = {own.id: own.body for own in session.all_created}

    def is_in_order(payment: Payment) -> bool:
        given = bodies.get(str(payment.get("id")), {}).get("metadata")
        pairs = payment.get("metadata")
        return not isinstance(pairs, dict) or given != pairs or [*given] == [*pairs]

    is_so = all(map(is_in_order, _payments(session)))
    wrong = "metadata in another order than it was sent"
    return assumed(is_so, "metadata in the order in which it was sent", "2.1.11", otherwise=wrong)


async def _number_of_results(session: Session) -> Findings:
    """No page has more payments than `limit`, and a page before another one has not fewer."""
    has_full_page = False
    for page in session.lists:
        text = page.request.query.get("limit", str(DEFAULT_LIMIT))
        limit, count = int(text) if text.isdigit() else 0, len(page.data)
        if limit not in range(1, MAX_LIMIT + 1):
            continue
        if count > limit or (count < limit and page.has_next_page):
            return stated(False, f"`limit` {limit}: {counted(count, 'payment')}", "4.3.2")
        has_full_page |= count == MAX_LIMIT
    if not has_full_page:
        return unseen(f"the lists have fewer than {MAX_LIMIT} payments", "4.3.2")
    return stated(True, f"at most `limit` payments, and {MAX_LIMIT} on one page", "4.3.2")


async def _each_list(session: Session) -> Findings:
    """The members of every list, also of an empty one."""
    pages = session.lists
    if not pages:
        raise session.without_payments("no list was received")
    seen = f"in all {len(pages)} lists"
    findings: Findings = []
    # Without a next page, the cursor may be absent.
    for name, number, kinds, default in (
        ("data", "2.2.1", list, ...),
        ("has_more", "2.2.2", bool, ...),
        ("next_cursor", "2.2.3", str | None, None),
    ):
        members = [page.members for page in pages]
        wrong = [each for each in members if not isinstance(each.get(name, default), kinds)]
        texts = [f"`{name}`: {member_text(each, name)}" for each in wrong]
        findings += stated(*none(texts, seen), number)
    absent = [
        f"a list without `{name}`"
        for name in ("data", "has_more")
        for page in pages
        if name not in page.members
    ]
    findings += stated(*none(absent, seen), "4.3.9")
    is_drift = any(finding.verdict is Verdict.DRIFT for finding in findings)
    if not is_drift and not any(page.payments for page in pages):
        raise session.without_payments("no list has a payment")
    return findings


async def _all_fields(session: Session) -> Findings:
    payments = _payments(session)
    strange = next((name for one in payments for name in one if name not in FIELDS), None)
    missing = next((name for name in FIELDS for one in payments if name not in one), None)
    if missing is not None:
        return stated(False, f"without `{missing}`", "2.1.15")
    if strange is not None:
        return assumed(False, f"also {json_text(strange)}", "2.1.15")
    is_in_order = all([*payment] == [*FIELDS] for payment in payments)
    findings = stated(True, "all fields", "2.1.15")
    return findings + assumed(is_in_order, "in this order", "2.1.15", otherwise="in another order")


async def _separate_address(session: Session) -> Findings:
    url = session.first.payment.get("checkout_url")
    if not is_url(url):
        raise CheckStopped("there is no `checkout_url`")
    ours, theirs = urlsplit(session.client.base_url), urlsplit(str(url))
    is_separate = (ours.scheme, ours.netloc) != (theirs.scheme, theirs.netloc)
    wrong = "at the address of the API"
    return stated(is_separate, "at another address than the API", "1.10", otherwise=wrong)


CHECKS = (
    Check(_each_field, tuple(number for rule in RULES for number in rule.numbers)),
    Check(_known_methods, ("2.1.17",)),
    Check(_order_of_metadata, ("2.1.11",)),
    Check(_number_of_results, ("4.3.2",)),
    Check(_each_list, ("2.2.1", "2.2.2", "2.2.3", "4.3.9")),
    Check(_all_fields, ("2.1.15",)),
    Check(_separate_address, ("1.10",)),
)


# A service may determine the two instants one after the other.
_SLACK_MS = 1_000


def created(response: ServiceResponse) -> Findings:
    """The response to a create call that succeeded."""
    findings = stated(response.status == 201, response.summary, "4.1.16", "7.6")
    members, location = response.members, response.headers.get("location")
    seen = f"`Location` of {'a whole URL' if '://' in str(location) else 'a path'}"
    seen = "without `Location`" if location is None else seen
    findings += assumed(location == f"/v1/payments/{members.get('id')}", seen, "4.1.16")
    is_payment = members.get("object") == "payment" and isinstance(members.get("id"), str)
    seen = f"{len(members)} members, `object` {member_text(members, 'object')}"
    return findings + stated(is_payment, seen, "4.1.15")


def requested_fields(body: Mapping[str, Any], payment: Payment) -> Findings:
    """A new payment has the fields that were sent, and expires in time."""
    findings = returned_as_given(body, payment, {"amount": "2.1.3", **RETURNED_FIELDS})
    pairs, received = body.get("metadata"), payment.get("metadata")
    if isinstance(pairs, dict) and len(pairs) == MAX_PAIRS:
        count = len(received) if isinstance(received, dict) else 0
        seen, other = f"{len(pairs)} pairs", f"{count} of {len(pairs)} pairs"
        findings += stated(received == pairs, seen, "4.1.8", "8.2", otherwise=other)
    for number, name in (("2.1.6", "method"), ("2.1.14", "completed_at")):
        is_null = payment.get(name, ...) is None
        kind = "null" if is_null else member_text(payment, name)
        findings += stated(is_null, f"{kind} in a new payment", number)
    seen = f"{member_text(payment, 'status')} in a new payment"
    findings += assumed(payment.get("status") == "pending", seen, "2.1.5")
    if pairs is None:
        seen = f"without `metadata`: {member_text(payment, 'metadata')}"
        findings += assumed(payment.get("metadata") == {}, seen, "2.1.11")
    if (expires_in_s := body.get("expires_in")) is not None:
        if isinstance(expires_in_s, int):
            findings += _expiry(payment, expires_in_s, "4.1.11", exact="4.1.11")
        return findings
    numbers_of_default = ("2.1.8", "4.1.12", "8.3", "8.4")
    return findings + _expiry(payment, DEFAULT_EXPIRES_IN_S, *numbers_of_default, exact="8.4")


def returned_as_given(
    body: Mapping[str, Any], payment: Payment, numbers: Mapping[str, str]
) -> Findings:
    """The fields that the request has."""
    findings: Findings = []
    given = {name: number for name, number in numbers.items() if body.get(name) is not None}
    for name, number in given.items():
        is_so = payment.get(name) == body[name] and type(payment[name]) is type(body[name])
        other = f"`{name}`: {member_text(payment, name)}"
        findings += stated(is_so, "equal to the request", number, otherwise=other)
    return findings


def separate_checkouts(payments: Sequence[Payment]) -> Findings:
    """`payments` are different ones."""
    urls = {str(payment.get("checkout_url")) for payment in payments}
    seen, other = "a `checkout_url` for each payment", "two payments, one `checkout_url`"
    is_so = len(urls) == len(payments)
    return stated(is_so, seen, "1.4", otherwise=other) if payments[1:] else []


def _expiry(payment: Payment, expected_s: int, *numbers: str, exact: str) -> Findings:
    """`exact` is the clause that assumes the millisecond."""
    created_at, expires_at = (
        parse_instant(payment.get(f"{name}_at")) for name in ("created", "expires")
    )
    if created_at is None or expires_at is None:
        return unseen("`created_at` or `expires_at` cannot be read", *numbers)
    off_ms = abs(expires_at - created_at - 1_000 * expected_s)
    seen = f"expires after {(expires_at - created_at) / 1_000:g} s"
    findings = stated(off_ms < _SLACK_MS, seen, *numbers)
    return findings + (assumed(not off_ms, seen, exact) if off_ms < _SLACK_MS else [])


def retried(first: ServiceResponse, response: ServiceResponse, *, is_first: bool) -> Findings:
    """A retry is answered like the first request; `is_first` means that no other preceded that."""
    is_same = response.is_success and response.members.get("id") == first.members.get("id")
    wrong = "another payment" if response.is_success else response.summary
    findings = stated(is_same, "a retry: the same payment", "4.1.10", otherwise=f"a retry: {wrong}")
    if not is_same:
        return findings
    findings += assumed(response.status == first.status, response.summary, "4.1.20")
    is_equal = response.body == first.body
    seen, wrong = "the bytes of the first response", "other bytes than the first response"
    findings += assumed(is_equal, seen, "4.1.20", otherwise=wrong)
    is_replay = response.headers.get("idempotent-replayed") == "true"
    wrong = "without `Idempotent-Replayed`"
    if is_first and "idempotent-replayed" in first.headers:
        is_replay, wrong = False, "`Idempotent-Replayed` in the first response"
    return findings + assumed(is_replay, "`Idempotent-Replayed: true`", "4.1.20", otherwise=wrong)
