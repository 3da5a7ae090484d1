"""Retrying safely (contract, section 4.1): what a repeated create call comes to."""

import asyncio

from emulator.verify.answers import shown_member
from emulator.verify.checks.refusals import CODES, refused
from emulator.verify.client import CannotSee
from emulator.verify.findings import Check, Findings, judged, judged_assumed
from emulator.verify.session import MIN_AMOUNT, Created, Visit

_KEY = "idempotency_key"


def _first(visit: Visit) -> Created:
    if _KEY not in visit.first.body:
        raise CannotSee("no payment could be created with an idempotency key")
    return visit.first


async def _a_retry(visit: Visit) -> Findings:
    first = _first(visit)
    answer = await visit.create(first.body)
    is_same = answer.is_success and answer.members.get("id") == first.id
    is_error = not answer.is_success
    seen = "the same payment" if is_same else answer.told if is_error else "another payment"
    findings = judged(is_same, f"a retry: {seen}", "4.1.10")
    if not is_same:
        return findings
    findings += judged_assumed(answer.status == first.answer.status, answer.told, "4.1.20")
    is_equal = answer.body == first.answer.body
    seen = "the bytes of the first answer" if is_equal else "other bytes than the first answer"
    findings += judged_assumed(is_equal, seen, "4.1.20")
    is_told = answer.headers.get("idempotent-replayed") == "true"
    seen = "`Idempotent-Replayed: true`" if is_told else "without `Idempotent-Replayed`"
    # What failed and was sent again may be a replay itself.
    requests = [one.request for one in visit.answers]
    is_first = sum(one is first.answer.request for one in requests) == 1
    if is_first and "idempotent-replayed" in first.answer.headers:
        is_told, seen = False, "`Idempotent-Replayed` in the first answer"
    return findings + judged_assumed(is_told, seen, "4.1.20")


async def _other_parameters(visit: Visit) -> Findings:
    body = {**_first(visit).body, "amount": _first(visit).body["amount"] + 1}
    answer = await visit.create(body)
    findings = refused(
        answer,
        "another `amount` under a used key",
        status=409,
        code="idempotency_key_reused",
        states=("4.1.19", "7.10"),
    )
    if answer.status == 409:
        seen = f"param {shown_member(answer.error, 'param')}"
        findings += judged_assumed(answer.param == _KEY, seen, "7.10")
    return findings


async def _after_a_refusal(visit: Visit) -> Findings:
    """A body that is refused uses no key up."""
    _first(visit)
    key = visit.idempotency_key("refused")
    refusal = await visit.create(visit.order(amount=MIN_AMOUNT - 1, idempotency_key=key))
    if refusal.is_success:
        raise CannotSee("what should have been refused was taken")
    answer = await visit.create(visit.order(idempotency_key=key))
    return judged_assumed(answer.is_success, f"after a refusal: {answer.told}", "4.1.21")


async def _of_another_account(visit: Visit) -> Findings:
    other, first = visit.other_accounts_key, _first(visit)
    answer = await visit.create(first.body, key=other)
    is_own = answer.is_success and answer.members.get("id") != first.id
    seen = f"the same key of another account: {answer.told}"
    return judged_assumed(is_own, seen, "4.1.21")


async def _at_once(visit: Visit) -> Findings:
    """Of two create calls that go together, one creates."""
    _first(visit)
    body = visit.order(idempotency_key=visit.idempotency_key("together"))
    answers = await asyncio.gather(visit.create(body), visit.create(body))
    ids = {answer.members.get("id") for answer in answers if answer.is_success}
    rest = [answer for answer in answers if not answer.is_success and answer.status != 409]
    seen = f"two at once: {' and '.join(sorted(answer.told for answer in answers))}"
    if len(ids) > 1:
        seen += ", two payments"
    return judged_assumed(len(ids) == 1 and not rest, seen, "4.1.23")


CHECKS = (
    Check(look=_a_retry, states=("4.1.10",), assumes=("4.1.20",)),
    Check(look=_other_parameters, states=("4.1.19", "7.10"), assumes=("7.10", CODES)),
    Check(look=_after_a_refusal, assumes=("4.1.21",)),
    Check(look=_of_another_account, assumes=("4.1.21",)),
    Check(look=_at_once, assumes=("4.1.23",)),
)
