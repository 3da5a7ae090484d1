"""Checks of the filters of a list (contract, section 4.3)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from emulator.domain.instants import DAY_MS, Instant
from emulator.domain.payment import Status
from emulator.tools.verify.checks.refusals import ExpectedRefusal, listed_with
from emulator.tools.verify.checks.window import (
    MAX_LIMIT,
    bounds,
    has_next_page,
    missing_by_filter,
    own_lists,
    parse_instant,
    shifted,
    window,
    within_bounds,
)
from emulator.tools.verify.client import CheckStopped
from emulator.tools.verify.findings import Check, Findings, assumed, stated
from emulator.tools.verify.messages import ServiceResponse
from emulator.tools.verify.session import METHODS, Session

STATUSES = [status.value for status in Status]
_FEW = 2
_OFFSET_MS = 3 * 3_600_000
_NEAR_MS = 20


async def _by_their_status(session: Session) -> Findings:
    """All payments of this run are pending, or have expired in the meantime."""
    pending = await session.page(**await window(session), status="pending", limit=MAX_LIMIT)
    seen = f"`status=pending`: {pending.summary}"
    if not pending.is_success:
        return stated(False, seen, "4.3.5")
    # A payment that was pending when it was created belongs here, whatever its listed status.
    own = {payment.id for payment in session.created if payment.payment.get("status") == "pending"}
    others = [payment for payment in pending.payments if payment.get("id") not in own]
    is_pure = all(payment.get("status") == "pending" for payment in others)
    gone = sorted(missing_by_filter(session, pending))
    lost = len(await _with_status(session, gone, "pending"))
    seen += ", only pending payments" if is_pure else ", also other payments"
    seen += f", {lost} missing" if lost else ""
    return stated(is_pure and not lost, seen, "4.3.5")


async def _by_another_status(session: Session) -> Findings:
    own = {payment.id for payment in session.all_created}
    completed = await session.page(**await window(session), status="completed", limit=MAX_LIMIT)
    found = [id_ for id_ in completed.ids if id_ in own]
    wrong = len(found) - len(await _with_status(session, found, "completed", "refunded"))
    seen = f"`status=completed`: {completed.summary}, {wrong} other payments"
    return stated(completed.is_success and not wrong, seen, "4.3.5")


async def _by_each_value(session: Session) -> Findings:
    """A filter accepts every value that the contract names."""
    findings: Findings = []
    for name, values, number in (("status", STATUSES, "4.3.5"), ("method", METHODS, "4.3.6")):
        for value in sorted(values):
            page = await session.page(**{name: value}, limit=_FEW)
            wrong = [payment for payment in page.payments if payment.get(name) not in (value, None)]
            seen = f"`{name}={value}`: {page.summary}, {len(wrong)} other payments"
            if wrong or not page.is_success:
                findings += stated(False, seen, number)
    return findings or stated(True, "each value is accepted", "4.3.5", "4.3.6")


async def _several_filters(session: Session) -> Findings:
    """A payment that matches one of two filters is not listed."""
    _, until = bounds(session)
    query = {"created_gte": shifted(until, 0), "status": "pending"}
    page = await session.page(**query, limit=MAX_LIMIT)
    found = session.created_ids & set(page.ids)
    seen = f"`status` and `created_gte`: {len(found)} payments that match only one"
    return assumed(page.is_success and not found, seen, "4.3.17")


async def _with_status(session: Session, ids: Sequence[str], *statuses: str) -> list[str]:
    """Retrieve the payments; return those that now have one of the statuses."""
    responses = [(id_, await session.retrieve(id_)) for id_ in ids]
    return [id_ for id_, response in responses if response.members.get("status") in statuses]


async def _by_method(session: Session) -> Findings:
    """No payment of this run has a method yet, and one does not offer the method of the others."""
    method = session.method
    offered = {payment.id: payment.body.get("methods", ()) for payment in session.all_created}
    response = await session.page(**await window(session), method=method, limit=MAX_LIMIT)
    foreign = [
        payment
        for payment in response.payments
        if payment.get("method") not in (method, None)
        or method not in offered.get(str(payment.get("id")), (method,))
    ]
    seen = f"`method={method}`: {response.summary}, {len(foreign)} payments of another method"
    findings = stated(response.is_success and not foreign, seen, "4.3.6")
    if response.is_success and not foreign:
        undecided = any(id_ in offered for id_ in response.ids)
        seen = "payments that offer the method but do not have it yet are " + (
            "included" if undecided else "excluded"
        )
        findings += assumed(not undecided, seen, "4.3.6")
    return findings


_UNKNOWN_VALUES = (
    ("status", "no_such_status"),
    ("status", ""),
    ("method", "no_such_method"),
    ("created_gte", "yesterday"),
    ("created_lte", "yesterday"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A filter by creation, with values that match all payments of this run, and none.

    `outside` are the instants of other payments that it should have excluded.
    """

    name: str
    number: str
    inside: str
    outer: Mapping[str, str]
    outside: Sequence[Instant]


async def _by_creation(session: Session) -> Findings:
    """All payments of this run lie between the bounds, and none beyond them."""
    since, until = bounds(session)
    inside = await session.page(**within_bounds(session), limit=MAX_LIMIT)
    instants = _instants_of_others(session, inside)
    after = Bound(
        name="created_gte",
        number="4.3.7",
        inside=shifted(since, 0),
        outer={"created_gte": shifted(until, 0), "created_lte": shifted(until, DAY_MS)},
        outside=[at for at in instants if at < since],
    )
    before = Bound(
        name="created_lte",
        number="4.3.8",
        inside=shifted(until, 0),
        outer={"created_gte": shifted(since, -DAY_MS), "created_lte": shifted(since, 0)},
        outside=[at for at in instants if at > until],
    )
    return await _bounded(session, inside, after) + await _bounded(session, inside, before)


def _instants_of_others(session: Session, page: ServiceResponse) -> list[int]:
    """When other payments were created; those of this run are known to be inside."""
    own = session.created_ids
    others = [payment for payment in page.payments if payment.get("id") not in own]
    instants = [parse_instant(payment.get("created_at")) for payment in others]
    return [at for at in instants if at is not None]


async def _bounded(session: Session, inside: ServiceResponse, bound: Bound) -> Findings:
    """Whether a bound excludes payments, alone and with the other bound."""
    name, number = bound.name, bound.number
    alone = await session.page(**{name: bound.outer[name]}, limit=MAX_LIMIT)
    both = await session.page(**bound.outer, limit=MAX_LIMIT)
    lost = missing_by_filter(session, inside) if inside.is_success else set()
    if lost or not inside.is_success:
        # If the bound alone works, the other bound is wrong.
        inside = await session.page(**{name: bound.inside}, limit=MAX_LIMIT)
        lost = set() if has_next_page(inside) else missing_by_filter(session, inside)
    refusal = next((page for page in (inside, alone) if not page.is_success), None)
    if refusal is not None:
        return stated(False, f"`{name}`: {refusal.summary}", number)
    own = session.created_ids
    wrong = len(bound.outside) + len(own & {*alone.ids, *both.ids})
    is_so = not wrong and not lost
    seen = "only payments in the range" if is_so else f"{wrong} outside, {len(lost)} missing"
    return stated(is_so, f"`{name}`: {seen}", number)


async def _on_later_pages(session: Session) -> Findings:
    """A filter excludes the same payments on a later page."""
    pages = [page for page in own_lists(session) if has_next_page(page)]
    cursors = [
        str(page.members["next_cursor"]) for page in pages if page.members.get("next_cursor")
    ]
    if not cursors:
        raise session.without_payments("no page has a cursor")
    own = [payment.id for payment in session.created]
    # Most payments of this run follow the newest cursor.
    cursor = max(cursors, key=lambda id_: own.index(id_) if id_ in own else -1)
    since, until = bounds(session)
    findings: Findings = []
    for name, value, number in (
        ("status", "completed", "4.3.5"),
        ("created_gte", shifted(until, 0), "4.3.7"),
        ("created_lte", shifted(since, 0), "4.3.8"),
    ):
        response = await session.page(**{name: value, "after": cursor}, limit=MAX_LIMIT)
        found = [id_ for id_ in response.ids if id_ in own and id_ != cursor]
        if name == "status":
            found = await _with_status(session, found, "pending")
        # A service may refuse a cursor with other filters than those that returned it.
        if response.is_success:
            seen = f"`{name}` after a cursor: {len(found)} other payments"
            findings += stated(not found, seen, number)
    return findings


_FORMS: Mapping[str, Callable[[Instant], str]] = {
    "with `+03:00`": lambda at: f"{shifted(at, _OFFSET_MS)[:-1]}+03:00",
    "in whole seconds": lambda at: f"{shifted(at, 0)[:-5]}Z",
}


async def _other_forms(session: Session) -> Findings:
    """Bounds in other forms of ISO 8601 match the same payments."""
    since, until = bounds(session)
    findings: Findings = []
    for what, form in _FORMS.items():
        query = {"created_gte": form(since), "created_lte": form(until)}
        inside = await session.page(**query, limit=MAX_LIMIT)
        outer = {"created_gte": form(since - DAY_MS), "created_lte": form(since)}
        outside = await session.page(**outer, limit=MAX_LIMIT)
        refusal = next((page for page in (inside, outside) if not page.is_success), None)
        seen = f"bounds {what}: {refusal.summary if refusal else inside.summary}"
        findings += assumed(refusal is None, seen, "4.3.14")
        if refusal is None:
            lost = missing_by_filter(session, inside) if session.has_bounds else ()
            findings += stated(not lost, f"{seen}, {len(lost)} missing", "4.3.7")
            wrong = len(session.created_ids & set(outside.ids))
            findings += stated(not wrong, f"{seen}, {wrong} outside", "4.3.8")
    return findings


async def _inclusive_bounds(session: Session) -> Findings:
    """Whether a bound that equals the `created_at` of a payment includes the payment."""
    newest = session.all_created[-1]
    text = newest.payment.get("created_at")
    at = parse_instant(text)
    if at is None:
        raise CheckStopped("the newest payment has no `created_at` that can be read")
    findings: Findings = []
    for name, other, number, step_ms in (
        ("created_gte", "created_lte", "4.3.7", 1),
        ("created_lte", "created_gte", "4.3.8", -1),
    ):
        # Few payments of other clients are so near.
        near = {other: shifted(at, step_ms * _NEAR_MS), "limit": str(MAX_LIMIT)}
        page = await session.page(**near | {name: str(text)})
        if newest.id not in page.ids:
            wide = await window(session) | {name: str(text), "limit": str(MAX_LIMIT)}
            page = await session.page(**wide)
        if not page.is_success:
            raise CheckStopped(f"`{name}`: {page.summary}")
        is_found = newest.id in page.ids
        if is_found or not has_next_page(page):
            seen = f"`{name}` {'includes' if is_found else 'excludes'} its own instant"
            findings += assumed(is_found, seen, "4.3.12")
        page = await session.page(**near | {name: shifted(at, step_ms)})
        seen = f"`{name}` beyond it by a millisecond: {page.summary}"
        findings += assumed(newest.id not in page.ids, seen, number)
    return findings


CHECKS = (
    Check(run=_by_their_status, states=("4.3.5",)),
    Check(run=_by_another_status, states=("4.3.5",)),
    Check(run=_by_method, states=("4.3.6",), assumes=("4.3.6",)),
    Check(run=_by_each_value, states=("4.3.5", "4.3.6")),
    Check(run=_several_filters, assumes=("4.3.17",)),
    *(
        ExpectedRefusal(
            what=f"`{name}={value}`",
            send=listed_with(**{name: value}),
            code=f"invalid_{name}",
            param=name,
            assumes=("4.3.13",),
        ).check
        for name, value in _UNKNOWN_VALUES
    ),
    Check(run=_by_creation, states=("4.3.7", "4.3.8")),
    Check(run=_on_later_pages, states=("4.3.5", "4.3.7", "4.3.8")),
    Check(run=_other_forms, states=("4.3.7", "4.3.8"), assumes=("4.3.14",)),
    Check(run=_inclusive_bounds, assumes=("4.3.12", "4.3.7", "4.3.8")),
)
