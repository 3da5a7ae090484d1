"""Checks of the pages of a list (contract, sections 2.2 and 4.3).

Only the payments of this run are compared: others may change between two requests.
"""

from collections.abc import Sequence
from itertools import pairwise

from emulator.domain.instants import format_instant
from emulator.reporting import counted
from emulator.tools.verify.checks.refusals import ExpectedRefusal, expectation, wrong_query
from emulator.tools.verify.client import CheckStopped, ServiceResponse, json_text, member_text
from emulator.tools.verify.contract import DEFAULT_LIMIT, MAX_LIMIT, METHODS
from emulator.tools.verify.findings import Check, Findings, assumed, stated, unseen
from emulator.tools.verify.session import Session

PAGE = 5
MAX_PAGES = 20
MAX_UNKNOWN_IDS = 5
_TWO = 2
# No page that was requested before ends with the payment at this index.
_MIDDLE = 2
_NOT_FOUND = 404
_ENVELOPE = ["data", "has_more", "next_cursor"]


async def _walk(session: Session) -> tuple[list[ServiceResponse], bool]:
    """Request page after page; return the pages, and whether the last one was not reached.

    A page without `has_more` is not the last one while payments of this run are missing. Raises
    CheckStopped.
    """
    query = await session.window() | {"limit": str(PAGE)}
    created = session.created_ids
    pages: list[ServiceResponse] = []
    while len(pages) < MAX_PAGES:
        page = await session.page(**query)
        if not page.is_success:
            raise CheckStopped(f"a page was returned with {page.summary}")
        pages.append(page)
        created = created - set(page.ids)
        cursor = page.next_cursor
        if cursor is None or not (created or page.has_next_page):
            break
        if cursor == query.get("after"):
            return pages, True
        query["after"] = cursor
    return pages, len(pages) == MAX_PAGES


async def _enough_payments(session: Session) -> Findings:
    """Create more than a page of payments, so that the default of `limit` can be observed.

    One of them offers another method than the others, for the filter by method.
    """
    response = await session.long_page()
    count = len(response.data)
    is_so = response.is_success and count <= MAX_LIMIT
    seen = f"`limit` {MAX_LIMIT}: {response.summary}, {counted(count, 'payment')}"
    other = next(method for method in METHODS if method != session.method)
    await session.create(session.order(methods=[other]))
    for _ in range(DEFAULT_LIMIT - count):
        await session.create(session.order())
    if is_so and count < MAX_LIMIT:
        # The service may have a smaller limit.
        return unseen(f"there are only {counted(count, 'payment')}", "4.3.15", "8.5")
    return stated(is_so, seen, "4.3.15", "8.5")


async def _default_limit(session: Session) -> Findings:
    response = await session.page()
    findings = stated(response.status == 200, response.summary, "7.5")
    count = len(response.data)
    if count < DEFAULT_LIMIT and response.members.get("has_more") is False:
        return findings + unseen(f"there are only {counted(count, 'payment')}", "4.3.3", "8.5")
    seen = f"{counted(count, 'payment')} without `limit`"
    return findings + stated(count == DEFAULT_LIMIT, seen, "4.3.3", "8.5")


def _require_enough(session: Session) -> None:
    """Raises CheckStopped unless there are more than two payments."""
    if len(session.all_created) <= _TWO:
        raise session.without_payments("too few payments could be created")


async def _short_pages(session: Session) -> Findings:
    """A page of one payment, and the envelope of a page of two that has a next page."""
    _require_enough(session)
    count = len((await session.page(limit=1)).data)
    seen = f"`limit` 1: {counted(count, 'payment')}"
    findings = stated(count == 1, seen, "4.0.4", "4.3.15", "8.5")
    response = await session.page(limit=_TWO)
    return findings + before_next_page(response)


def before_next_page(response: ServiceResponse) -> Findings:
    """The envelope of a page that has a next page."""
    members, data = response.members, response.members.get("data")
    is_list = isinstance(data, list) and len(response.payments) == len(data)
    received = f"`data`: {member_text(members, 'data')}"
    findings = stated(is_list, "an array of objects", "2.2.1", otherwise=received)
    seen = f"{member_text(members, 'has_more')} before a further page"
    findings += stated(members.get("has_more") is True, seen, "2.2.2")
    missing = "`, `".join(name for name in _ENVELOPE if name not in members)
    findings += stated(not missing, "all three members", "4.3.9", otherwise=f"without `{missing}`")
    names = list(members)
    received = f"members {json_text(names)}"
    findings += assumed(names == _ENVELOPE, "in this order", "4.3.9", otherwise=received)
    cursor = members.get("next_cursor")
    is_id = isinstance(cursor, str) and cursor.startswith("pay_")
    received = f"`next_cursor`: {member_text(members, 'next_cursor')}"
    findings += stated(is_id, "a payment identifier", "2.2.3", otherwise=received)
    if not is_id:
        return findings
    seen, other = "the id of the last payment", "not the id of the last payment"
    return findings + assumed(response.ids[-1:] == [cursor], seen, "2.2.3", otherwise=other)


async def _all_pages(session: Session) -> Findings:
    """Every payment of this run is listed once, in the assumed order."""
    pages, has_given_up = await _walk(session)
    own = [payment.id for payment in session.created]
    found = [id_ for page in pages for id_ in page.ids if id_ in own]
    is_all = sorted(found) == sorted(own)
    twice, missing = len(found) - len(set(found)), len(set(own) - set(found))
    if has_given_up and not twice and not is_all:
        raise CheckStopped(f"{MAX_PAGES} pages of {PAGE} payments were not enough")
    what = f"{counted(len(own), 'payment')} on pages of {PAGE}"
    parts = [f"{twice} twice"] if twice else []
    parts += [f"{missing} missing"] if missing else []
    wrong = f"of {what}, {' and '.join(parts)}"
    findings = stated(is_all, f"{what}, each once", "4.3.10", otherwise=wrong)
    if is_all:
        order = "oldest first" if _is_in_order(session, found) else "in no order of creation"
        is_newest_first = _is_in_order(session, found[::-1])
        findings += assumed(is_newest_first, "newest first", "4.3.11", otherwise=order)
    findings += await _no_second_payment(session, pages)
    if has_given_up:
        return findings + unseen("the last page was not reached", "2.2.2", "2.2.4")
    if pages[-1].has_next_page and missing:
        return findings + unseen("there was no cursor to the last page", "2.2.2", "2.2.4")
    return findings + _end(pages)


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


async def _new_payment_between_pages(session: Session) -> Findings:
    """The page after a cursor is the same before and after another payment is created."""
    _require_enough(session)
    since, _ = session.bounds()
    # Without an upper bound, so that the new payment is one of the list.
    query: dict[str, str] = {"limit": str(PAGE)}
    query |= {"created_gte": format_instant(since)} if session.has_bounds else {}
    own = session.created_ids
    query["after"] = (await session.page(**query)).next_cursor or ""
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


async def _no_second_payment(session: Session, pages: list[ServiceResponse]) -> Findings:
    """A listed payment of this run that no create call returned was created by a retry.

    An id that no retrieve call finds is a wrong id instead.
    """
    marked = {
        str(payment.get("id"))
        for page in pages
        for payment in page.payments
        if session.is_of_this_run(payment)
    }
    unknown = sorted(marked - session.created_ids)[:MAX_UNKNOWN_IDS]
    statuses = [(await session.retrieve(id_)).status for id_ in unknown]
    if _NOT_FOUND in statuses:
        return stated(False, "an `id` in a list that no retrieve finds", "2.2.1")
    if unknown and session.may_have_created_more:
        return unseen("a call without a response may have created a payment", "4.1.10")
    wrong = f"{counted(len(unknown), 'payment')} that no response contained"
    return stated(not unknown, "no second payment", "4.1.10", otherwise=wrong)


def _end(pages: list[ServiceResponse]) -> Findings:
    """The members of the last page."""
    last = pages[-1]
    pairs = list(pairwise(pages))
    is_hidden = any(page.payments and not before.has_next_page for before, page in pairs)
    is_promised = any(before.has_next_page and not page.payments for before, page in pairs)
    findings = stated(
        not (is_hidden or is_promised or last.has_next_page),
        "false on the last page",
        "2.2.2",
        otherwise="false before a further page" if is_hidden else "true on the last page",
    )
    if last.has_next_page and last.next_cursor is not None:
        return findings
    return findings + cursor_of_last_page(last)


def cursor_of_last_page(page: ServiceResponse) -> Findings:
    cursor = page.members.get("next_cursor", ...)
    seen = "null" if cursor is None else "absent" if cursor is ... else "a string"
    return assumed(cursor is None, f"{seen} on the last page", "2.2.4")


async def _after_any_payment(session: Session) -> Findings:
    """The page after a payment that was not the last one of its page."""
    query = await session.window() | {"limit": str(MAX_LIMIT)}
    listed = await session.page(**query)
    if not listed.is_success:
        raise CheckStopped(f"a page was returned with {listed.summary}")
    own = session.created_ids
    found = [id_ for id_ in listed.ids if id_ in own]
    is_all = not session.missing(listed)
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


async def _by_another_account(session: Session) -> Findings:
    other, own = session.other_accounts_key, {payment.id for payment in session.all_created}
    listed = await session.page(of_key=other, **await session.window())
    theirs = own & set(listed.ids)
    return stated(not theirs, f"another account lists {len(theirs)} of them", "5.5")


CHECKS = (
    Check(_enough_payments, ("4.3.15", "8.5")),
    Check(_default_limit, ("4.3.3", "7.5", "8.5")),
    Check(_short_pages, ("4.0.4", "4.3.15", "8.5", "2.2.1", "2.2.2", "2.2.3", "4.3.9")),
    *(wrong_query("limit", limit).check for limit in (0, MAX_LIMIT + 1, "ten")),
    Check(_all_pages, ("2.2.1", "2.2.2", "2.2.4", "4.1.10", "4.3.10", "4.3.11")),
    Check(_after_any_payment, ("4.3.1", "4.3.4")),
    Check(_new_payment_between_pages, ("4.3.16",)),
    wrong_query("after", "no_cursor").check,
    ExpectedRefusal(
        what="`after` an unknown id",
        send=lambda session: session.page(after=session.unknown_id),
        code="invalid_cursor",
        param="after",
        assumes=("4.3.13",),
        may_be_404=True,
    ).check,
    Check(_by_another_account, ("5.5",)),
    expectation(
        "another account's payment as a cursor",
        lambda one: one.page(of_key=one.other_accounts_key, after=one.first.id),
        "5.5",
        is_so=lambda _, response: response.status == 400,
    ),
)
