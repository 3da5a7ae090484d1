"""What a create call comes to when everything about it is right (contract, section 4.1)."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from emulator.verify.answers import Answer, shown_member
from emulator.verify.checks.timestamps import seconds_between
from emulator.verify.findings import Check, Findings, judged, judged_assumed, unseen
from emulator.verify.session import (
    EXPIRES_IN_S,
    LARGER_AMOUNT,
    LONGER_EXPIRES_IN_S,
    MAX_PAIRS,
    METHODS,
    MIN_AMOUNT,
    Visit,
)

DEFAULT_EXPIRES_IN_S = 1_800
FEW_PAIRS = 2
# A service may stamp the two instants one after the other.
_SLACK_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """What the contract allows of a parameter of the first payment, and the clauses of it."""

    what: str
    numbers: tuple[str, ...]


_LIMITS = {
    "amount": Limit(what=f"`amount` {MIN_AMOUNT}", numbers=("4.1.3", "8.1")),
    "metadata": Limit(what=f"{MAX_PAIRS} pairs of metadata", numbers=("4.1.8", "8.2")),
    "idempotency_key": Limit(what="an `idempotency_key`", numbers=("4.1.10",)),
}


async def _everything(visit: Visit) -> Findings:
    """The first payment has all that a payment can have."""
    answer, refusals = await _first(visit)
    which = "other" if refusals else "all"
    findings = judged(answer.is_success, f"with {which} parameters: {answer.told}", "4.1.1")
    for name, told in refusals.items():
        findings += judged(False, f"{_LIMITS[name].what}: {told}", *_LIMITS[name].numbers)
    if not answer.is_success:
        return findings
    is_short = visit.expires_in_s == EXPIRES_IN_S
    seen = f"`expires_in` {EXPIRES_IN_S} is {'taken' if is_short else 'refused'}"
    findings += judged_assumed(is_short, seen, "8.9")
    findings += judged(answer.status == 201, answer.told, "4.1.16", "7.6")
    location = answer.headers.get("location")
    payment_id = answer.members.get("id")
    findings += judged_assumed(
        location == f"/v1/payments/{payment_id}",
        "without `Location`" if location is None else f"`Location` of {_kind(location)}",
        "4.1.16",
    )
    is_payment = answer.members.get("object") == "payment" and isinstance(payment_id, str)
    return findings + judged(is_payment, _members(answer), "4.1.15")


async def _first(visit: Visit) -> tuple[Answer, dict[str, str]]:
    """What a create call is answered with what the service takes, and the refusals before.

    An account may know fewer methods, and a service longer expiries only: without a payment
    there would be nothing to see. The refusals are those of what the contract allows.
    """
    refusals: dict[str, str] = {}
    answer = await _try_first(visit, refusals)
    if answer.param == "expires_in":
        visit.expires_in_s = LONGER_EXPIRES_IN_S
        answer = await _try_first(visit, refusals)
    for method in METHODS[1:]:
        if answer.param == "methods":
            visit.method = method
            answer = await _try_first(visit, refusals)
    for _ in _LIMITS:
        name = _field(answer)
        if name not in _LIMITS or name in refusals:
            break
        refusals[name] = answer.told
        visit.amount = LARGER_AMOUNT if "amount" in refusals else visit.amount
        answer = await _try_first(visit, refusals)
    return answer, refusals


async def _try_first(visit: Visit, refusals: Collection[str]) -> Answer:
    purpose = f"first-{visit.method}-{visit.expires_in_s}-{len(refusals)}"
    key = ... if "idempotency_key" in refusals else visit.idempotency_key(purpose)
    pairs = FEW_PAIRS if "metadata" in refusals else MAX_PAIRS
    body = visit.order(metadata=visit.metadata(pairs), idempotency_key=key)
    return await visit.create(body)


def _field(answer: Answer) -> str:
    """The top-level name of the field that a refusal names."""
    return re.split(r"[.\[]", str(answer.param))[0] if answer.is_refusal else ""


def _kind(location: str) -> str:
    return "a whole URL" if "://" in location else "a path"


def _members(answer: Answer) -> str:
    return f"{len(answer.members)} members, `object` {shown_member(answer.members, 'object')}"


async def _all_methods(visit: Visit) -> Findings:
    answer = await visit.create(visit.order(methods=list(METHODS)))
    return judged_assumed(answer.is_success, f"all three: {answer.told}", "2.1.16")


async def _as_it_was_asked_for(visit: Visit) -> Findings:
    """What comes back is what was sent."""
    body, payment = visit.first.body, visit.first.payment
    findings: Findings = []
    for number, name in (
        ("2.1.3", "amount"),
        ("2.1.9", "success_url"),
        ("2.1.10", "cancel_url"),
        ("2.1.11", "metadata"),
    ):
        is_so = payment.get(name) == body[name] and type(payment[name]) is type(body[name])
        seen = "as it was given" if is_so else f"`{name}`: {shown_member(payment, name)}"
        findings += judged(is_so, seen, number)
    pairs = body["metadata"]
    if len(pairs) == MAX_PAIRS:
        is_so = payment.get("metadata") == pairs
        received = payment.get("metadata")
        count = len(received) if isinstance(received, dict) else 0
        seen = f"{len(pairs)} pairs" if is_so else f"{count} of {len(pairs)} pairs as given"
        findings += judged(is_so, seen, "4.1.8", "8.2")
    for number, name in (("2.1.6", "method"), ("2.1.14", "completed_at")):
        is_null = payment.get(name, ...) is None
        kind = "null" if is_null else shown_member(payment, name)
        findings += judged(is_null, f"{kind} in a new payment", number)
    seen = f"{shown_member(payment, 'status')} in a new payment"
    return findings + judged_assumed(payment.get("status") == "pending", seen, "2.1.5")


async def _its_own_expiry(visit: Visit) -> Findings:
    return _expiry(visit.first.payment, visit.expires_in_s, "4.1.11")


async def _without_the_rest(visit: Visit) -> Findings:
    """A payment for which only what we take to be required was asked."""
    created = list(visit.created)
    answer = await visit.create(visit.order(metadata=..., expires_in=...))
    what = "without `metadata`, `idempotency_key` and `expires_in`"
    findings = judged_assumed(answer.is_success, f"{what}: {answer.told}", "4.1.13")
    if not answer.is_success:
        return findings
    payment = answer.members
    findings += judged(answer.status == 201, answer.told, "4.1.16", "7.6")
    is_new = payment.get("id") not in {one.id for one in created}
    findings += judged(is_new, "two payments, two ids" if is_new else "one id twice", "2.1.1")
    urls = {one.payment.get("checkout_url") for one in created}
    is_own = payment.get("checkout_url") not in urls
    seen = "a `checkout_url` for each payment" if is_own else "two payments, one `checkout_url`"
    findings += judged(is_own, seen, "1.4")
    seen = f"without any: {shown_member(payment, 'metadata')}"
    findings += judged_assumed(payment.get("metadata") == {}, seen, "2.1.11")
    return findings + _expiry(payment, DEFAULT_EXPIRES_IN_S, "2.1.8", "4.1.12", "8.3", "8.4")


def _expiry(payment: Mapping[str, Any], expected_s: int, *numbers: str) -> Findings:
    seconds = seconds_between(payment)
    if seconds is None:
        return unseen("`created_at` or `expires_at` cannot be read", *numbers)
    is_so = abs(seconds - expected_s) <= _SLACK_S
    return judged(is_so, f"expires after {seconds:g} s", *numbers)


async def _with_an_unknown_parameter(visit: Visit) -> Findings:
    answer = await visit.create(visit.order(made_by_verify="yes"))
    seen = f"an unknown parameter: {answer.told}"
    if answer.status == 400:
        seen += ", as with `--strict`"
    return judged_assumed(answer.is_success, seen, "4.1.14")


CHECKS = (
    Check(
        look=_everything,
        states=(
            *("4.1.1", "4.1.15", "4.1.16", "7.6"),
            *(number for limit in _LIMITS.values() for number in limit.numbers),
        ),
        assumes=("4.1.16", "8.9"),
    ),
    Check(look=_all_methods, assumes=("2.1.16",)),
    Check(
        look=_as_it_was_asked_for,
        states=(
            *("2.1.3", "2.1.6", "2.1.9", "2.1.10", "2.1.11", "2.1.14"),
            *("4.1.8", "8.2"),
        ),
        assumes=("2.1.5",),
    ),
    Check(look=_its_own_expiry, states=("4.1.11",)),
    Check(
        look=_without_the_rest,
        states=("1.4", "2.1.1", "2.1.8", "4.1.12", "4.1.16", "7.6", "8.3", "8.4"),
        assumes=("2.1.11", "4.1.13"),
    ),
    Check(look=_with_an_unknown_parameter, assumes=("4.1.14",)),
)
