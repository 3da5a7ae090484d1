"""Finds the payments of this run in the lists of an account that others use at the same time."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from emulator.domain.instants import Instant, format_instant, parse_timestamp
from emulator.tools.verify.client import CheckStopped
from emulator.tools.verify.messages import ServiceResponse
from emulator.tools.verify.session import PAYMENTS, Session

PAGE = 5
MAX_PAGES = 20
MAX_LIMIT = 100
DEFAULT_LIMIT = 10
# The margin around the payments of this run: the rounding of bounds does not matter.
MARGIN_MS = 2_000

# The contract asks for ISO 8601 and for no particular form of it.
_OUR_TIMESTAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{3}Z", re.ASCII)


def parse_instant(value: object) -> Instant | None:
    """Milliseconds since 1970; None for anything but an ISO 8601 timestamp with a time of day."""
    if not isinstance(value, str) or "T" not in value.upper():
        return None
    try:
        return parse_timestamp(value).floor
    except ValueError:
        return None


def is_our_timestamp(value: object) -> bool:
    """Whether a value is UTC with milliseconds: `2026-01-01T00:00:00.000Z`."""
    return isinstance(value, str) and _OUR_TIMESTAMP.fullmatch(value) is not None


def shifted(at: Instant, by_ms: int) -> str:
    """The timestamp of a later instant, or of an earlier one."""
    return format_instant(at + by_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """Pages of a list, each requested with the cursor of the page before."""

    pages: Sequence[ServiceResponse]
    created: frozenset[str]
    has_given_up: bool

    @property
    def payments(self) -> list[Mapping[str, Any]]:
        return [payment for page in self.pages for payment in page.payments]

    @property
    def own_ids(self) -> list[str]:
        """The ids of this run's payments, in the listed order and with repetitions."""
        return [id_ for page in self.pages for id_ in page.ids if id_ in self.created]

    @property
    def is_complete(self) -> bool:
        """Whether every payment of this run was listed."""
        return self.created <= set(self.own_ids)


def missing(session: Session, page: ServiceResponse) -> set[str]:
    """The payments of this run that a complete page lacks; none of a page with a next page."""
    own = session.created_ids
    return set() if page.ids and has_next_page(page) else own - set(page.ids)


def missing_by_filter(session: Session, page: ServiceResponse) -> set[str]:
    """The missing payments that another list contains, so that the filter is the cause."""
    listed = {id_ for response in own_lists(session) for id_ in response.ids}
    return missing(session, page) & listed


def own_lists(session: Session) -> list[ServiceResponse]:
    """All lists that the service returned to the key of the session."""
    return [
        response
        for response in session.responses
        if response.is_success
        and not response.has_error
        and (response.request.method, response.request.path) == ("GET", PAYMENTS)
        and response.request.key == session.key
    ]


def has_next_page(page: ServiceResponse) -> bool:
    """The value of `has_more`; if it is not Boolean, whether there is a cursor."""
    has_more = page.members.get("has_more")
    return has_more if isinstance(has_more, bool) else next_cursor(page) is not None


def next_cursor(page: ServiceResponse) -> str | None:
    cursor = page.members.get("next_cursor")
    return cursor if isinstance(cursor, str) else None


def bounds(session: Session) -> tuple[Instant, Instant]:
    """Instants before and after the payments of this run. Raises CheckStopped."""
    created = [payment.payment for payment in session.all_created]
    own = session.created_ids
    # Lists too: the response to a create call may contain a wrong instant.
    listed = [
        payment
        for page in own_lists(session)
        for payment in page.payments
        if payment.get("id") in own
    ]
    texts = {str(payment.get("created_at")) for payment in (*listed, *created)}
    instants = [at for at in map(parse_instant, texts) if at is not None]
    if not instants:
        raise CheckStopped("no payment has a `created_at` that can be read")
    return min(instants) - MARGIN_MS, max(instants) + MARGIN_MS


def within_bounds(session: Session) -> dict[str, str]:
    """A query for the payments of this run, and few others. Raises CheckStopped."""
    since, until = bounds(session)
    return {"created_gte": shifted(since, 0), "created_lte": shifted(until, 0)}


async def window(session: Session) -> dict[str, str]:
    """The same query, or an empty one if the bounds do not work. Raises CheckStopped."""
    query = within_bounds(session)
    if session.has_bounds is None:
        page = await session.page(**query, limit=MAX_LIMIT)
        session.has_bounds = page.is_success and not missing(session, page)
    return query if session.has_bounds else {}


async def walk(session: Session) -> Walk:
    """Request page after page. Raises CheckStopped.

    A page without `has_more` is not the last one while payments of this run are missing.
    """
    query = await window(session) | {"limit": str(PAGE)}
    created = frozenset(session.created_ids)
    pages: list[ServiceResponse] = []
    while len(pages) < MAX_PAGES:
        page = await session.page(**query)
        if not page.is_success:
            raise CheckStopped(f"a page was returned with {page.summary}")
        pages.append(page)
        cursor = next_cursor(page)
        is_complete = created <= {id_ for each in pages for id_ in each.ids}
        if cursor is None or (is_complete and not has_next_page(page)):
            break
        if cursor == query.get("after"):
            return Walk(pages=pages, created=created, has_given_up=True)
        query["after"] = cursor
    return Walk(pages=pages, created=created, has_given_up=len(pages) == MAX_PAGES)
