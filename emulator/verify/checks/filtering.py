"""The filters of a list (contract, section 4.3): what they leave out, and what they let pass."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from emulator.domain.instants import DAY_MS, Instant
from emulator.verify.answers import Answer
from emulator.verify.checks.refusals import CODES, FIELD, named, refused
from emulator.verify.checks.timestamps import instant, moved
from emulator.verify.checks.window import (
    MAX_LIMIT,
    bounds,
    missing_by_filter,
    own_lists,
    says_more,
    window,
    within,
)
from emulator.verify.client import CannotSee
from emulator.verify.findings import Check, Findings, judged, judged_assumed
from emulator.verify.session import Visit


async def _by_their_status(visit: Visit) -> Findings:
    """All payments of this run are pending, unless they have expired in the meantime."""
    pending = await visit.page(**await window(visit), status="pending", limit=MAX_LIMIT)
    seen = f"`status=pending`: {pending.told}"
    if not pending.is_success:
        return judged(False, seen, "4.3.5")
    # What was pending when it was created is right here, whatever a list makes of its status.
    own = {one.id for one in visit.created if one.payment.get("status") == "pending"}
    others = [one for one in pending.payments if one.get("id") not in own]
    is_pure = all(one.get("status") == "pending" for one in others)
    gone = sorted(missing_by_filter(visit, pending))
    lost = len(await _with_status(visit, gone, "pending"))
    seen += ", those alone" if is_pure else ", others too"
    seen += f", {lost} missing" if lost else ""
    return judged(is_pure and not lost, seen, "4.3.5")


async def _by_another_status(visit: Visit) -> Findings:
    own = {one.id for one in visit.all_created}
    completed = await visit.page(**await window(visit), status="completed", limit=MAX_LIMIT)
    found = [one for one in completed.ids if one in own]
    wrong = len(found) - len(await _with_status(visit, found, "completed", "refunded"))
    seen = f"`status=completed`: {completed.told}, {wrong} others"
    return judged(completed.is_success and not wrong, seen, "4.3.5")


async def _with_status(visit: Visit, ids: Sequence[str], *statuses: str) -> list[str]:
    """The payments that have one of some statuses now, each retrieved."""
    answers = [(one, await visit.retrieve(one)) for one in ids]
    return [one for one, answer in answers if answer.members.get("status") in statuses]


async def _by_method(visit: Visit) -> Findings:
    """No payment of this run has a method yet; one does not even offer that of the rest."""
    method = visit.method
    offered = {one.id: one.body.get("methods", ()) for one in visit.all_created}
    answer = await visit.page(**await window(visit), method=method, limit=MAX_LIMIT)
    foreign = [
        one
        for one in answer.payments
        if one.get("method") not in (method, None)
        or method not in offered.get(str(one.get("id")), (method,))
    ]
    seen = f"`method={method}`: {answer.told}, {len(foreign)} of another method"
    findings = judged(answer.is_success and not foreign, seen, "4.3.6")
    if answer.is_success and not foreign:
        undecided = any(one in offered for one in answer.ids)
        seen = "also what only offers it" if undecided else "nothing that only offers it"
        findings += judged_assumed(not undecided, seen, "4.3.6")
    return findings


def _unknown_value(name: str, value: str) -> Check:
    async def look(visit: Visit) -> Findings:
        answer = await visit.page(**{name: value})
        what = f"`{name}={value}`"
        findings = refused(answer, what, code=f"invalid_{name}", assumes=("4.3.13",))
        return findings + named(answer, name, what, FIELD)

    return Check(look=look, states=(FIELD,), assumes=("4.3.13", CODES))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A bound with which all payments of this run are found, and two with which none is.

    `outside` are the instants of others that it should have left out.
    """

    name: str
    number: str
    inside: str
    beyond: Mapping[str, str]
    outside: Sequence[Instant]


async def _by_creation(visit: Visit) -> Findings:
    """Beyond either bound there is no payment of this run, and between them are all."""
    since, until = bounds(visit)
    inside = await visit.page(**within(visit), limit=MAX_LIMIT)
    instants = _instants_of_others(visit, inside)
    after = Bound(
        name="created_gte",
        number="4.3.7",
        inside=moved(since, 0),
        beyond={"created_gte": moved(until, 0), "created_lte": moved(until, DAY_MS)},
        outside=[at for at in instants if at < since],
    )
    before = Bound(
        name="created_lte",
        number="4.3.8",
        inside=moved(until, 0),
        beyond={"created_gte": moved(since, -DAY_MS), "created_lte": moved(since, 0)},
        outside=[at for at in instants if at > until],
    )
    return await _bounded(visit, inside, after) + await _bounded(visit, inside, before)


def _instants_of_others(visit: Visit, page: Answer) -> list[int]:
    """When the payments of others were created; those of this run are known to be inside."""
    own = {one.id for one in visit.created}
    others = [one for one in page.payments if one.get("id") not in own]
    instants = [instant(one.get("created_at")) for one in others]
    return [at for at in instants if at is not None]


async def _bounded(visit: Visit, inside: Answer, bound: Bound) -> Findings:
    """Whether a bound leaves out what is beyond it, alone and with the other one."""
    name, number = bound.name, bound.number
    alone = await visit.page(**{name: bound.beyond[name]}, limit=MAX_LIMIT)
    both = await visit.page(**bound.beyond, limit=MAX_LIMIT)
    lost = missing_by_filter(visit, inside) if inside.is_success else set()
    if lost or not inside.is_success:
        # Alone it may still let pass what it should: then it is for the other bound.
        inside = await visit.page(**{name: bound.inside}, limit=MAX_LIMIT)
        lost = set() if says_more(inside) else missing_by_filter(visit, inside)
    refused = next((one for one in (inside, alone) if not one.is_success), None)
    if refused is not None:
        return judged(False, f"`{name}`: {refused.told}", number)
    own = {one.id for one in visit.created}
    wrong = len(bound.outside) + len(own & {*alone.ids, *both.ids})
    is_so = not wrong and not lost
    seen = "what it should" if is_so else f"{wrong} beyond it, {len(lost)} missing"
    return judged(is_so, f"`{name}` lets pass: {seen}", number)


async def _after_a_cursor(visit: Visit) -> Findings:
    """A filter leaves out the same payments on a further page."""
    pages = [one for one in own_lists(visit) if says_more(one)]
    cursors = [str(one.members["next_cursor"]) for one in pages if one.members.get("next_cursor")]
    if not cursors:
        raise visit.without_payments("no page has named a cursor")
    own = [one.id for one in visit.created]
    # Behind the newest one are most of the payments of this run.
    cursor = max(cursors, key=lambda one: own.index(one) if one in own else -1)
    since, until = bounds(visit)
    findings: Findings = []
    for name, value, number in (
        ("status", "completed", "4.3.5"),
        ("created_gte", moved(until, 0), "4.3.7"),
        ("created_lte", moved(since, 0), "4.3.8"),
    ):
        answer = await visit.page(**{name: value, "after": cursor}, limit=MAX_LIMIT)
        found = [one for one in answer.ids if one in own and one != cursor]
        if name == "status":
            found = await _with_status(visit, found, "pending")
        # A cursor may be refused with other filters than it was given for.
        if answer.is_success:
            seen = f"`{name}` after a cursor lets pass: {len(found)} others"
            findings += judged(not found, seen, number)
    return findings


async def _inclusive(visit: Visit) -> Findings:
    """Whether a payment is found by its own `created_at`, as the service has written it."""
    newest = visit.all_created[-1]
    at = newest.payment.get("created_at")
    if not isinstance(at, str):
        raise CannotSee("the newest payment has no `created_at`")
    findings: Findings = []
    for name in ("created_gte", "created_lte"):
        answer = await visit.page(**await window(visit) | {name: at, "limit": str(MAX_LIMIT)})
        if not answer.is_success:
            raise CannotSee(f"`{name}`: {answer.told}")
        is_found = newest.id in answer.ids
        seen = f"`{name}` {'includes' if is_found else 'leaves out'} its own instant"
        findings += judged_assumed(is_found, seen, "4.3.12")
    return findings


CHECKS = (
    Check(look=_by_their_status, states=("4.3.5",)),
    Check(look=_by_another_status, states=("4.3.5",)),
    Check(look=_by_method, states=("4.3.6",), assumes=("4.3.6",)),
    _unknown_value("status", "no_such_status"),
    _unknown_value("method", "no_such_method"),
    _unknown_value("created_gte", "yesterday"),
    _unknown_value("created_lte", "yesterday"),
    Check(look=_by_creation, states=("4.3.7", "4.3.8")),
    Check(look=_after_a_cursor, states=("4.3.5", "4.3.7", "4.3.8")),
    Check(look=_inclusive, assumes=("4.3.12",)),
)
