"""Each payment is the same object when it is created, retrieved and listed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from emulator.verify.answers import shown_member
from emulator.verify.checks.timestamps import instant, moved
from emulator.verify.checks.window import MARGIN_MS, MAX_LIMIT, own_lists
from emulator.verify.findings import Check, Finding, Findings, judged
from emulator.verify.session import Created, Visit

Payment = Mapping[str, Any]

CHANGING_FIELDS = ("status", "method", "completed_at")
"""The fields that a customer or the time may change between two requests.

In a payment of others its owner may change any field.
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
    """One payment as different calls return it; `created` is None for a payment of others."""

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


async def _each_view(visit: Visit) -> Findings:
    """Every payment of this run, and one of others for each status."""
    listed = _listed(visit)
    different: dict[tuple[str, str], Finding] = {}
    seen: set[str] = set()
    for payment_id, created in _payments(visit, listed).items():
        answer = await visit.retrieve(payment_id)
        if created is not None and answer.is_refusal:
            seen.add(_FOUND)
            what = f"a payment that was created: {answer.told}"
            different.setdefault((_FOUND, ""), judged(False, what, _FOUND)[0])
        if not answer.is_success:
            continue
        views = Views(
            created=None if created is None else created.payment,
            listed=listed.get(payment_id, ()),
            retrieved=answer.members,
        )
        seen |= {_LISTED} if views.listed else set()
        seen |= {_CREATED, _FOUND, _RETRIEVED} if created is not None else set()
        for number, name, what in await _differences(visit, payment_id, views):
            different.setdefault((number, name), judged(False, what, number)[0])
    numbers = {number for number, _ in different}
    holds = [judged(True, _HOLDS[number], number)[0] for number in sorted(seen - numbers)]
    return [*different.values(), *holds]


def _listed(visit: Visit) -> dict[str, list[Payment]]:
    """Every form in which each payment was listed to the owner of the key, by its id."""
    found: dict[str, list[Payment]] = {}
    for page in own_lists(visit):
        for payment in page.payments:
            forms = found.setdefault(str(payment.get("id")), [])
            if payment not in forms:
                forms.append(payment)
    return found


def _payments(visit: Visit, listed: Mapping[str, Sequence[Payment]]) -> dict[str, Created | None]:
    """The payments to retrieve, by their ids. Raises CannotSee."""
    own: dict[str, Created | None] = {one.id: one for one in visit.all_created}
    others = {str(forms[-1].get("status")): one for one, forms in listed.items() if one not in own}
    return {**own, **dict.fromkeys(list(others.values())[:MAX_PAYMENTS_OF_OTHERS])}


async def _differences(visit: Visit, payment_id: str, views: Views) -> list[tuple[str, str, str]]:
    """The clause, the field and the two values of each difference."""
    if not _may_have_changed(views):
        return list(_differing(views, views.fields))
    changing = views.changing_fields
    settled = await _settled(visit, payment_id, views)
    found = [] if settled is None else list(_differing(settled, changing))
    return [*_differing(views, [name for name in views.fields if name not in changing]), *found]


def _may_have_changed(views: Views) -> bool:
    """Whether it was in another state before than it is now.

    What was the same in the beginning and in the end has not changed in between.
    """
    before = views.listed if views.created is None else [views.created]
    return not all(_are_same(views.changing_fields, one, views.retrieved) for one in before)


async def _settled(visit: Visit, payment_id: str, views: Views) -> Views | None:
    """The same payment listed between two equal retrieves; None while it keeps changing."""
    before = views.retrieved
    for _ in range(MAX_ROUNDS):
        page = await visit.page(**_around(visit, before), limit=MAX_LIMIT)
        listed = [one for one in page.payments if one.get("id") == payment_id]
        answer = await visit.retrieve(payment_id)
        if not answer.is_success:
            return None
        after = answer.members
        if _are_same(views.changing_fields, before, after):
            created = views.created
            has_moved_on = (
                created is not None
                and created.get("status") == "pending" != after.get("status")
                and all(_are_same(CHANGING_FIELDS, one, after) for one in listed)
            )
            return Views(created=None if has_moved_on else created, listed=listed, retrieved=after)
        before = after
    return None


def _around(visit: Visit, payment: Payment) -> dict[str, str]:
    """A query that finds the payment."""
    at = instant(payment.get("created_at"))
    if at is None or not visit.has_bounds:
        return {}
    return {"created_gte": moved(at, -MARGIN_MS), "created_lte": moved(at, MARGIN_MS)}


def _differing(views: Views, names: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Of three values the one that differs from the other two is wrong."""
    for name in names:
        created, retrieved = views.created, views.retrieved
        like_retrieved = [one for one in views.listed if _is_same(name, one, retrieved)]
        other = [one for one in views.listed if not _is_same(name, one, retrieved)]
        if created is not None and not _is_same(name, created, retrieved):
            like_created = [one for one in other if _is_same(name, one, created)]
            is_creation = bool(like_retrieved) and not like_created
            yield (
                _CREATED if is_creation else _RETRIEVED,
                name,
                f"`{name}`: {shown_member(created, name)} when created,"
                f" {shown_member(retrieved, name)} when retrieved",
            )
            if not like_retrieved:
                other = [one for one in other if one not in like_created]
        if other:
            yield (
                _LISTED,
                name,
                f"`{name}`: {shown_member(other[0], name)} in a list,"
                f" {shown_member(retrieved, name)} when retrieved",
            )


def _are_same(names: Sequence[str], one: Payment, other: Payment) -> bool:
    return all(_is_same(name, one, other) for name in names)


def _is_same(name: str, one: Payment, other: Payment) -> bool:
    """Whether the values are equal; a timestamp may be written in different ways."""
    if (name in one) != (name in other):
        return False
    value, other_value = one.get(name), other.get(name)
    if name.endswith("_at") and instant(value) is not None:
        return instant(value) == instant(other_value)
    return type(value) is type(other_value) and value == other_value


CHECKS = (Check(look=_each_view, states=(_LISTED, _CREATED, _FOUND, _RETRIEVED)),)
