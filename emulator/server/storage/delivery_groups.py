"""Counts an owner's deliveries by what they have in common, in one statement."""

from collections.abc import Iterable

from msgspec import Struct

from emulator.domain.instants import Instant
from emulator.domain.webhooks import DeliveryState
from emulator.server.storage.batch import Transaction, positions_of

_GROUPS = (
    "SELECT state, endpoint, last_status, last_error, count(*), min(position), max(position)"
    " FROM deliveries INDEXED BY deliveries_by_result WHERE endpoint BETWEEN ? AND ?"
    " GROUP BY endpoint, state, last_status, last_error"
)
_FAILING = (DeliveryState.FAILED, DeliveryState.PENDING)
_SINCE_AND_CAUSE = (
    "SELECT created_at, (SELECT cause FROM attempts WHERE delivery = ?2"
    " ORDER BY number DESC LIMIT 1) FROM deliveries WHERE position = ?1"
)


class Group(Struct, frozen=True):
    """Deliveries in one state to one endpoint, with one result of the last attempt.

    `oldest` and `newest` are positions.
    """

    state: str
    endpoint: int
    status: int | None
    error: str | None
    count: int
    oldest: int
    newest: int


class Failures(Struct, frozen=True):
    """Failing deliveries to one endpoint whose last attempts had one result; `since` the oldest.

    `cause` is that of the newest one.
    """

    endpoint: int
    status: int | None
    error: str | None
    cause: str | None
    count: int
    since: Instant


def groups(tx: Transaction, owner: int) -> list[Group]:
    """An owner's deliveries by state, endpoint and last result, with their numbers."""
    return [Group(*row) for row in tx.execute(_GROUPS, positions_of(owner))]


def failures(tx: Transaction, groups: Iterable[Group]) -> list[Failures]:
    """The failing deliveries by endpoint and result, the most frequent ones first."""
    failing: dict[tuple[int, int | None, str | None], list[Group]] = {}
    for each in groups:
        # A ping whose attempt was not made, because the program ended, has no result.
        if each.state in _FAILING and (each.status or each.error):
            failing.setdefault((each.endpoint, each.status, each.error), []).append(each)
    found: list[Failures] = []
    for (endpoint, status, error), equal in failing.items():
        ends = min(each.oldest for each in equal), max(each.newest for each in equal)
        since, cause = tx.execute(_SINCE_AND_CAUSE, ends).fetchone()
        count = sum(each.count for each in equal)
        found.append(Failures(endpoint, status, error, cause, count, since))
    return sorted(found, key=lambda each: (-each.count, each.endpoint))
