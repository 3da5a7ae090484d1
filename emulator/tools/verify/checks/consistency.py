"""Checks of the retrieve call, and that each payment is equal in all responses.

The calls are create, retrieve and list (contract, sections 4.1 to 4.3). Members
that the contract does not name may differ.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from emulator.tools.verify.checks.refusals import (
    ExpectedRefusal,
    expectation,
    path_of_first,
    sent,
    unauthorised,
)
from emulator.tools.verify.client import CheckStopped, ServiceResponse, member_text
from emulator.tools.verify.contract import FIELDS, MADE_BY, Payment, parse_instant
from emulator.tools.verify.findings import Check, Findings, assumed, stated
from emulator.tools.verify.session import MARGIN_MS, Session, between

CHANGING_FIELDS = ("status", "method", "completed_at")
"""The fields that a customer, or time, may change between two requests.

The owner of another payment may change any field of it.
"""
MAX_ROUNDS = 3
MAX_PAYMENTS_OF_OTHERS = 6

LISTED = "2.2.1"
CREATED = "4.1.15"
FOUND = "4.2.1"
RETRIEVED = "4.2.3"
_HOLDS = {
    LISTED: "as they are retrieved",
    CREATED: "the payment that is retrieved",
    FOUND: "each payment that was created",
    RETRIEVED: "the payment as it was created",
}


@dataclass(frozen=True, slots=True)
class Views:
    """A payment as different calls return it; `created` is None unless this run created it."""

    created: Payment | None
    listed: Sequence[Payment]
    retrieved: Payment
    how: str = "when retrieved"

    @property
    def changing_fields(self) -> Sequence[str]:
        return [*FIELDS] if self.created is None else CHANGING_FIELDS


async def _each_view(session: Session) -> Findings:
    """Every payment of this run, and one other payment of each status."""
    listed = _listed(session)
    own: dict[str, Payment] = {created.id: created.payment for created in session.all_created}
    others = {str(forms[-1].get("status")): id_ for id_, forms in listed.items() if id_ not in own}
    different: dict[tuple[str, str], str] = {}
    seen: set[str] = set()
    for payment_id in (*own, *list(others.values())[:MAX_PAYMENTS_OF_OTHERS]):
        created = own.get(payment_id)
        response = await session.retrieve(payment_id)
        if created is not None and response.is_refusal:
            seen.add(FOUND)
            what = f"a payment that was created: {response.summary}"
            different.setdefault((FOUND, ""), what)
        if not response.is_success:
            continue
        forms = listed.get(payment_id, ())
        seen |= {LISTED} if forms else set()
        seen |= {CREATED, FOUND, RETRIEVED} if created is not None else set()
        views = Views(created=created, listed=forms, retrieved=response.members)
        for number, name, what in await _differences(session, payment_id, views):
            different.setdefault((number, name), what)
    return judged(seen, different)


def judged(seen: Collection[str], different: Mapping[tuple[str, str], str]) -> Findings:
    """The differences, by clause and field; the other clauses of `seen` hold."""
    findings: Findings = []
    for (number, _), what in different.items():
        findings += stated(False, what, number)
    for number in sorted({*seen} - {number for number, _ in different}):
        findings += stated(True, _HOLDS[number], number)
    return findings


def _listed(session: Session) -> dict[str, list[Payment]]:
    """The different listed forms of each payment, by its id."""
    found: dict[str, list[Payment]] = {}
    for page in session.lists:
        for payment in page.payments:
            forms = found.setdefault(str(payment.get("id")), [])
            if payment not in forms:
                forms.append(payment)
    return found


async def _differences(
    session: Session, payment_id: str, views: Views
) -> list[tuple[str, str, str]]:
    """The clause, the field and the two values of each difference.

    A payment that was equal at the beginning and at the end did not change in between.
    """
    changing = views.changing_fields
    before = views.listed if views.created is None else [views.created]
    if all(_are_same(changing, payment, views.retrieved) for payment in before):
        return list(differences(views, [*FIELDS]))
    settled = await _settled(session, payment_id, views)
    found = [] if settled is None else list(differences(settled, changing))
    return [*differences(views, [name for name in FIELDS if name not in changing]), *found]


async def _settled(session: Session, payment_id: str, views: Views) -> Views | None:
    """The payment listed between two equal retrieves; None if it keeps changing."""
    before = views.retrieved
    for _ in range(MAX_ROUNDS):
        page = await session.long_page(**_around(session, before))
        listed = [payment for payment in page.payments if payment.get("id") == payment_id]
        response = await session.retrieve(payment_id)
        if not response.is_success:
            return None
        after = response.members
        if _are_same(views.changing_fields, before, after):
            created = views.created
            has_moved_on = (
                created is not None
                and created.get("status") == "pending" != after.get("status")
                and all(_are_same(CHANGING_FIELDS, payment, after) for payment in listed)
            )
            return Views(created=None if has_moved_on else created, listed=listed, retrieved=after)
        before = after
    return None


def _around(session: Session, payment: Payment) -> dict[str, str]:
    """A query that finds the payment."""
    at = parse_instant(payment.get("created_at"))
    if at is None or not session.has_bounds:
        return {}
    return between(at - MARGIN_MS, at + MARGIN_MS)


def differences(views: Views, names: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """The differences; of three values, the one that differs from the other two is wrong."""
    created, retrieved = views.created, views.retrieved
    for name in names:
        received = f"{member_text(retrieved, name)} {views.how}"
        like_retrieved = [payment for payment in views.listed if is_same(name, payment, retrieved)]
        other = [payment for payment in views.listed if not is_same(name, payment, retrieved)]
        if created is not None and not is_same(name, created, retrieved):
            unlike_created = [payment for payment in other if not is_same(name, payment, created)]
            is_creation = bool(like_retrieved) and len(unlike_created) == len(other)
            text = f"`{name}`: {member_text(created, name)} when created, {received}"
            yield (CREATED if is_creation else RETRIEVED, name, text)
            if not like_retrieved:
                other = unlike_created
        if other:
            yield LISTED, name, f"`{name}`: {member_text(other[0], name)} in a list, {received}"


def _are_same(names: Sequence[str], one: Payment, other: Payment) -> bool:
    return all(is_same(name, one, other) for name in names)


def is_same(name: str, one: Payment, other: Payment) -> bool:
    """Whether the values are equal; a timestamp may be written in different ways."""
    if (name in one) != (name in other):
        return False
    value, other_value = one.get(name), other.get(name)
    if name.endswith("_at") and parse_instant(value) is not None:
        return parse_instant(value) == parse_instant(other_value)
    return type(value) is type(other_value) and value == other_value


async def _a_payment(session: Session) -> Findings:
    return retrieved(await session.retrieve(session.first.id))


def retrieved(response: ServiceResponse) -> Findings:
    """The response to a retrieve call for a payment of the account."""
    seen = f"without a body: {response.summary}"
    findings = stated(response.is_success, seen, "4.2.1", "4.2.2")
    return findings + stated(response.status == 200, seen, "7.5")


async def _by_another_account(session: Session) -> Findings:
    """Both responses are to the other account, so that they differ only in the payment."""
    other = session.other_accounts_key
    response = await session.retrieve(session.first.id, key=other)
    seen = f"by another account: {response.summary}"
    if response.is_success:
        seen += " (or do the two keys belong to one account?)"
    findings = stated(response.status == 404, seen, "4.2.7", "5.5", "7.9")
    if response.status != 404:
        return findings
    unknown = await session.retrieve(session.unknown_id, key=other)
    errors = [
        (each.status, json.dumps(each.members).replace(id_.rpartition("_")[2], ""))
        for each, id_ in ((response, session.first.id), (unknown, session.unknown_id))
    ]
    texts = [
        f"{each.summary} with the message {member_text(each.error, 'message')}"
        for each in (response, unknown)
    ]
    wrong = f"{texts[0]}, an unknown id {texts[1]}"
    return findings + assumed(
        errors[0] == errors[1], "like an unknown id", "4.2.7", otherwise=wrong
    )


def _order(session: Session) -> bytes:
    # Without the mark of the run: a service may create it for another account, or for this one.
    return json.dumps(session.order(metadata={"made_by": MADE_BY})).encode()


async def _retrieve_in_another_case(session: Session) -> ServiceResponse:
    id_ = session.first.id
    other = f"{id_[:4]}{id_[4:].swapcase()}"
    if other == id_:
        raise CheckStopped("the id has no letters")
    return await session.retrieve(other)


UNKNOWN_ID = ExpectedRefusal(
    what="an unknown id",
    send=lambda session: session.retrieve(session.unknown_id),
    status=404,
    code="payment_not_found",
    states=("4.2.6", "7.9"),
)
RETRIEVAL = (
    Check(_a_payment, ("4.2.1", "4.2.2", "7.5")),
    expectation(
        "the id in another case",
        _retrieve_in_another_case,
        "4.2.1",
        is_so=lambda _, response: response.status == 404,
    ),
    expectation("with a body", sent(path=path_of_first, body=b"{}"), "4.2.2"),
    *unauthorised("a create call", method="POST", body=_order),
    *unauthorised("a payment", path=path_of_first),
    UNKNOWN_ID.check,
    Check(_by_another_account, ("4.2.7", "5.5", "7.9")),
)

CHECKS = (Check(_each_view, tuple(_HOLDS)),)
