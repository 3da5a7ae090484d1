"""Checks of create calls that should succeed, and of repeated ones (contract, section 4.1)."""

import asyncio
import re
from collections.abc import Collection

from emulator.tools.verify.checks.objects import (
    created,
    requested_fields,
    retried,
    returned_as_given,
    separate_checkouts,
)
from emulator.tools.verify.checks.refusals import ExpectedRefusal, created_with, expectation
from emulator.tools.verify.client import CheckStopped, ServiceResponse
from emulator.tools.verify.contract import (
    EXPIRES_IN_S,
    LARGER_AMOUNT,
    LONGER_EXPIRES_IN_S,
    MAX_PAIRS,
    METHODS,
    MIN_AMOUNT,
    OTHER_VALUES,
    PARAMETERS,
    REQUIRED,
    RETURNED_FIELDS,
)
from emulator.tools.verify.findings import Check, Findings, assumed, stated
from emulator.tools.verify.session import OwnPayment, Session

FEW_PAIRS = 2
_KEY = "idempotency_key"

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

# Values that the contract allows, by parameter, each with its clauses.
_LIMITS = {
    "amount": (f"`amount` {MIN_AMOUNT}", ("4.1.3", "8.1")),
    "metadata": (f"{MAX_PAIRS} pairs of metadata", ("4.1.8", "8.2")),
    _KEY: ("an `idempotency_key`", ("4.1.10",)),
}


async def _all_parameters(session: Session) -> Findings:
    """Create a payment with all parameters."""
    response, refusals = await _first_response(session)
    which = "other" if refusals else "all"
    findings = stated(response.is_success, f"with {which} parameters: {response.summary}", "4.1.1")
    for name, summary in refusals.items():
        what, numbers = _LIMITS[name]
        findings += stated(False, f"{what}: {summary}", *numbers)
    if not response.is_success:
        return findings
    is_short = session.expires_in_s == EXPIRES_IN_S
    seen = f"`expires_in` {EXPIRES_IN_S} is {'taken' if is_short else 'refused'}"
    findings += assumed(is_short, seen, "8.9")
    return findings + created(response)


async def _first_response(session: Session) -> tuple[ServiceResponse, dict[str, str]]:
    """The response to a create call that the service accepts, and earlier refusals by parameter.

    An account may have fewer methods, and a service only longer expiries; no other check would
    have a payment. The contract allows the values that were refused.
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
    key = ... if _KEY in refusals else session.idempotency_key(purpose)
    pairs = FEW_PAIRS if "metadata" in refusals else MAX_PAIRS
    body = session.order(metadata=session.metadata(pairs), idempotency_key=key)
    return await session.create(body)


def _field(response: ServiceResponse) -> str:
    """The top-level field that a refusal names; empty for other responses."""
    return re.split(r"[.\[]", str(response.param))[0] if response.is_refusal else ""


async def _requested_fields(session: Session) -> Findings:
    return requested_fields(session.first.body, session.first.payment)


_CLAUSES_OF_FORM = {
    "success_url": "4.1.6",
    "cancel_url": "4.1.7",
    "metadata": "4.1.8",
    _KEY: "4.1.13",
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
    findings = assumed(True, seen, *_CLAUSES_OF_FORM.values())
    return findings + returned_as_given(body, response.members, RETURNED_FIELDS)


async def _required_parameters(session: Session) -> Findings:
    """Create a payment with only the parameters that we assume to be required."""
    earlier = list(session.created)
    optional = [name for name in PARAMETERS if name not in REQUIRED]
    body = session.order(**dict.fromkeys(optional, ...))
    response = await session.create(body)
    what = f"without {', '.join(f'`{name}`' for name in optional)}"
    findings = assumed(response.is_success, f"{what}: {response.summary}", "4.1.13")
    if not response.is_success:
        return findings
    payment_id = response.members.get("id")
    if isinstance(payment_id, str):
        retrieved = await session.retrieve(payment_id)
        seen = f"at once after its creation: {retrieved.summary}"
        findings += stated(retrieved.is_success, seen, "4.2.1")
    findings += created(response) + requested_fields(body, response.members)
    is_new = payment_id not in {each.id for each in earlier}
    findings += stated(is_new, "two payments, two ids", "2.1.1", otherwise="one id twice")
    return findings + separate_checkouts([response.members, *(each.payment for each in earlier)])


async def _unknown_parameter(session: Session) -> Findings:
    response = await session.create(session.order(made_by_verify="yes"))
    seen = f"an unknown parameter: {response.summary}"
    if response.status == 400:
        seen += ", as with `--strict`"
    if response.is_success:
        response = await session.page(limit=1, made_by_verify="yes")
        seen = f"an unknown query parameter: {response.summary}"
    return assumed(response.is_success, seen, "4.1.14")


def _first_with_key(session: Session) -> OwnPayment:
    if _KEY not in session.first.body:
        raise CheckStopped("no payment could be created with an idempotency key")
    return session.first


async def _a_retry(session: Session) -> Findings:
    first = _first_with_key(session)
    response = await session.create(first.body)
    # The first response is a replay itself if its request failed and was retried.
    is_first = sum(each.request is first.response.request for each in session.responses) == 1
    return retried(first.response, response, is_first=is_first)


def reused_key(name: str, value: object) -> ExpectedRefusal:
    """The refusal of another value under a used key."""
    return ExpectedRefusal(
        what=f"another `{name}` under a used key",
        send=lambda session: session.create({**_first_with_key(session).body, name: value}),
        status=409,
        code="idempotency_key_reused",
        param=_KEY,
        states=("4.1.19", "7.10"),
        states_param=(),
        assumes_param=("7.10",),
    )


async def _create_in_reverse(session: Session) -> ServiceResponse:
    """The order of members and of metadata makes no difference."""
    body = dict(reversed([*_first_with_key(session).body.items()]))
    metadata = dict(reversed([*body["metadata"].items()]))
    return await session.create({**body, "metadata": metadata})


async def _other_keys(session: Session) -> Findings:
    """A key that differs in its case, or only at its end, is another key."""
    first, ids = _first_with_key(session), session.created_ids
    key = str(first.body[_KEY])
    findings: Findings = []
    for what, other in (("in another case", key.swapcase()), ("with a letter more", f"{key}x")):
        response = await session.create({**first.body, _KEY: other})
        is_new = response.members.get("id") not in ids
        seen = f"the key {what}: {'another' if is_new else 'the same'} payment"
        findings += stated(is_new, seen, "4.1.10") if response.is_success else []
    return findings


async def _create_after_refusal(session: Session) -> ServiceResponse:
    """A refused body does not use up its key."""
    _first_with_key(session)
    key = session.idempotency_key("refused")
    refusal = await session.create(session.order(amount=MIN_AMOUNT - 1, idempotency_key=key))
    if refusal.is_success:
        raise CheckStopped("what should have been refused was taken")
    return await session.create(session.order(idempotency_key=key))


def _is_of_first(session: Session, response: ServiceResponse) -> bool:
    return response.members.get("id") == session.first.id


async def _concurrent_calls(session: Session) -> Findings:
    """Only one of two concurrent create calls creates a payment."""
    _first_with_key(session)
    body = session.order(idempotency_key=session.idempotency_key("together"))
    responses = await asyncio.gather(session.create(body), session.create(body))
    ids = {response.members.get("id") for response in responses if response.is_success}
    is_so = len(ids) == 1 and all(each.is_success or each.status == 409 for each in responses)
    seen = f"two at once: {' and '.join(sorted(response.summary for response in responses))}"
    seen += ", two payments" if len(ids) > 1 else ""
    return assumed(is_so, seen, "4.1.23")


CHECKS = (
    Check(
        _all_parameters,
        (
            *("4.1.1", "4.1.15", "4.1.16", "7.6", "8.9"),
            *(number for _, numbers in _LIMITS.values() for number in numbers),
        ),
    ),
    expectation("all three", created_with(methods=list(METHODS)), "2.1.16"),
    Check(
        _requested_fields,
        ("2.1.3", "2.1.5", "2.1.6", *RETURNED_FIELDS.values(), "2.1.14", "4.1.8", "4.1.11", "8.2"),
    ),
    Check(_difficult_values, (*RETURNED_FIELDS.values(), *_CLAUSES_OF_FORM.values())),
    Check(
        _required_parameters,
        (
            *("1.4", "2.1.1", "2.1.3", "2.1.5", "2.1.6", "2.1.8", "2.1.9", "2.1.10", "2.1.11"),
            *("2.1.14", "4.1.12", "4.1.13", "4.1.15", "4.1.16", "4.2.1", "7.6", "8.3", "8.4"),
        ),
    ),
    Check(_unknown_parameter, ("4.1.14",)),
    Check(_a_retry, ("4.1.10", "4.1.20")),
    *(reused_key(name, value).check for name, value in OTHER_VALUES.items()),
    expectation(
        "the members in another order",
        _create_in_reverse,
        "4.1.19",
        is_so=lambda session, one: one.is_success and _is_of_first(session, one),
    ),
    expectation("after a refusal", _create_after_refusal, "4.1.21"),
    expectation(
        "the same key of another account",
        lambda one: one.create(key=one.other_accounts_key, body=_first_with_key(one).body),
        "4.1.21",
        is_so=lambda session, one: one.is_success and not _is_of_first(session, one),
    ),
    Check(_concurrent_calls, ("4.1.23",)),
    Check(_other_keys, ("4.1.10",)),
)
