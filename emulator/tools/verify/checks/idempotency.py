"""Checks of repeated create calls and idempotency keys (contract, section 4.1)."""

import asyncio
from collections.abc import Mapping

from emulator.tools.verify.checks.refusals import CODES, ExpectedRefusal
from emulator.tools.verify.client import CheckStopped
from emulator.tools.verify.findings import Check, Findings, assumed, stated
from emulator.tools.verify.messages import member_text
from emulator.tools.verify.session import (
    LARGER_AMOUNT,
    LONGER_EXPIRES_IN_S,
    MADE_BY,
    MIN_AMOUNT,
    OwnPayment,
    Session,
)

_KEY = "idempotency_key"


def _first(session: Session) -> OwnPayment:
    if _KEY not in session.first.body:
        raise CheckStopped("no payment could be created with an idempotency key")
    return session.first


async def _a_retry(session: Session) -> Findings:
    first = _first(session)
    response = await session.create(first.body)
    is_same = response.is_success and response.members.get("id") == first.id
    is_error = not response.is_success
    seen = "the same payment" if is_same else response.summary if is_error else "another payment"
    findings = stated(is_same, f"a retry: {seen}", "4.1.10")
    if not is_same:
        return findings
    findings += assumed(response.status == first.response.status, response.summary, "4.1.20")
    is_equal = response.body == first.response.body
    seen = "the bytes of the first response" if is_equal else "other bytes than the first response"
    findings += assumed(is_equal, seen, "4.1.20")
    is_replay = response.headers.get("idempotent-replayed") == "true"
    seen = "`Idempotent-Replayed: true`" if is_replay else "without `Idempotent-Replayed`"
    # The first response is a replay itself if its request failed and was retried.
    requests = [each.request for each in session.responses]
    is_first = sum(request is first.response.request for request in requests) == 1
    if is_first and "idempotent-replayed" in first.response.headers:
        is_replay, seen = False, "`Idempotent-Replayed` in the first response"
    return findings + assumed(is_replay, seen, "4.1.20")


_OTHER_VALUES: Mapping[str, object] = {
    "amount": LARGER_AMOUNT + 1,
    "success_url": "https://example.com/made-by-payments-emulator-verify",
    "cancel_url": "https://example.com/made-by-payments-emulator-verify",
    "metadata": {"made_by": MADE_BY},
    "expires_in": LONGER_EXPIRES_IN_S + 1,
}


def _with_another(name: str) -> Check:
    """The check of a used key with another value of a parameter."""
    refusal = ExpectedRefusal(
        what=f"another `{name}` under a used key",
        send=lambda session: session.create({**_first(session).body, name: _OTHER_VALUES[name]}),
        status=409,
        code="idempotency_key_reused",
        states=("4.1.19", "7.10"),
    )

    async def run(session: Session) -> Findings:
        response = await refusal.send(session)
        findings = refusal.findings(response)
        if response.status == 409:
            seen = f"param {member_text(response.error, 'param')}"
            findings += assumed(response.param == _KEY, seen, "7.10")
        return findings

    return Check(run=run, states=refusal.states, assumes=("7.10", CODES))


async def _same_parameters(session: Session) -> Findings:
    """The order of members and of metadata makes no difference."""
    first = _first(session)
    body = dict(reversed([*first.body.items()]))
    metadata = dict(reversed([*body["metadata"].items()]))
    response = await session.create({**body, "metadata": metadata})
    is_same = response.is_success and response.members.get("id") == first.id
    return assumed(is_same, f"the members in another order: {response.summary}", "4.1.19")


async def _other_keys(session: Session) -> Findings:
    """A key that differs in its case, or only at its end, is another key."""
    first, ids = _first(session), session.created_ids
    key = str(first.body[_KEY])
    findings: Findings = []
    for what, other in (("in another case", key.swapcase()), ("with a letter more", f"{key}x")):
        response = await session.create({**first.body, _KEY: other})
        is_new = response.members.get("id") not in ids
        seen = f"the key {what}: {'another' if is_new else 'the same'} payment"
        findings += stated(is_new, seen, "4.1.10") if response.is_success else []
    return findings


async def _after_a_refusal(session: Session) -> Findings:
    """A refused body does not use up its key."""
    _first(session)
    key = session.idempotency_key("refused")
    refusal = await session.create(session.order(amount=MIN_AMOUNT - 1, idempotency_key=key))
    if refusal.is_success:
        raise CheckStopped("what should have been refused was taken")
    response = await session.create(session.order(idempotency_key=key))
    return assumed(response.is_success, f"after a refusal: {response.summary}", "4.1.21")


async def _key_of_another_account(session: Session) -> Findings:
    other, first = session.other_accounts_key, _first(session)
    response = await session.create(first.body, key=other)
    is_own = response.is_success and response.members.get("id") != first.id
    seen = f"the same key of another account: {response.summary}"
    return assumed(is_own, seen, "4.1.21")


async def _concurrent_calls(session: Session) -> Findings:
    """Only one of two concurrent create calls creates a payment."""
    _first(session)
    body = session.order(idempotency_key=session.idempotency_key("together"))
    responses = await asyncio.gather(session.create(body), session.create(body))
    ids = {response.members.get("id") for response in responses if response.is_success}
    rest = [
        response for response in responses if not response.is_success and response.status != 409
    ]
    seen = f"two at once: {' and '.join(sorted(response.summary for response in responses))}"
    if len(ids) > 1:
        seen += ", two payments"
    return assumed(len(ids) == 1 and not rest, seen, "4.1.23")


CHECKS = (
    Check(run=_a_retry, states=("4.1.10",), assumes=("4.1.20",)),
    *map(_with_another, _OTHER_VALUES),
    Check(run=_same_parameters, assumes=("4.1.19",)),
    Check(run=_after_a_refusal, assumes=("4.1.21",)),
    Check(run=_key_of_another_account, assumes=("4.1.21",)),
    Check(run=_concurrent_calls, assumes=("4.1.23",)),
    Check(run=_other_keys, states=("4.1.10",)),
)
