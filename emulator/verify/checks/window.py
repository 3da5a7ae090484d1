"""The part of a list in which the payments of this run are, whoever else's are there, too."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from emulator.domain.instants import Instant
from emulator.verify.answers import Answer
from emulator.verify.checks.timestamps import instant, moved
from emulator.verify.client import CannotSee
from emulator.verify.session import PAYMENTS, Visit

PAGE = 5
MAX_PAGES = 20
MAX_LIMIT = 100
# So far around the payments of this run that it does not matter how bounds are rounded.
MARGIN_MS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """The pages that were come by, each with the cursor that the one before has named."""

    pages: Sequence[Answer]
    created: frozenset[str]
    is_given_up: bool

    @property
    def payments(self) -> list[Mapping[str, Any]]:
        return [payment for page in self.pages for payment in page.payments]

    @property
    def own(self) -> list[str]:
        """The ids of this run's payments, as often and in such order as they came."""
        return [one for page in self.pages for one in page.ids if one in self.created]

    @property
    def is_complete(self) -> bool:
        """Whether every payment of this run came."""
        return self.created <= set(self.own)


def missing(visit: Visit, page: Answer) -> set[str]:
    """The payments of this run that are not on a page on which they should be.

    A page that has more need not have all of them.
    """
    own = {one.id for one in visit.created}
    found = own & set(page.ids)
    return set() if page.ids and says_more(page) else own - found


def missing_by_filter(visit: Visit, page: Answer) -> set[str]:
    """The same, without those that no list has: it is not for the filter that they are missing."""
    return missing(visit, page) & {one for answer in own_lists(visit) for one in answer.ids}


def own_lists(visit: Visit) -> list[Answer]:
    """All lists that the owner of the key was answered."""
    return [
        one
        for one in visit.answers
        if one.is_success
        and not one.has_error
        and (one.request.method, one.request.path) == ("GET", PAYMENTS)
        and one.request.key == visit.key
    ]


def says_more(page: Answer) -> bool:
    """Whether there is a further page; without a Boolean, whether there is a cursor."""
    has_more = page.members.get("has_more")
    return has_more if isinstance(has_more, bool) else _cursor(page) is not None


def _cursor(page: Answer) -> str | None:
    cursor = page.members.get("next_cursor")
    return cursor if isinstance(cursor, str) else None


def bounds(visit: Visit) -> tuple[Instant, Instant]:
    """Instants before and after the payments of this run. Raises CannotSee."""
    own = {one.id for one in visit.all_created}
    lists = [one for page in own_lists(visit) for one in page.payments if one.get("id") in own]
    # As a list has it, too: a create call may be wrong about the instant.
    texts = {str(one.get("created_at")) for one in (*lists, *(it.payment for it in visit.created))}
    known = [at for at in map(instant, texts) if at is not None]
    if not known:
        raise CannotSee("no payment has a `created_at` that can be read")
    return min(known) - MARGIN_MS, max(known) + MARGIN_MS


def within(visit: Visit) -> dict[str, str]:
    """A query for the payments of this run, and few others. Raises CannotSee."""
    since, until = bounds(visit)
    return {"created_gte": moved(since, 0), "created_lte": moved(until, 0)}


async def window(visit: Visit) -> dict[str, str]:
    """The same query, or an empty one where bounds do not work. Raises CannotSee."""
    query = within(visit)
    if visit.has_bounds is None:
        page = await visit.page(**query, limit=MAX_LIMIT)
        visit.has_bounds = page.is_success and not missing(visit, page)
    return query if visit.has_bounds else {}


async def walk(visit: Visit) -> Walk:
    """Go from page to page. Raises CannotSee.

    A page that says that it is the last one is not, while payments of this run are missing.
    """
    query = await window(visit) | {"limit": str(PAGE)}
    created = frozenset(one.id for one in visit.created)
    pages: list[Answer] = []
    while len(pages) < MAX_PAGES:
        page = await visit.page(**query)
        if not page.is_success:
            raise CannotSee(f"a page was answered {page.told}")
        pages.append(page)
        cursor = _cursor(page)
        is_complete = created <= {one for each in pages for one in each.ids}
        if cursor is None or (is_complete and not says_more(page)):
            break
        if cursor == query.get("after"):
            return Walk(pages=pages, created=created, is_given_up=True)
        query["after"] = cursor
    return Walk(pages=pages, created=created, is_given_up=len(pages) == MAX_PAGES)
