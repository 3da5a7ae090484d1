"""The filters of a list (contract, section 4.3): what they leave out, and what they let pass."""

from collections.abc import Sequence

from emulator.verify.answers import Answer
from emulator.verify.checks.refusals import CODES, FIELD, named, refused
from emulator.verify.checks.timestamps import instant, moved
from emulator.verify.checks.window import bounds, missing, within
from emulator.verify.client import CannotSee
from emulator.verify.findings import Check, Findings, judged, judged_assumed
from emulator.verify.visit import Visit

_ALL = 100


async def _by_their_status(visit: Visit) -> Findings:
    """All payments of this run are pending, unless they have expired in the meantime."""
    pending = await visit.page(**within(visit), status="pending", limit=_ALL)
    # What was pending when it was created is right here, whatever a list makes of its status.
    own = {one.id for one in visit.created if one.payment.get("status") == "pending"}
    others = [one for one in pending.payments if one.get("id") not in own]
    is_pure = all(one.get("status") == "pending" for one in others)
    lost = len(await _with_status(visit, _missing(visit, pending), "pending"))
    seen = f"`status=pending`: {pending.told}"
    seen += ", those alone" if is_pure else ", others too"
    seen += f", {lost} missing" if lost else ""
    return judged(pending.status == 200 and is_pure and not lost, seen, "4.3.5")


async def _by_another_status(visit: Visit) -> Findings:
    own = {one.id for one in visit.all_created}
    completed = await visit.page(**within(visit), status="completed", limit=_ALL)
    found = [one for one in completed.ids if one in own]
    wrong = len(found) - len(await _with_status(visit, found, "completed", "refunded"))
    seen = f"`status=completed`: {completed.told}, {wrong} others"
    return judged(completed.status == 200 and not wrong, seen, "4.3.5")


def _missing(visit: Visit, page: Answer) -> list[str]:
    """The payments of this run that are not on a page on which they should be."""
    if page.status != 200 or not missing(visit, page):
        return []
    return [one.id for one in visit.created if one.id not in page.ids]


async def _with_status(visit: Visit, ids: Sequence[str], *statuses: str) -> list[str]:
    """The payments that have one of some statuses now, each retrieved."""
    answers = [(one, await visit.retrieve(one)) for one in ids]
    return [one for one, answer in answers if answer.members.get("status") in statuses]


async def _by_method(visit: Visit) -> Findings:
    """No payment of this run has a method yet; one does not even offer that of the rest."""
    method = visit.method
    offered = {one.id: one.body.get("methods", ()) for one in visit.all_created}
    answer = await visit.page(**within(visit), method=method, limit=_ALL)
    foreign = [
        one
        for one in answer.payments
        if one.get("method") not in (method, None)
        or method not in offered.get(str(one.get("id")), (method,))
    ]
    seen = f"`method={method}`: {answer.told}, {len(foreign)} of another method"
    findings = judged(answer.status == 200 and not foreign, seen, "4.3.6")
    if answer.status == 200 and not foreign:
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


async def _by_creation(visit: Visit) -> Findings:
    """Beyond either bound there is no payment of this run, and between them are all."""
    since, until = bounds(visit)
    inside = await visit.page(**within(visit), limit=_ALL)
    later = await visit.page(created_gte=moved(until, 0), limit=_ALL)
    earlier = await visit.page(created_lte=moved(since, 0), limit=_ALL)
    instants = _instants_of_others(visit, inside)
    too_early = [at for at in instants if at < since]
    too_late = [at for at in instants if at > until]
    return [
        *_bounded(visit, (later, inside), too_early, "`created_gte`", "4.3.7"),
        *_bounded(visit, (earlier, inside), too_late, "`created_lte`", "4.3.8"),
    ]


def _instants_of_others(visit: Visit, page: Answer) -> list[int]:
    """When the payments of others were created; those of this run are known to be inside."""
    own = {one.id for one in visit.created}
    others = [one for one in page.payments if one.get("id") not in own]
    instants = [instant(one.get("created_at")) for one in others]
    return [at for at in instants if at is not None]


def _bounded(
    visit: Visit, pages: tuple[Answer, Answer], outside: Sequence[int], name: str, number: str
) -> Findings:
    beyond, inside = pages
    own = {one.id for one in visit.created}
    if not beyond.status == inside.status == 200:
        return judged(False, f"{name}: {beyond.told} and {inside.told}", number)
    wrong = len(outside) + len(own & set(beyond.ids))
    lost = missing(visit, inside)
    is_so = not wrong and not lost
    seen = "what it should" if is_so else f"{wrong} beyond it, {lost} missing"
    return judged(is_so, f"{name} lets pass: {seen}", number)


async def _inclusive(visit: Visit) -> Findings:
    """Whether a payment is found by its own `created_at`, as the service has written it."""
    newest = visit.all_created[-1]
    at = newest.payment.get("created_at")
    if not isinstance(at, str):
        raise CannotSee("the newest payment has no `created_at`")
    findings: Findings = []
    for name in ("created_gte", "created_lte"):
        answer = await visit.page(**within(visit) | {name: at, "limit": str(_ALL)})
        if answer.status != 200:
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
    Check(look=_inclusive, assumes=("4.3.12",)),
)
