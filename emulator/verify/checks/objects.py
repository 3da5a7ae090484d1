"""What every payment must look like (contract, section 2.1), whoever has created it."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from emulator.verify.answers import Answer, shown, shown_member
from emulator.verify.checks.timestamps import instant, is_written_as_ours
from emulator.verify.checks.window import own_lists
from emulator.verify.client import CannotSee
from emulator.verify.findings import Check, Findings, Verdict, judged, judged_assumed
from emulator.verify.session import MAX_PAIRS, PAYMENTS, Visit

STATUSES = {"pending", "processing", "completed", "failed", "expired", "refunded"}
FIELDS = (
    *("id", "object", "amount", "currency", "status", "method", "checkout_url"),
    *("success_url", "cancel_url", "metadata", "created_at", "expires_at", "completed_at"),
)
_AS_OURS = re.compile(r"pay_[A-Za-z0-9]{24}", re.ASCII)

Payment = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What must be so of a field. `looks_alike` is how we write what the contract leaves open."""

    numbers: tuple[str, ...]
    field: str
    is_so: Callable[[Payment], bool]
    looks_alike: Callable[[Any], bool] | None = None


def _is_text(payment: Payment, name: str) -> bool:
    return isinstance(payment.get(name), str)


def _is_url(payment: Payment, name: str) -> bool:
    value = payment.get(name)
    if not isinstance(value, str):
        return False
    try:
        parts = urlsplit(value)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc)


def _is_metadata(value: object) -> bool:
    return (
        isinstance(value, dict)
        and len(value) <= MAX_PAIRS
        and all(isinstance(one, str) for one in value.values())
    )


def _is_amount(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _is_completed_at(payment: Payment) -> bool:
    value = payment.get("completed_at", ...)
    if value is None:
        return payment.get("status") != "completed"
    return instant(value) is not None and payment.get("status") != "pending"


RULES = (
    Rule(
        numbers=("2.1.1",),
        field="id",
        is_so=lambda one: _is_text(one, "id") and one["id"].startswith("pay_"),
        looks_alike=lambda value: _AS_OURS.fullmatch(str(value)) is not None,
    ),
    Rule(numbers=("2.1.2",), field="object", is_so=lambda one: one.get("object") == "payment"),
    Rule(numbers=("2.1.3",), field="amount", is_so=lambda one: _is_amount(one.get("amount"))),
    Rule(
        numbers=("2.1.4", "9.2"), field="currency", is_so=lambda one: one.get("currency") == "ETB"
    ),
    Rule(numbers=("2.1.5", "3.1"), field="status", is_so=lambda one: one.get("status") in STATUSES),
    Rule(
        numbers=("2.1.6",),
        field="method",
        is_so=lambda one: one.get("method", ...) is None or _is_text(one, "method"),
    ),
    Rule(numbers=("2.1.7",), field="checkout_url", is_so=lambda one: _is_url(one, "checkout_url")),
    Rule(numbers=("2.1.9",), field="success_url", is_so=lambda one: _is_url(one, "success_url")),
    Rule(numbers=("2.1.10",), field="cancel_url", is_so=lambda one: _is_url(one, "cancel_url")),
    Rule(
        numbers=("2.1.11",), field="metadata", is_so=lambda one: _is_metadata(one.get("metadata"))
    ),
    Rule(
        numbers=("2.1.12",),
        field="created_at",
        is_so=lambda one: instant(one.get("created_at")) is not None,
        looks_alike=is_written_as_ours,
    ),
    Rule(
        numbers=("2.1.13",),
        field="expires_at",
        is_so=lambda one: instant(one.get("expires_at")) is not None,
        looks_alike=is_written_as_ours,
    ),
    Rule(numbers=("2.1.14",), field="completed_at", is_so=_is_completed_at),
)


def _payments(visit: Visit) -> list[Payment]:
    """All that were answered, alone or in a list, each way of writing one once."""
    different: dict[str, Payment] = {}
    for answer in visit.answers:
        if answer.is_success and answer.members and not answer.has_error:
            different |= {repr(one): one for one in _returned(answer)}
    if not different:
        raise visit.without_payments("no payment was seen")
    return list(different.values())


def _returned(answer: Answer) -> Sequence[Payment]:
    """The payments that a call of the contract returned."""
    method, path = answer.request.method, answer.request.path
    if path == PAYMENTS and method == "GET":
        return answer.payments
    is_payment = path.startswith(PAYMENTS) and method in ("GET", "POST")
    return [answer.members] if is_payment else []


async def _each_field(visit: Visit) -> Findings:
    payments = _payments(visit)
    return [finding for rule in RULES for finding in _field(rule, payments)]


def _field(rule: Rule, payments: Sequence[Payment]) -> Findings:
    wrong = next((one for one in payments if not rule.is_so(one)), None)
    if wrong is not None:
        return judged(False, f"`{rule.field}`: {shown_member(wrong, rule.field)}", *rule.numbers)
    findings = judged(True, f"in {_counted(payments)}", *rule.numbers)
    if rule.looks_alike is None:
        return findings
    other = [one[rule.field] for one in payments if not rule.looks_alike(one[rule.field])]
    seen = f"`{rule.field}`: {shown(other[0])}" if other else "written as here"
    return findings + judged_assumed(not other, seen, *rule.numbers)


def _counted(payments: Sequence[Payment]) -> str:
    count = len({str(one.get("id")) for one in payments})
    return f"{count} payment" if count == 1 else f"{count} payments"


async def _each_list(visit: Visit) -> Findings:
    """The members of every list, of an empty one, too."""
    pages = own_lists(visit)
    if not pages:
        raise visit.without_payments("no list was seen")
    findings: Findings = []
    for name, number, kinds in (
        ("data", "2.2.1", list),
        ("has_more", "2.2.2", bool),
        ("next_cursor", "2.2.3", str | None),
    ):
        wrong = next((one for one in pages if not _is_member(one, name, kinds)), None)
        seen = f"`{name}`: {shown_member(wrong.members, name)}" if wrong else _in_all(pages)
        findings += judged(wrong is None, seen, number)
    absent = next(
        (name for name in ("data", "has_more") for one in pages if name not in one.members), None
    )
    seen = f"a list without `{absent}`" if absent else _in_all(pages)
    findings += judged(absent is None, seen, "4.3.9")
    is_drift = any(one.verdict is Verdict.DRIFT for one in findings)
    if not is_drift and not any(page.payments for page in pages):
        raise visit.without_payments("no list had a payment")
    return findings


def _is_member(page: Answer, name: str, kinds: Any) -> bool:
    """Where there is no further page, the cursor may be absent."""
    is_optional = name == "next_cursor"
    return isinstance(page.members.get(name, None if is_optional else ...), kinds)


def _in_all(pages: Sequence[Answer]) -> str:
    return f"in all {len(pages)} lists"


async def _all_fields(visit: Visit) -> Findings:
    payments = _payments(visit)
    strange = next((name for one in payments for name in one if name not in FIELDS), None)
    missing = next((name for one in payments for name in FIELDS if name not in one), None)
    seen = f"without `{missing}`" if missing else f"also {shown(strange)}" if strange else "these"
    findings = judged(not missing, seen, "2.1.15")
    if strange or missing:
        return findings if missing else judged_assumed(False, seen, "2.1.15")
    is_in_order = all(tuple(one) == FIELDS for one in payments)
    return findings + judged_assumed(
        is_in_order, "in this order" if is_in_order else "in another order", "2.1.15"
    )


async def _a_separate_address(visit: Visit) -> Findings:
    url = visit.first.payment.get("checkout_url")
    if not _is_url(visit.first.payment, "checkout_url"):
        raise CannotSee("there is no `checkout_url`")
    ours, theirs = urlsplit(visit.client.base_url), urlsplit(str(url))
    is_separate = (ours.scheme, ours.netloc) != (theirs.scheme, theirs.netloc)
    seen = "at another address than the API" if is_separate else "at the address of the API"
    return judged(is_separate, seen, "1.10")


CHECKS = (
    Check(
        look=_each_field,
        states=tuple(number for rule in RULES for number in rule.numbers),
        assumes=tuple(number for rule in RULES if rule.looks_alike for number in rule.numbers),
    ),
    Check(look=_each_list, states=("2.2.1", "2.2.2", "2.2.3", "4.3.9")),
    Check(look=_all_fields, states=("2.1.15",), assumes=("2.1.15",)),
    Check(look=_a_separate_address, states=("1.10",)),
)
