"""The part of a list in which the payments of this run are, whoever else's are there, too."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from emulator.domain.instants import Instant
from emulator.verify.answers import Answer
from emulator.verify.checks.timestamps import instant, moved
from emulator.verify.client import CannotSee
from emulator.verify.visit import Visit

PAGE = 5
MOST_PAGES = 20
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
    def is_whole(self) -> bool:
        """Whether the last page says that it is the last one."""
        return not says_more(self.pages[-1])


def missing(visit: Visit, page: Answer) -> int:
    """How many payments of this run are not on a page on which they should be.

    A page that has more need not have all of them.
    """
    own = {one.id for one in visit.created}
    found = own & set(page.ids)
    return 0 if found and says_more(page) else len(own - found)


def says_more(page: Answer) -> bool:
    return page.members.get("has_more") is True


def bounds(visit: Visit) -> tuple[Instant, Instant]:
    """Instants before and after the payments of this run. Raises CannotSee."""
    instants = [instant(one.payment.get("created_at")) for one in visit.all_created]
    known = [one for one in instants if one is not None]
    if not known:
        raise CannotSee("no payment has a `created_at` that can be read")
    return min(known) - MARGIN_MS, max(known) + MARGIN_MS


def within(visit: Visit) -> dict[str, str]:
    """A query for the payments of this run, and few others. Raises CannotSee."""
    since, until = bounds(visit)
    return {"created_gte": moved(since, 0), "created_lte": moved(until, 0)}


async def walk(visit: Visit) -> Walk:
    """Go from page to page. Raises CannotSee."""
    query = within(visit) | {"limit": str(PAGE)}
    created = frozenset(one.id for one in visit.created)
    pages: list[Answer] = []
    while len(pages) < MOST_PAGES:
        page = await visit.page(**query)
        if page.status != 200:
            raise CannotSee(f"a page was answered {page.told}")
        pages.append(page)
        cursor = page.members.get("next_cursor")
        if not says_more(page) or not isinstance(cursor, str):
            break
        if cursor == query.get("after"):
            return Walk(pages=pages, created=created, is_given_up=True)
        query["after"] = cursor
    return Walk(pages=pages, created=created, is_given_up=len(pages) == MOST_PAGES)
