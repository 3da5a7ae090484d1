"""Checks of the pages of a list (contract, sections 2.2 and 4.3).

Only the payments of this run are compared: others may change between two requests.
"""

from collections.abc import Sequence
from itertools import pairwise

from emulator.reporting import counted
from emulator.tools.verify.checks.refusals import (
    CODES,
    FIELD,
    ExpectedRefusal,
    listed_with,
    param_findings,
)
from emulator.tools.verify.checks.window import (
    DEFAULT_LIMIT,
    MAX_LIMIT,
    MAX_PAGES,
    PAGE,
    Walk,
    bounds,
    has_next_page,
    missing,
    next_cursor,
    shifted,
    walk,
    window,
)
from emulator.tools.verify.client import CheckStopped
from emulator.tools.verify.findings import Check, Findings, assumed, stated, unseen
from emulator.tools.verify.messages import ServiceResponse, json_text, member_text
from emulator.tools.verify.session import METHODS, Session

MAX_UNKNOWN_IDS = 5
_TWO = 2
# No page that was requested before ends with the payment at this index.
_MIDDLE = 2
_NOT_FOUND = 404
_ENVELOPE = ["data", "has_more", "next_cursor"]


async def _enough_payments(session: Session) -> Findings:
    """Create more than a page of payments, so that the default of `limit` can be observed.

    One of them offers another method than the others, for the filter by method.
    """
    response = await session.page(limit=MAX_LIMIT)
    count = len(response.data)
    is_so = response.is_success and count <= MAX_LIMIT
    seen = f"`limit` {MAX_LIMIT}: {response.summary}, {counted(count, 'payment')}"
    other = next(method for method in METHODS if method != session.method)
    await session.create(session.order(methods=[other]))
    for _ in range(DEFAULT_LIMIT - count):
        await session.create(session.order())
    return stated(is_so, seen, "4.3.15", "8.5")


async def _default_limit(session: Session) -> Findings:
    response = await session.page()
    findings = stated(response.status == 200, response.summary, "7.5")
    count = len(response.data)
    if count < DEFAULT_LIMIT and not response.members.get("has_more", True):
        return findings + unseen(f"there are only {counted(count, 'payment')}", "4.3.3", "8.5")
    seen = f"{counted(count, 'payment')} without `limit`"
    return findings + stated(count == DEFAULT_LIMIT, seen, "4.3.3", "8.5")


async def _limit_of_one(session: Session) -> Findings:
    _enough(session)
    response = await session.page(limit=1)
    count = len(response.data)
    return stated(count == 1, f"`limit` 1: {counted(count, 'payment')}", "4.0.4", "4.3.15", "8.5")


def _enough(session: Session) -> None:
    """Raises CheckStopped unless there are more than two payments."""
    if len(session.all_created) <= _TWO:
        raise session.without_payments("too few payments could be created")


async def _envelope(session: Session) -> Findings:
    """The envelope of a page of two payments that has a next page."""
    _enough(session)
    response = await session.page(limit=_TWO)
    data = response.members.get("data")
    is_list = isinstance(data, list) and len(response.payments) == len(data)
    seen = "an array of objects" if is_list else f"`data`: {member_text(response.members, 'data')}"
    findings = stated(is_list, seen, "2.2.1")
    has_more = response.members.get("has_more")
    seen = f"{member_text(response.members, 'has_more')} before a further page"
    findings += stated(has_more is True, seen, "2.2.2")
    missing = [name for name in _ENVELOPE if name not in response.members]
    seen = f"without `{'`, `'.join(missing)}`" if missing else "all three members"
    findings += stated(not missing, seen, "4.3.9")
    is_exact = list(response.members) == _ENVELOPE
    seen = "in this order" if is_exact else f"members {json_text(list(response.members))}"
    return findings + assumed(is_exact, seen, "4.3.9") + _cursor(response)


def _cursor(response: ServiceResponse) -> Findings:
    cursor = response.members.get("next_cursor")
    is_id = isinstance(cursor, str) and cursor.startswith("pay_")
    received = member_text(response.members, "next_cursor")
    seen = "a payment identifier" if is_id else f"`next_cursor`: {received}"
    findings = stated(is_id, seen, "2.2.3")
    if not is_id:
        return findings
    is_last = response.ids[-1:] == [cursor]
    seen = "that of the last payment" if is_last else "not that of the last payment"
    return findings + assumed(is_last, seen, "2.2.3")


async def _all_pages(session: Session) -> Findings:
    """Every payment of this run is listed once, in the assumed order."""
    walked = await walk(session)
    found, own = walked.own_ids, [payment.id for payment in session.created]
    is_all = sorted(found) == sorted(own)
    if walked.has_given_up and len(found) == len(set(found)) and not is_all:
        raise CheckStopped(f"{MAX_PAGES} pages of {PAGE} payments were not enough")
    findings = stated(is_all, _compared(found, own), "4.3.10")
    if is_all:
        is_newest_first = _is_in_order(session, found[::-1])
        seen = "newest first" if is_newest_first else _order(session, found)
        findings += assumed(is_newest_first, seen, "4.3.11")
    return findings + await _no_second_payment(session, walked) + _end(walked)


def _compared(found: list[str], own: list[str]) -> str:
    if sorted(found) == sorted(own):
        return f"{counted(len(own), 'payment')} on pages of {PAGE}, each once"
    twice, missing = len(found) - len(set(found)), len(set(own) - set(found))
    parts = [f"{twice} twice"] if twice else []
    parts += [f"{missing} missing"] if missing else []
    return f"of {counted(len(own), 'payment')} on pages of {PAGE}, {' and '.join(parts)}"


def _is_in_order(session: Session, ids: Sequence[str]) -> bool:
    """Whether no payment precedes one that was created earlier.

    Payments with concurrent create calls may have any order.
    """
    places = {payment.id: place for place, payment in enumerate(session.created)}
    latest_earlier_count = 0
    for id_ in ids:
        if places[id_] < latest_earlier_count:
            return False
        earlier_count = session.created[places[id_]].earlier_count
        latest_earlier_count = max(latest_earlier_count, earlier_count)
    return True


def _order(session: Session, found: Sequence[str]) -> str:
    return "oldest first" if _is_in_order(session, found) else "in no order of creation"


async def _new_payment_between_pages(session: Session) -> Findings:
    """The page after a cursor is the same before and after another payment is created."""
    _enough(session)
    since, _ = bounds(session)
    # Without an upper bound, so that the new payment is one of the list.
    query: dict[str, str] = {"limit": str(PAGE)}
    query |= {"created_gte": shifted(since, 0)} if session.has_bounds else {}
    own = session.created_ids
    query["after"] = next_cursor(await session.page(**query)) or ""
    before = await session.page(**query)
    if not (query["after"] and before.is_success):
        raise CheckStopped("there is no cursor to a second page")
    created = await session.create(session.order())
    after = await session.page(**query)
    pages = [[id_ for id_ in page.ids if id_ in own] for page in (before, after)]
    # Payments of other clients may take the last places.
    count = min(map(len, pages))
    if not (created.is_success and count):
        raise CheckStopped("no payment of this run is on the second page")
    is_same = pages[0][:count] == pages[1][:count]
    seen = "is the same" if is_same else "has other payments"
    return assumed(is_same, f"after another create call, the second page {seen}", "4.3.16")


async def _no_second_payment(session: Session, walked: Walk) -> Findings:
    """A listed payment of this run that no create call returned was created by a retry.

    An id that no retrieve call finds is a wrong id instead.
    """
    marked = {
        str(payment.get("id")) for payment in walked.payments if session.is_of_this_run(payment)
    }
    unknown = sorted(marked - session.created_ids)[:MAX_UNKNOWN_IDS]
    statuses = [(await session.retrieve(id_)).status for id_ in unknown]
    if _NOT_FOUND in statuses:
        return stated(False, "an `id` in a list that no retrieve finds", "2.2.1")
    strange = len(unknown)
    if strange and session.may_have_created_more:
        return unseen("a call without a response may have created a payment", "4.1.10")
    seen = (
        f"{counted(strange, 'payment')} that no response contained"
        if strange
        else "no second payment"
    )
    return stated(not strange, seen, "4.1.10")


def _end(walked: Walk) -> Findings:
    """The members of the last page, if it was reached."""
    if walked.has_given_up:
        return unseen("the last page was not reached", "2.2.2", "2.2.4")
    last = walked.pages[-1]
    if has_next_page(last) and not walked.is_complete:
        return unseen("there was no cursor to the last page", "2.2.2", "2.2.4")
    pairs = list(pairwise(walked.pages))
    is_hidden = any(page.payments and not has_next_page(before) for before, page in pairs)
    is_promised = any(has_next_page(before) and not page.payments for before, page in pairs)
    seen = "false on the last page"
    if is_hidden:
        seen = "false before a further page"
    elif is_promised or has_next_page(last):
        seen = "true on the last page"
    findings = stated(seen == "false on the last page", seen, "2.2.2")
    cursor = last.members.get("next_cursor", ...)
    if has_next_page(last) and isinstance(cursor, str):
        return findings
    seen = "null" if cursor is None else "absent" if cursor is ... else "a string"
    return findings + assumed(cursor is None, f"{seen} on the last page", "2.2.4")


async def _after_any_payment(session: Session) -> Findings:
    """The page after a payment that was not the last one of its page."""
    query = await window(session) | {"limit": str(MAX_LIMIT)}
    listed = await session.page(**query)
    if not listed.is_success:
        raise CheckStopped(f"a page was returned with {listed.summary}")
    own = session.created_ids
    found = [id_ for id_ in listed.ids if id_ in own]
    is_all = not missing(session, listed)
    findings = stated(is_all, f"lists {len(found)} of {len(own)} payments", "4.3.1")
    if len(found) <= _MIDDLE + 1:
        return findings
    response = await session.page(**query, after=found[_MIDDLE])
    if response.is_refusal:
        seen = f"a payment in the middle of a page: {response.summary}"
        return findings + assumed(False, seen, "4.3.4")
    rest = found[_MIDDLE + 1 :]
    is_after = [id_ for id_ in response.ids if id_ in own][: len(rest)] == rest
    seen = "the following payments" if is_after else "not the following payments"
    findings += stated(is_after, f"{response.summary}, {seen}", "4.3.4")
    return findings + assumed(True, "any payment is a cursor", "4.3.4")


_NO_CURSOR = ExpectedRefusal(
    what="`after` a text that is no id",
    send=listed_with(after="no_cursor"),
    code="invalid_cursor",
    assumes=("4.3.13",),
)
_UNKNOWN_CURSOR = ExpectedRefusal(
    what="`after` an unknown id",
    send=lambda session: session.page(after=session.unknown_id),
    code="invalid_cursor",
    assumes=("4.3.13",),
)


async def _unknown_cursor(session: Session) -> Findings:
    response = await _UNKNOWN_CURSOR.send(session)
    findings = _UNKNOWN_CURSOR.findings(response)
    # The contract has 404 for objects that do not exist; it need not name a field.
    if response.status == _NOT_FOUND:
        return findings
    return findings + param_findings(response, "after", _UNKNOWN_CURSOR.what, FIELD)


async def _by_another_account(session: Session) -> Findings:
    other, own = session.other_accounts_key, {payment.id for payment in session.all_created}
    listed = await session.page(of_key=other, **await window(session))
    theirs = own & set(listed.ids)
    return stated(not theirs, f"another account lists {len(theirs)} of them", "5.5")


async def _cursor_of_another_account(session: Session) -> Findings:
    other, first = session.other_accounts_key, session.first
    response = await session.page(of_key=other, after=first.id)
    seen = f"another account's payment as a cursor: {response.summary}"
    return assumed(response.status == 400, seen, "5.5")


CHECKS = (
    Check(run=_enough_payments, states=("4.3.15", "8.5")),
    Check(run=_default_limit, states=("4.3.3", "7.5", "8.5")),
    Check(run=_limit_of_one, states=("4.0.4", "4.3.15", "8.5")),
    Check(run=_envelope, states=("2.2.1", "2.2.2", "2.2.3", "4.3.9"), assumes=("2.2.3", "4.3.9")),
    *(
        ExpectedRefusal(
            what=f"`limit` {limit}",
            send=listed_with(limit=limit),
            code="invalid_limit",
            param="limit",
            assumes=("4.3.15", "8.5"),
        ).check
        for limit in (0, MAX_LIMIT + 1, "ten")
    ),
    Check(
        run=_all_pages, states=("2.2.1", "2.2.2", "4.1.10", "4.3.10"), assumes=("2.2.4", "4.3.11")
    ),
    Check(run=_after_any_payment, states=("4.3.1", "4.3.4"), assumes=("4.3.4",)),
    Check(run=_new_payment_between_pages, assumes=("4.3.16",)),
    _NO_CURSOR.check,
    Check(run=_unknown_cursor, states=(FIELD,), assumes=("4.3.13", CODES)),
    Check(run=_by_another_account, states=("5.5",)),
    Check(run=_cursor_of_another_account, assumes=("5.5",)),
)
