"""Checks of create calls that should succeed (contract, section 4.1)."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from emulator.tools.verify.checks.refusals import acceptance, created_with
from emulator.tools.verify.checks.window import parse_instant
from emulator.tools.verify.client import CheckStopped
from emulator.tools.verify.findings import Check, Findings, assumed, stated, unseen
from emulator.tools.verify.messages import ServiceResponse, member_text
from emulator.tools.verify.session import (
    EXPIRES_IN_S,
    LARGER_AMOUNT,
    LONGER_EXPIRES_IN_S,
    MAX_PAIRS,
    METHODS,
    MIN_AMOUNT,
    Session,
)

DEFAULT_EXPIRES_IN_S = 1_800
FEW_PAIRS = 2
# A service may determine the two instants one after the other.
_SLACK_MS = 1_000

# Values that a service may store or return in another form than the given one.
_LONG_URL = (
    "https://example.com/made-by-payments-emulator-verify/Caf%C3%A9%20%2f+a;b/"
    f"?Order=1%26&Order=2&empty=&Paid={{}}&filler={'aB3%2E' * 150}#Top"
)
_DIFFICULT_PAIRS = {
    "zulu": "UPPER and lower",
    "Alpha Beta": "  blanks, twice  between and around ",
    "empty": "",
    "number": "007",
    "decimal": "1.50",
    "truth": "true",
    "nothing": "null",
    "json.text[0]": '{"a": 1}',
    "markup": "<b>&amp;'\"\\</b>",
    "script": "ብር cafe\u0301 \N{PILE OF POO}",
    "lines": "one\ntwo\tthree",
    "long": "Ab3 " * 125,
    "10": "ten",
    "9": "nine",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A parameter value that the contract allows, and its clauses."""

    what: str
    numbers: tuple[str, ...]


_LIMITS = {
    "amount": Limit(what=f"`amount` {MIN_AMOUNT}", numbers=("4.1.3", "8.1")),
    "metadata": Limit(what=f"{MAX_PAIRS} pairs of metadata", numbers=("4.1.8", "8.2")),
    "idempotency_key": Limit(what="an `idempotency_key`", numbers=("4.1.10",)),
}


async def _all_parameters(session: Session) -> Findings:
    """Create a payment with all parameters."""
    response, refusals = await _first(session)
    which = "other" if refusals else "all"
    findings = stated(response.is_success, f"with {which} parameters: {response.summary}", "4.1.1")
    for name, summary in refusals.items():
        findings += stated(False, f"{_LIMITS[name].what}: {summary}", *_LIMITS[name].numbers)
    if not response.is_success:
        return findings
    is_short = session.expires_in_s == EXPIRES_IN_S
    seen = f"`expires_in` {EXPIRES_IN_S} is {'taken' if is_short else 'refused'}"
    findings += assumed(is_short, seen, "8.9")
    findings += stated(response.status == 201, response.summary, "4.1.16", "7.6")
    location = response.headers.get("location")
    payment_id = response.members.get("id")
    findings += assumed(
        location == f"/v1/payments/{payment_id}",
        "without `Location`" if location is None else f"`Location` of {_kind(location)}",
        "4.1.16",
    )
    is_payment = response.members.get("object") == "payment" and isinstance(payment_id, str)
    return findings + stated(is_payment, _members(response), "4.1.15")


async def _first(session: Session) -> tuple[ServiceResponse, dict[str, str]]:
    """The response to a create call that the service accepts, and earlier refusals by parameter.

    An account may have fewer methods, and a service only longer expiries; no other check would
    have a payment. The refusals are those of values that the contract allows.
    """
    refusals: dict[str, str] = {}
    response = await _try_first(session, refusals)
    if response.param == "expires_in":
        session.expires_in_s = LONGER_EXPIRES_IN_S
        response = await _try_first(session, refusals)
    for method in METHODS[1:]:
        if response.param == "methods":
            session.method = method
            response = await _try_first(session, refusals)
    for _ in _LIMITS:
        name = _field(response)
        if name not in _LIMITS or name in refusals:
            break
        refusals[name] = response.summary
        session.amount = LARGER_AMOUNT if "amount" in refusals else session.amount
        response = await _try_first(session, refusals)
    return response, refusals


async def _try_first(session: Session, refusals: Collection[str]) -> ServiceResponse:
    purpose = f"first-{session.method}-{session.expires_in_s}-{len(refusals)}"
    key = ... if "idempotency_key" in refusals else session.idempotency_key(purpose)
    pairs = FEW_PAIRS if "metadata" in refusals else MAX_PAIRS
    body = session.order(metadata=session.metadata(pairs), idempotency_key=key)
    return await session.create(body)


def _field(response: ServiceResponse) -> str:
    """The top-level field that a refusal names; empty for other responses."""
    return re.split(r"[.\[]", str(response.param))[0] if response.is_refusal else ""


def _kind(location: str) -> str:
    return "a whole URL" if "://" in location else "a path"


def _members(response: ServiceResponse) -> str:
    return f"{len(response.members)} members, `object` {member_text(response.members, 'object')}"


async def _requested_fields(session: Session) -> Findings:
    """The fields that were sent are returned."""
    body, payment = session.first.body, session.first.payment
    findings = stated(*_is_returned(body, payment, "amount"), "2.1.3")
    findings += _returned_as_given(body, payment)
    pairs = body["metadata"]
    if len(pairs) == MAX_PAIRS:
        is_so = payment.get("metadata") == pairs
        received = payment.get("metadata")
        count = len(received) if isinstance(received, dict) else 0
        seen = f"{len(pairs)} pairs" if is_so else f"{count} of {len(pairs)} pairs"
        findings += stated(is_so, seen, "4.1.8", "8.2")
    for number, name in (("2.1.6", "method"), ("2.1.14", "completed_at")):
        is_null = payment.get(name, ...) is None
        kind = "null" if is_null else member_text(payment, name)
        findings += stated(is_null, f"{kind} in a new payment", number)
    seen = f"{member_text(payment, 'status')} in a new payment"
    return findings + assumed(payment.get("status") == "pending", seen, "2.1.5")


def _is_returned(
    body: Mapping[str, Any], payment: Mapping[str, Any], name: str
) -> tuple[bool, str]:
    is_so = payment.get(name) == body[name] and type(payment[name]) is type(body[name])
    return is_so, "equal to the request" if is_so else f"`{name}`: {member_text(payment, name)}"


def _returned_as_given(body: Mapping[str, Any], payment: Mapping[str, Any]) -> Findings:
    names = (("2.1.9", "success_url"), ("2.1.10", "cancel_url"), ("2.1.11", "metadata"))
    return [
        finding
        for number, name in names
        for finding in stated(*_is_returned(body, payment, name), number)
    ]


_CLAUSES_OF_FORM = {
    "success_url": "4.1.6",
    "cancel_url": "4.1.7",
    "metadata": "4.1.8",
    "idempotency_key": "4.1.13",
}


async def _difficult_values(session: Session) -> Findings:
    """Long URLs and unusual metadata, which are returned exactly as they are given; null."""
    body = session.order(
        success_url=_LONG_URL.format("Yes"),
        cancel_url=_LONG_URL.format("No"),
        metadata=session.metadata(2) | _DIFFICULT_PAIRS,
        idempotency_key=None,
    )
    response = await session.create(body)
    number = _CLAUSES_OF_FORM.get(_field(response))
    if number is not None:
        return assumed(False, f"an unusual `{_field(response)}`: {response.summary}", number)
    if not response.is_success:
        raise CheckStopped(f"long URLs and unusual metadata: {response.summary}")
    seen = "long URLs and unusual metadata are taken"
    return assumed(True, seen, *_CLAUSES_OF_FORM.values()) + _returned_as_given(
        body, response.members
    )


async def _requested_expiry(session: Session) -> Findings:
    return _expiry(session.first.payment, session.expires_in_s, "4.1.11", exact="4.1.11")


async def _required_parameters(session: Session) -> Findings:
    """Create a payment with only the parameters that we assume to be required."""
    created = list(session.created)
    response = await session.create(session.order(metadata=..., expires_in=...))
    what = "without `metadata`, `idempotency_key` and `expires_in`"
    findings = assumed(response.is_success, f"{what}: {response.summary}", "4.1.13")
    if not response.is_success:
        return findings
    payment = response.members
    findings += stated(response.status == 201, response.summary, "4.1.16", "7.6")
    is_new = payment.get("id") not in {earlier.id for earlier in created}
    findings += stated(is_new, "two payments, two ids" if is_new else "one id twice", "2.1.1")
    urls = {earlier.payment.get("checkout_url") for earlier in created}
    is_own = payment.get("checkout_url") not in urls
    seen = "a `checkout_url` for each payment" if is_own else "two payments, one `checkout_url`"
    findings += stated(is_own, seen, "1.4")
    seen = f"without `metadata`: {member_text(payment, 'metadata')}"
    findings += assumed(payment.get("metadata") == {}, seen, "2.1.11")
    numbers = ("2.1.8", "4.1.12", "8.3", "8.4")
    return findings + _expiry(payment, DEFAULT_EXPIRES_IN_S, *numbers, exact="8.4")


def _expiry(payment: Mapping[str, Any], expected_s: int, *numbers: str, exact: str) -> Findings:
    """`exact` is the clause that assumes the millisecond."""
    created_at = parse_instant(payment.get("created_at"))
    expires_at = parse_instant(payment.get("expires_at"))
    if created_at is None or expires_at is None:
        return unseen("`created_at` or `expires_at` cannot be read", *numbers)
    off_ms = abs(expires_at - created_at - 1_000 * expected_s)
    seen = f"expires after {(expires_at - created_at) / 1_000:g} s"
    findings = stated(off_ms < _SLACK_MS, seen, *numbers)
    return findings + (assumed(not off_ms, seen, exact) if off_ms < _SLACK_MS else [])


async def _unknown_parameter(session: Session) -> Findings:
    response = await session.create(session.order(made_by_verify="yes"))
    seen = f"an unknown parameter: {response.summary}"
    if response.status == 400:
        seen += ", as with `--strict`"
    if not response.is_success:
        return assumed(False, seen, "4.1.14")
    listed = await session.page(limit=1, made_by_verify="yes")
    seen = f"an unknown query parameter: {listed.summary}"
    return assumed(listed.is_success, seen, "4.1.14")


CHECKS = (
    Check(
        run=_all_parameters,
        states=(
            *("4.1.1", "4.1.15", "4.1.16", "7.6"),
            *(number for limit in _LIMITS.values() for number in limit.numbers),
        ),
        assumes=("4.1.16", "8.9"),
    ),
    acceptance("all three", created_with(methods=list(METHODS)), "2.1.16"),
    Check(
        run=_requested_fields,
        states=(*("2.1.3", "2.1.6", "2.1.9", "2.1.10", "2.1.11", "2.1.14"), *("4.1.8", "8.2")),
        assumes=("2.1.5",),
    ),
    Check(
        run=_difficult_values,
        states=("2.1.9", "2.1.10", "2.1.11"),
        assumes=tuple(_CLAUSES_OF_FORM.values()),
    ),
    Check(run=_requested_expiry, states=("4.1.11",), assumes=("4.1.11",)),
    Check(
        run=_required_parameters,
        states=("1.4", "2.1.1", "2.1.8", "4.1.12", "4.1.16", "7.6", "8.3", "8.4"),
        assumes=("2.1.11", "4.1.13", "8.4"),
    ),
    Check(run=_unknown_parameter, assumes=("4.1.14",)),
)
