"""Checks of the retrieve call, and that each payment is equal in all responses.

The responses are those of create, retrieve and list calls (contract, sections 4.1 to 4.3).
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from emulator.tools.verify.checks.refusals import ExpectedRefusal, unauthorised
from emulator.tools.verify.checks.window import (
    MARGIN_MS,
    MAX_LIMIT,
    own_lists,
    parse_instant,
    shifted,
)
from emulator.tools.verify.client import CheckStopped
from emulator.tools.verify.findings import Check, ClauseFinding, Findings, assumed, stated
from emulator.tools.verify.messages import ServiceRequest, ServiceResponse, member_text
from emulator.tools.verify.session import MADE_BY, PAYMENTS, OwnPayment, Session

Payment = Mapping[str, Any]

CHANGING_FIELDS = ("status", "method", "completed_at")
"""The fields that a customer, or time, may change between two requests.

The owner of another payment may change any field of it.
"""
MAX_ROUNDS = 3
MAX_PAYMENTS_OF_OTHERS = 6

_LISTED = "2.2.1"
_CREATED = "4.1.15"
_FOUND = "4.2.1"
_RETRIEVED = "4.2.3"
_HOLDS = {
    _LISTED: "as they are retrieved",
    _CREATED: "the payment that is retrieved",
    _FOUND: "each payment that was created",
    _RETRIEVED: "the payment as it was created",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Views:
    """A payment as different calls return it; `created` is None unless this run created it."""

    created: Payment | None
    listed: Sequence[Payment]
    retrieved: Payment

    @property
    def all(self) -> list[Payment]:
        known = [] if self.created is None else [self.created]
        return [*known, *self.listed, self.retrieved]

    @property
    def fields(self) -> list[str]:
        return list(dict.fromkeys(name for view in self.all for name in view))

    @property
    def changing_fields(self) -> Sequence[str]:
        return self.fields if self.created is None else CHANGING_FIELDS


async def _each_view(session: Session) -> Findings:
    """Every payment of this run, and one other payment of each status."""
    listed = _listed(session)
    different: dict[tuple[str, str], ClauseFinding] = {}
    seen: set[str] = set()
    for payment_id, created in _payments(session, listed).items():
        response = await session.retrieve(payment_id)
        if created is not None and response.is_refusal:
            seen.add(_FOUND)
            what = f"a payment that was created: {response.summary}"
            different.setdefault((_FOUND, ""), stated(False, what, _FOUND)[0])
        if not response.is_success:
            continue
        views = Views(
            created=None if created is None else created.payment,
            listed=listed.get(payment_id, ()),
            retrieved=response.members,
        )
        seen |= {_LISTED} if views.listed else set()
        seen |= {_CREATED, _FOUND, _RETRIEVED} if created is not None else set()
        for number, name, what in await _differences(session, payment_id, views):
            different.setdefault((number, name), stated(False, what, number)[0])
    numbers = {number for number, _ in different}
    holds = [stated(True, _HOLDS[number], number)[0] for number in sorted(seen - numbers)]
    return [*different.values(), *holds]


def _listed(session: Session) -> dict[str, list[Payment]]:
    """The different listed forms of each payment, by its id."""
    found: dict[str, list[Payment]] = {}
    for page in own_lists(session):
        for payment in page.payments:
            forms = found.setdefault(str(payment.get("id")), [])
            if payment not in forms:
                forms.append(payment)
    return found


def _payments(
    session: Session, listed: Mapping[str, Sequence[Payment]]
) -> dict[str, OwnPayment | None]:
    """The payments to retrieve, by their ids. Raises CheckStopped."""
    own: dict[str, OwnPayment | None] = {payment.id: payment for payment in session.all_created}
    others = {str(forms[-1].get("status")): one for one, forms in listed.items() if one not in own}
    return {**own, **dict.fromkeys(list(others.values())[:MAX_PAYMENTS_OF_OTHERS])}


async def _differences(
    session: Session, payment_id: str, views: Views
) -> list[tuple[str, str, str]]:
    """The clause, the field and the two values of each difference."""
    if not _may_have_changed(views):
        return list(_differing(views, views.fields))
    changing = views.changing_fields
    settled = await _settled(session, payment_id, views)
    found = [] if settled is None else list(_differing(settled, changing))
    return [*_differing(views, [name for name in views.fields if name not in changing]), *found]


def _may_have_changed(views: Views) -> bool:
    """Whether the payment was in another state before.

    A payment that was equal at the beginning and at the end did not change in between.
    """
    before = views.listed if views.created is None else [views.created]
    return not all(_are_same(views.changing_fields, payment, views.retrieved) for payment in before)


async def _settled(session: Session, payment_id: str, views: Views) -> Views | None:
    """The payment listed between two equal retrieves; None if it keeps changing."""
    before = views.retrieved
    for _ in range(MAX_ROUNDS):
        page = await session.page(**_around(session, before), limit=MAX_LIMIT)
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
    return {"created_gte": shifted(at, -MARGIN_MS), "created_lte": shifted(at, MARGIN_MS)}


def _differing(views: Views, names: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """The differences; of three values, the one that differs from the other two is wrong."""
    for name in names:
        created, retrieved = views.created, views.retrieved
        like_retrieved = [payment for payment in views.listed if _is_same(name, payment, retrieved)]
        other = [payment for payment in views.listed if not _is_same(name, payment, retrieved)]
        if created is not None and not _is_same(name, created, retrieved):
            like_created = [payment for payment in other if _is_same(name, payment, created)]
            is_creation = bool(like_retrieved) and not like_created
            yield (
                _CREATED if is_creation else _RETRIEVED,
                name,
                f"`{name}`: {member_text(created, name)} when created,"
                f" {member_text(retrieved, name)} when retrieved",
            )
            if not like_retrieved:
                other = [payment for payment in other if payment not in like_created]
        if other:
            yield (
                _LISTED,
                name,
                f"`{name}`: {member_text(other[0], name)} in a list,"
                f" {member_text(retrieved, name)} when retrieved",
            )


def _are_same(names: Sequence[str], one: Payment, other: Payment) -> bool:
    return all(_is_same(name, one, other) for name in names)


def _is_same(name: str, one: Payment, other: Payment) -> bool:
    """Whether the values are equal; a timestamp may be written in different ways."""
    if (name in one) != (name in other):
        return False
    value, other_value = one.get(name), other.get(name)
    if name.endswith("_at") and parse_instant(value) is not None:
        return parse_instant(value) == parse_instant(other_value)
    return type(value) is type(other_value) and value == other_value


CHECKS = (Check(run=_each_view, states=(_LISTED, _CREATED, _FOUND, _RETRIEVED)),)


async def _a_payment(session: Session) -> Findings:
    response = await session.retrieve(session.first.id)
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
    is_same = errors[0] == errors[1]
    seen = "like an unknown id"
    if not is_same:
        seen = f"{_error_text(response)}, an unknown id {_error_text(unknown)}"
    return findings + assumed(is_same, seen, "4.2.7")


def _error_text(response: ServiceResponse) -> str:
    return f"{response.summary} with the message {member_text(response.error, 'message')}"


def _create_call(session: Session) -> dict[str, Any]:
    # Without the mark of the run: a service may create it for another account, or for this one.
    body = session.order(metadata={"made_by": MADE_BY})
    return {"method": "POST", "body": json.dumps(body).encode()}


async def _in_another_case(session: Session) -> Findings:
    id_ = session.first.id
    other = f"{id_[:4]}{id_[4:].swapcase()}"
    if other == id_:
        raise CheckStopped("the id has no letters")
    response = await session.retrieve(other)
    return assumed(response.status == 404, f"the id in another case: {response.summary}", "4.2.1")


async def _with_a_body(session: Session) -> Findings:
    request = ServiceRequest(path=f"{PAYMENTS}/{session.first.id}", body=b"{}", key=session.key)
    response = await session.client.send(request)
    return assumed(response.is_success, f"with a body: {response.summary}", "4.2.2")


RETRIEVAL = (
    Check(run=_a_payment, states=("4.2.1", "4.2.2", "7.5")),
    Check(run=_in_another_case, assumes=("4.2.1",)),
    Check(run=_with_a_body, assumes=("4.2.2",)),
    *unauthorised("a create call", _create_call),
    *unauthorised("a payment", lambda session: {"path": f"{PAYMENTS}/{session.first.id}"}),
    ExpectedRefusal(
        what="an unknown id",
        send=lambda session: session.retrieve(session.unknown_id),
        status=404,
        code="payment_not_found",
        states=("4.2.6", "7.9"),
    ).check,
    Check(run=_by_another_account, states=("4.2.7", "5.5", "7.9"), assumes=("4.2.7",)),
)
