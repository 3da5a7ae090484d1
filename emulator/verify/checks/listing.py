"""The pages of a list (contract, sections 2.2 and 4.3), whoever else creates payments just now.

What is compared are the payments of this run: those of others may come and go in between.
"""

from collections.abc import Sequence
from itertools import pairwise

from emulator.verify.answers import Answer, shown, shown_member
from emulator.verify.checks.refusals import CODES, FIELD, named, refused
from emulator.verify.checks.window import (
    MAX_LIMIT,
    MAX_PAGES,
    PAGE,
    Walk,
    missing,
    says_more,
    walk,
    window,
)
from emulator.verify.client import CannotSee
from emulator.verify.findings import Check, Findings, judged, judged_assumed, unseen
from emulator.verify.session import METHODS, Visit

DEFAULT_LIMIT = 10
MAX_UNKNOWN_IDS = 5
_TWO = 2
# No page that was asked for before ended with the payment of this place.
_MIDDLE = 2
_NOT_FOUND = 404
_ENVELOPE = ["data", "has_more", "next_cursor"]


async def _enough_payments(visit: Visit) -> Findings:
    """More than a page of them, so that the default of `limit` shows.

    One of them offers another method than the rest, for the filter by method.
    """
    answer = await visit.page(limit=MAX_LIMIT)
    count = len(answer.data)
    is_so = answer.is_success and count <= MAX_LIMIT
    seen = f"`limit` {MAX_LIMIT}: {answer.told}, {_counted(count)}"
    other = next(method for method in METHODS if method != visit.method)
    await visit.create(visit.order(methods=[other]))
    for _ in range(DEFAULT_LIMIT - count):
        await visit.create(visit.order())
    return judged(is_so, seen, "4.3.2", "8.5")


def _counted(count: int) -> str:
    return f"{count} payment" if count == 1 else f"{count} payments"


async def _the_default(visit: Visit) -> Findings:
    answer = await visit.page()
    findings = judged(answer.status == 200, answer.told, "7.5")
    count = len(answer.data)
    if count < DEFAULT_LIMIT and not answer.members.get("has_more", True):
        return findings + unseen(f"there are only {_counted(count)}", "4.3.3", "8.5")
    seen = f"{_counted(count)} without `limit`"
    return findings + judged(count == DEFAULT_LIMIT, seen, "4.3.3", "8.5")


async def _one(visit: Visit) -> Findings:
    _enough(visit)
    answer = await visit.page(limit=1)
    count = len(answer.data)
    return judged(count == 1, f"`limit` 1: {_counted(count)}", "4.0.4", "4.3.2", "8.5")


def _enough(visit: Visit) -> None:
    """Raises CannotSee where there are not more payments than on a page of two."""
    if len(visit.all_created) <= _TWO:
        raise visit.without_payments("too few payments could be created")


async def _envelope(visit: Visit) -> Findings:
    """What is around a page of two payments, where there are more."""
    _enough(visit)
    answer = await visit.page(limit=_TWO)
    data = answer.members.get("data")
    is_list = isinstance(data, list) and len(answer.payments) == len(data)
    seen = "an array of objects" if is_list else f"`data`: {shown_member(answer.members, 'data')}"
    findings = judged(is_list, seen, "2.2.1")
    has_more = answer.members.get("has_more")
    seen = f"{shown_member(answer.members, 'has_more')} where there are more"
    findings += judged(has_more is True, seen, "2.2.2")
    missing = [name for name in _ENVELOPE if name not in answer.members]
    seen = f"without `{'`, `'.join(missing)}`" if missing else "all three"
    findings += judged(not missing, seen, "4.3.9")
    is_exact = list(answer.members) == _ENVELOPE
    seen = "in this order" if is_exact else f"members {shown(list(answer.members))}"
    return findings + judged_assumed(is_exact, seen, "4.3.9") + _cursor(answer)


def _cursor(answer: Answer) -> Findings:
    cursor = answer.members.get("next_cursor")
    is_id = isinstance(cursor, str) and cursor.startswith("pay_")
    received = shown_member(answer.members, "next_cursor")
    seen = "a payment identifier" if is_id else f"`next_cursor`: {received}"
    findings = judged(is_id, seen, "2.2.3")
    if not is_id:
        return findings
    is_last = answer.ids[-1:] == [cursor]
    seen = "that of the last payment" if is_last else "not that of the last payment"
    return findings + judged_assumed(is_last, seen, "2.2.3")


def _out_of_bounds(limit: int) -> Check:
    async def look(visit: Visit) -> Findings:
        answer = await visit.page(limit=limit)
        what = f"`limit` {limit}"
        findings = refused(answer, what, code="invalid_limit", assumes=("4.3.2", "8.5"))
        return findings + named(answer, "limit", what, FIELD)

    return Check(look=look, states=(FIELD,), assumes=("4.3.2", "8.5", CODES))


async def _all_pages(visit: Visit) -> Findings:
    """Every payment of this run once, in the order that we assume."""
    walked = await walk(visit)
    found, own = walked.own, [one.id for one in visit.created]
    is_all = sorted(found) == sorted(own)
    if walked.is_given_up and len(found) == len(set(found)) and not is_all:
        raise CannotSee(f"{MAX_PAGES} pages of {PAGE} payments were not enough")
    findings = judged(is_all, _compared(found, own), "4.3.10")
    if is_all:
        is_newest_first = _is_in_order(visit, found[::-1])
        seen = "newest first" if is_newest_first else _order(visit, found)
        findings += judged_assumed(is_newest_first, seen, "4.3.11")
    return findings + await _no_second_payment(visit, walked) + _end(walked)


def _compared(found: list[str], own: list[str]) -> str:
    if sorted(found) == sorted(own):
        return f"{_counted(len(own))} on pages of {PAGE}, each once"
    twice, missing = len(found) - len(set(found)), len(set(own) - set(found))
    parts = [f"{twice} twice"] if twice else []
    parts += [f"{missing} missing"] if missing else []
    return f"of {_counted(len(own))} on pages of {PAGE}, {' and '.join(parts)}"


def _is_in_order(visit: Visit, ids: Sequence[str]) -> bool:
    """Whether no payment stands before one that was created earlier.

    The order of payments whose create calls were concurrent is unknown.
    """
    places = {one.id: place for place, one in enumerate(visit.created)}
    latest_earlier_count = 0
    for one in ids:
        if places[one] < latest_earlier_count:
            return False
        earlier_count = visit.created[places[one]].earlier_count
        latest_earlier_count = max(latest_earlier_count, earlier_count)
    return True


def _order(visit: Visit, found: Sequence[str]) -> str:
    return "oldest first" if _is_in_order(visit, found) else "in no order of creation"


async def _no_second_payment(visit: Visit, walked: Walk) -> Findings:
    """What carries the mark of this run, and was never told of, came of a retry.

    If it is a payment at all: an id that no retrieve finds is a wrong one.
    """
    marked = {str(one.get("id")) for one in walked.payments if visit.is_of_this_run(one)}
    unknown = sorted(marked - {one.id for one in visit.created})[:MAX_UNKNOWN_IDS]
    statuses = [(await visit.retrieve(one)).status for one in unknown]
    if _NOT_FOUND in statuses:
        return judged(False, "an `id` in a list that no retrieve finds", "2.2.1")
    strange = len(unknown)
    if strange and visit.may_have_created_more:
        return unseen("a call that was not answered may have created a payment", "4.1.10")
    seen = f"{_counted(strange)} that no answer told of" if strange else "no second payment"
    return judged(not strange, seen, "4.1.10")


def _end(walked: Walk) -> Findings:
    """What the end looks like, where it was come to."""
    if walked.is_given_up:
        return unseen("the last page was not come to", "2.2.2", "2.2.4")
    last = walked.pages[-1]
    if says_more(last) and not walked.is_complete:
        return unseen("there was no cursor to the last page", "2.2.2", "2.2.4")
    pairs = list(pairwise(walked.pages))
    is_hidden = any(page.payments and not says_more(before) for before, page in pairs)
    is_promised = any(says_more(before) and not page.payments for before, page in pairs)
    seen = "false on the last page"
    if is_hidden:
        seen = "false where there are more"
    elif is_promised or says_more(last):
        seen = "true where nothing comes"
    findings = judged(seen == "false on the last page", seen, "2.2.2")
    cursor = last.members.get("next_cursor", ...)
    if says_more(last) and isinstance(cursor, str):
        return findings
    seen = "null" if cursor is None else "absent" if cursor is ... else "a string"
    return findings + judged_assumed(cursor is None, f"{seen} on the last page", "2.2.4")


async def _after_any_payment(visit: Visit) -> Findings:
    """The page after a payment that was not the last of its page."""
    query = await window(visit) | {"limit": str(MAX_LIMIT)}
    listed = await visit.page(**query)
    if not listed.is_success:
        raise CannotSee(f"a page was answered {listed.told}")
    own = {one.id for one in visit.created}
    found = [one for one in listed.ids if one in own]
    is_all = not missing(visit, listed)
    findings = judged(is_all, f"lists {len(found)} of {len(own)} payments", "4.3.1")
    if len(found) <= _MIDDLE + 1:
        return findings
    answer = await visit.page(**query, after=found[_MIDDLE])
    if answer.is_refusal:
        seen = f"a payment in the middle of a page: {answer.told}"
        return findings + judged_assumed(False, seen, "4.3.4")
    rest = found[_MIDDLE + 1 :]
    is_after = [one for one in answer.ids if one in own][: len(rest)] == rest
    seen = "the payments after it" if is_after else "not the payments after it"
    findings += judged(is_after, f"{answer.told}, {seen}", "4.3.4")
    return findings + judged_assumed(True, "any payment is a cursor", "4.3.4")


async def _no_cursor(visit: Visit) -> Findings:
    answer = await visit.page(after=visit.unknown_id)
    what = "`after` an unknown id"
    findings = refused(answer, what, code="invalid_cursor", assumes=("4.3.13",))
    if answer.status == 404:
        # Which the contract has for what does not exist: it need not be a bad field.
        return findings
    return findings + named(answer, "after", what, FIELD)


async def _by_another_account(visit: Visit) -> Findings:
    other, own = visit.other_accounts_key, {one.id for one in visit.all_created}
    listed = await visit.page(of_key=other, **await window(visit))
    theirs = own & set(listed.ids)
    return judged(not theirs, f"another account lists {len(theirs)} of them", "5.5")


async def _cursor_of_another_account(visit: Visit) -> Findings:
    other, first = visit.other_accounts_key, visit.first
    answer = await visit.page(of_key=other, after=first.id)
    seen = f"another account's payment as a cursor: {answer.told}"
    return judged_assumed(answer.status == 400, seen, "5.5")


CHECKS = (
    Check(look=_enough_payments, states=("4.3.2", "8.5")),
    Check(look=_the_default, states=("4.3.3", "7.5", "8.5")),
    Check(look=_one, states=("4.0.4", "4.3.2", "8.5")),
    Check(
        look=_envelope,
        states=("2.2.1", "2.2.2", "2.2.3", "4.3.9"),
        assumes=("2.2.3", "4.3.9"),
    ),
    _out_of_bounds(0),
    _out_of_bounds(MAX_LIMIT + 1),
    Check(
        look=_all_pages,
        states=("2.2.1", "2.2.2", "4.1.10", "4.3.10"),
        assumes=("2.2.4", "4.3.11"),
    ),
    Check(look=_after_any_payment, states=("4.3.1", "4.3.4"), assumes=("4.3.4",)),
    Check(look=_no_cursor, states=(FIELD,), assumes=("4.3.13", CODES)),
    Check(look=_by_another_account, states=("5.5",)),
    Check(look=_cursor_of_another_account, assumes=("5.5",)),
)
