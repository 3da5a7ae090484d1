"""Checks of the filters of a list (contract, section 4.3)."""

from collections.abc import Callable, Mapping, Sequence

from emulator.domain.instants import DAY_MS, Instant, format_instant
from emulator.domain.payment import Status
from emulator.tools.verify.checks.refusals import wrong_query
from emulator.tools.verify.client import CheckStopped
from emulator.tools.verify.contract import METHODS, parse_instant
from emulator.tools.verify.findings import Check, Findings, assumed, stated
from emulator.tools.verify.session import Session, between

_FEW = 2
_OFFSET_MS = 3 * 3_600_000
_NEAR_MS = 20


async def _by_their_status(session: Session) -> Findings:
    """All payments of this run are pending, or have expired in the meantime."""
    pending = await session.long_page(**await session.window(), status="pending")
    seen = f"`status=pending`: {pending.summary}"
    if not pending.is_success:
        return stated(False, seen, "4.3.5")
    # A payment that was pending when it was created belongs here, whatever its listed status.
    own = {payment.id for payment in session.created if payment.payment.get("status") == "pending"}
    others = [payment for payment in pending.payments if payment.get("id") not in own]
    is_pure = all(payment.get("status") == "pending" for payment in others)
    gone = sorted(session.missing_by_filter(pending))
    lost = len(await _with_status(session, gone, "pending"))
    seen += ", only pending payments" if is_pure else ", also other payments"
    seen += f", {lost} missing" if lost else ""
    return stated(is_pure and not lost, seen, "4.3.5")


async def _by_another_status(session: Session) -> Findings:
    own = {payment.id for payment in session.all_created}
    completed = await session.long_page(**await session.window(), status="completed")
    found = [id_ for id_ in completed.ids if id_ in own]
    wrong = len(found) - len(await _with_status(session, found, "completed", "refunded"))
    seen = f"`status=completed`: {completed.summary}, {wrong} other payments"
    return stated(completed.is_success and not wrong, seen, "4.3.5")


async def _by_each_value(session: Session) -> Findings:
    """A filter accepts every value that the contract names."""
    findings: Findings = []
    for name, values, number in (("status", list(Status), "4.3.5"), ("method", METHODS, "4.3.6")):
        for value in sorted(values):
            page = await session.page(**{name: value}, limit=_FEW)
            wrong = [payment for payment in page.payments if payment.get(name) not in (value, None)]
            seen = f"`{name}={value}`: {page.summary}, {len(wrong)} other payments"
            if wrong or not page.is_success:
                findings += stated(False, seen, number)
    return findings or stated(True, "each value is accepted", "4.3.5", "4.3.6")


async def _several_filters(session: Session) -> Findings:
    """A payment that matches one of two filters is not listed."""
    _, until = session.bounds()
    page = await session.long_page(created_gte=format_instant(until), status="pending")
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
    response = await session.long_page(**await session.window(), method=method)
    foreign = [
        payment
        for payment in response.payments
        if payment.get("method") not in (method, None)
        or method not in offered.get(str(payment.get("id")), (method,))
    ]
    is_so = response.is_success and not foreign
    seen = f"`method={method}`: {response.summary}, {len(foreign)} payments of another method"
    findings = stated(is_so, seen, "4.3.6")
    if is_so:
        undecided = any(id_ in offered for id_ in response.ids)
        seen = "payments that offer the method but do not have it yet are "
        seen += "included" if undecided else "excluded"
        findings += assumed(not undecided, seen, "4.3.6")
    return findings


async def _by_creation(session: Session) -> Findings:
    """All payments of this run lie between the bounds, and none beyond them.

    Each bound is tried alone, and with the other bound so that both match no payment.
    """
    since, until = session.bounds()
    inside = await session.long_page(**session.within_bounds())
    own = session.created_ids
    others = [each.get("created_at") for each in inside.payments if each.get("id") not in own]
    instants = [at for at in map(parse_instant, others) if at is not None]
    findings: Findings = []
    after, before = between(until, until + DAY_MS), between(since - DAY_MS, since)
    for name, number, bound, query, outside in (
        ("created_gte", "4.3.7", since, after, [at < since for at in instants]),
        ("created_lte", "4.3.8", until, before, [at > until for at in instants]),
    ):
        alone = await session.long_page(**{name: query[name]})
        both = await session.long_page(**query)
        page = inside
        lost = session.missing_by_filter(page) if page.is_success else set()
        if lost or not page.is_success:
            # If the bound alone works, the other bound is wrong.
            page = await session.long_page(**{name: format_instant(bound)})
            lost = set() if page.has_next_page else session.missing_by_filter(page)
        refusal = next((each for each in (page, alone) if not each.is_success), None)
        if refusal is not None:
            findings += stated(False, f"`{name}`: {refusal.summary}", number)
            continue
        wrong = sum(outside) + len(own & {*alone.ids, *both.ids})
        seen = f"`{name}`: only payments in the range"
        otherwise = f"`{name}`: {wrong} outside, {len(lost)} missing"
        findings += stated(not wrong and not lost, seen, number, otherwise=otherwise)
    return findings


async def _on_later_pages(session: Session) -> Findings:
    """A filter excludes the same payments on a later page."""
    cursors = [
        str(page.members["next_cursor"])
        for page in session.lists
        if page.has_next_page and page.members.get("next_cursor")
    ]
    if not cursors:
        raise session.without_payments("no page has a cursor")
    own = [payment.id for payment in session.created]
    # Most payments of this run follow the newest cursor.
    cursor = max(cursors, key=lambda id_: own.index(id_) if id_ in own else -1)
    since, until = map(format_instant, session.bounds())
    findings: Findings = []
    for name, value, number in (
        ("status", "completed", "4.3.5"),
        ("created_gte", until, "4.3.7"),
        ("created_lte", since, "4.3.8"),
    ):
        response = await session.long_page(**{name: value, "after": cursor})
        found = [id_ for id_ in response.ids if id_ in own and id_ != cursor]
        if name == "status":
            found = await _with_status(session, found, "pending")
        # A service may refuse a cursor with other filters than those that returned it.
        if response.is_success:
            seen = f"`{name}` after a cursor: {len(found)} other payments"
            findings += stated(not found, seen, number)
    return findings


_FORMS: Mapping[str, Callable[[Instant], str]] = {
    "with `+03:00`": lambda at: f"{format_instant(at + _OFFSET_MS)[:-1]}+03:00",
    "in whole seconds": lambda at: f"{format_instant(at)[:-5]}Z",
}


async def _other_forms(session: Session) -> Findings:
    """Bounds in other forms of ISO 8601 match the same payments."""
    since, until = session.bounds()
    findings: Findings = []
    for what, form in _FORMS.items():
        inside = await session.long_page(created_gte=form(since), created_lte=form(until))
        outside = await session.long_page(created_gte=form(since - DAY_MS), created_lte=form(since))
        refusal = next((page for page in (inside, outside) if not page.is_success), None)
        seen = f"bounds {what}: {(refusal or inside).summary}"
        findings += assumed(refusal is None, seen, "4.3.14")
        if refusal is None:
            lost = session.missing_by_filter(inside) if session.has_bounds else ()
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
        near = {other: format_instant(at + step_ms * _NEAR_MS)}
        page = await session.long_page(**near | {name: str(text)})
        if newest.id not in page.ids:
            page = await session.long_page(**await session.window() | {name: str(text)})
        if not page.is_success:
            raise CheckStopped(f"`{name}`: {page.summary}")
        is_found = newest.id in page.ids
        # A timestamp without a fraction may be earlier than the payment.
        if is_found or ("." in str(text) and not page.has_next_page):
            seen = f"`{name}` {'includes' if is_found else 'excludes'} its own instant"
            findings += assumed(is_found, seen, "4.3.12")
        page = await session.long_page(**near | {name: format_instant(at + step_ms)})
        seen = f"`{name}` beyond it by a millisecond: {page.summary}"
        findings += assumed(newest.id not in page.ids, seen, number)
    return findings


CHECKS = (
    Check(_by_their_status, ("4.3.5",)),
    Check(_by_another_status, ("4.3.5",)),
    Check(_by_method, ("4.3.6",)),
    Check(_by_each_value, ("4.3.5", "4.3.6")),
    Check(_several_filters, ("4.3.17",)),
    *(
        wrong_query(name, value).check
        for name, value in (
            ("status", "no_such_status"),
            ("status", ""),
            ("method", "no_such_method"),
            ("created_gte", "yesterday"),
            ("created_lte", "yesterday"),
        )
    ),
    Check(_by_creation, ("4.3.7", "4.3.8")),
    Check(_on_later_pages, ("4.3.5", "4.3.7", "4.3.8")),
    Check(_other_forms, ("4.3.7", "4.3.8", "4.3.14")),
    Check(_inclusive_bounds, ("4.3.12", "4.3.7", "4.3.8")),
)
