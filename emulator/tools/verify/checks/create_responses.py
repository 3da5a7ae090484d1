"""Judges the responses to create calls (contract, section 4.1); sends no requests."""

from collections.abc import Mapping, Sequence
from typing import Any

from emulator.tools.verify.client import ServiceResponse, member_text
from emulator.tools.verify.contract import DEFAULT_EXPIRES_IN_S, MAX_PAIRS
from emulator.tools.verify.findings import Findings, assumed, stated, unseen
from emulator.tools.verify.session import Payment, parse_instant

# A service may determine the two instants one after the other.
_SLACK_MS = 1_000
RETURNED_FIELDS = {"success_url": "2.1.9", "cancel_url": "2.1.10", "metadata": "2.1.11"}


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
    numbers = {"amount": "2.1.3", **RETURNED_FIELDS}
    given = {name: number for name, number in numbers.items() if body.get(name) is not None}
    findings = returned_as_given(body, payment, given)
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
    findings: Findings = []
    for name, number in numbers.items():
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
