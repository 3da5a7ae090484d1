"""The deliveries and attempts tables: events to be sent to endpoints, and the results.

Also the redirects table: when the pages of completed payments redirect, by rules of scenarios.
"""

import json
from collections.abc import Collection, Iterable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

from emulator.domain.effects import RedirectMoment
from emulator.domain.instants import Instant
from emulator.domain.payment import CREATION, PING, UNKNOWN_EVENT_TYPE
from emulator.domain.transitions import DueKey
from emulator.domain.webhooks import (
    Attempt,
    DeliveryState,
    Tamper,
)
from emulator.server.storage import accounts, payments
from emulator.server.storage.batch import Transaction, positions_of
from emulator.server.storage.rows import RowMapper


class Delivery(NamedTuple):
    """One event for one endpoint; `event` and `payment` are None for a ping.

    `attempts` counts the schedule's attempts, `due_at` is the next one's instant. `fault` is the
    effect that a scenario added, as in scenario files. `is_concurrent`: the first attempts of all
    copies begin together. `timeout_ms` limits each attempt of the schedule; None is the usual
    time-out. `last_status` and `last_error` are the result of the last attempt of any kind.
    """

    position: int
    endpoint: int
    event: int | None
    payment: int | None
    created_at: Instant
    state: DeliveryState
    attempts: int
    due_at: Instant | None
    sequence: int
    is_postponed: bool
    tamper: Tamper | None
    fault: dict[str, Any] | None = None
    is_concurrent: bool = False
    timeout_ms: int | None = None
    last_status: int | None = None
    last_error: str | None = None


def _from_json(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def _to_json(value: object) -> str | None:
    return None if value is None else json.dumps(value)


_ROWS = RowMapper(
    Delivery,
    expressions={"is_postponed": "is_held"},
    decode={"fault": _from_json},
    encode={"fault": _to_json},
)
_COLUMNS = _ROWS.columns
_PUT = f"INSERT OR REPLACE INTO deliveries ({_COLUMNS})"
_GET = f"SELECT {_COLUMNS} FROM deliveries WHERE position = ?"
_UPCOMING = (
    f"SELECT {_COLUMNS} FROM deliveries INDEXED BY deliveries_due"
    " WHERE endpoint = ? AND due_at IS NOT NULL AND position NOT IN ({})"
    " AND (attempts > 0 OR payment NOT IN ({})) {} ORDER BY due_at, sequence LIMIT ?"
)
# A later first attempt of the payment waits, too: first attempts are sent in order.
_AWAITS_NO_PAGE = (
    "AND (attempts > 0 OR NOT EXISTS (SELECT 1 FROM deliveries AS earlier"
    " WHERE earlier.payment = deliveries.payment AND earlier.endpoint = deliveries.endpoint"
    " AND earlier.event IN ({}) AND earlier.due_at IS NOT NULL"
    " AND earlier.sequence <= deliveries.sequence))"
)
_NEXT = (
    f"SELECT {_COLUMNS} FROM deliveries INDEXED BY deliveries_due"
    " WHERE endpoint = ? AND due_at IS NOT NULL ORDER BY due_at, sequence LIMIT 1"
)
_PENDING_OF_PAYMENT = (
    f"SELECT {_COLUMNS} FROM deliveries INDEXED BY deliveries_by_payment"
    " WHERE payment = ? AND due_at IS NOT NULL ORDER BY due_at, sequence"
)
_POSTPONED = (
    f"SELECT {_COLUMNS} FROM deliveries INDEXED BY deliveries_by_payment"
    " WHERE is_held = 1 AND payment IN ({}) ORDER BY position"
)
_UPDATE = (
    "UPDATE deliveries SET state = ?, attempts = ?, due_at = ?, sequence = ?, is_held = ?,"
    " last_status = ?, last_error = ? WHERE position = ?"
)
_values_of_update = attrgetter(
    *("state", "attempts", "due_at", "sequence", "is_postponed"),
    *("last_status", "last_error", "position"),
)
_CANCEL_ALL = (
    "UPDATE deliveries SET state = 'cancelled', due_at = NULL, is_held = 0"
    " WHERE endpoint = ? AND due_at IS NOT NULL"
)


_ATTEMPT_ROWS = RowMapper(
    Attempt,
    expressions={"headers": "request_headers"},
    decode={"headers": json.loads, "response_headers": _from_json},
    encode={"headers": _to_json, "response_headers": _to_json},
)
_ATTEMPT_COLUMNS = _ATTEMPT_ROWS.columns
_INSERT_ATTEMPT = (
    f"INSERT INTO attempts (delivery, {_ATTEMPT_COLUMNS}) VALUES (?1,"
    " (SELECT coalesce(max(number), 0) + 1 FROM attempts WHERE delivery = ?1),"
    f" {', '.join('?' * (_ATTEMPT_ROWS.width - 1))}) RETURNING number"
)
_MAX_DELIVERIES_PER_STATEMENT = 500
_ATTEMPTS = (
    f"SELECT delivery, {_ATTEMPT_COLUMNS} FROM attempts WHERE delivery IN ({{}})"
    " ORDER BY delivery, number"
)
_EVENT_TYPE = (
    f"CASE WHEN payment IS NULL THEN '{PING}' WHEN event IS NULL THEN '{UNKNOWN_EVENT_TYPE}' ELSE"
    f" coalesce((SELECT type FROM events WHERE position = deliveries.event), '{CREATION}') END"
)
_NEWEST = (
    "SELECT {columns} FROM deliveries {where} position BETWEEN ?1 AND ?2"
    " AND (?3 IS NULL OR endpoint = ?3) AND (?4 IS NULL OR state = ?4)"
    f" AND (?5 IS NULL OR ?5 = {_EVENT_TYPE})"
    " AND (NOT ?6 OR state <> 'pending' OR EXISTS"
    " (SELECT 1 FROM attempts WHERE delivery = deliveries.position AND status IS NOT NULL))"
    " AND (NOT ?7 OR state IN ('failed', 'pending')"
    " AND coalesce(last_status, last_error) IS NOT NULL)"
    " ORDER BY position DESC LIMIT ?8"
)
_OF_ALL, _OF_PAYMENT = (
    "NOT INDEXED WHERE",
    "INDEXED BY deliveries_by_payment WHERE payment = ?9 AND",
)
_LISTED_COLUMNS = (
    f"position, endpoint, payment, {_EVENT_TYPE}, state,"
    " coalesce((SELECT group_concat(coalesce(status, 0)) FROM"
    " (SELECT status FROM attempts WHERE delivery = deliveries.position ORDER BY number)), ''),"
    " coalesce(due_at, created_at), due_at IS NOT NULL"
)
_PUT_REDIRECT = "INSERT OR REPLACE INTO redirects (payment, moment, until) VALUES (?, ?, ?)"
_LEFT_EARLY = (
    "SELECT payment FROM redirects WHERE moment = 'before_completed' AND payment BETWEEN ? AND ?"
)
_GET_REDIRECT = "SELECT moment, until FROM redirects WHERE payment = ?"
_IS_UNATTEMPTED = (
    "SELECT EXISTS (SELECT 1 FROM deliveries INDEXED BY deliveries_by_payment WHERE payment = ?1"
    " AND state = 'pending' AND attempts = 0 AND event IN (SELECT position FROM events"
    " WHERE payment = ?1 AND status = 'completed'))"
)
_PRECEDES_RESPONSE = (
    "SELECT EXISTS (SELECT 1 FROM payments JOIN deliveries INDEXED BY deliveries_by_payment"
    " ON payment = payments.position WHERE payments.id = ? AND state = 'pending' AND attempts = 0"
    " AND json_extract(fault, '$.before_response'))"
)


class DeliveryFilter(msgspec.Struct, frozen=True, kw_only=True):
    """A selection of an owner's deliveries; None does not restrict it.

    `before`, `payment` and `endpoint` are ids, `event` is the type of the event.
    With `failing`, they have failed, or their last attempt has.
    """

    before: str | None = None
    payment: str | None = None
    endpoint: str | None = None
    status: DeliveryState | None = None
    event: str | None = None
    failing: bool = False


class ListedDelivery(NamedTuple):
    """A delivery as a list shows it; `at` is the next attempt if one `is_due`, else the creation.

    `results` are the statuses of the attempts, oldest first, with commas between them; 0 without a
    response.
    """

    position: int
    endpoint: int
    payment: int | None
    event_type: str
    state: str
    results: str
    at: Instant
    is_due: int


def put(tx: Transaction, deliveries: Sequence[Delivery]) -> None:
    """Write new deliveries, and replace others."""
    tx.insert(_PUT, [_ROWS.row(delivery) for delivery in deliveries])


def get(tx: Transaction, position: int) -> Delivery | None:
    row = tx.execute(_GET, (position,)).fetchone()
    return None if row is None else _ROWS.value(row)


def upcoming(
    tx: Transaction,
    endpoint: int,
    *,
    exclude: Collection[int],
    busy_payments: Collection[int | None],
    awaiting_page: Collection[int],
    limit: int,
) -> list[Delivery]:
    """An endpoint's next deliveries, in order, except those in `exclude`.

    First attempts of busy payments are left out, because another attempt of theirs is in progress;
    attempts for events in `awaiting_page`, and later ones of their payments, wait for a page.
    """
    awaits_no_page = _AWAITS_NO_PAGE.format(_marks(awaiting_page)) if awaiting_page else ""
    statement = _UPCOMING.format(_marks(exclude), _marks(busy_payments), awaits_no_page)
    rows = tx.execute(statement, (endpoint, *exclude, *busy_payments, *awaiting_page, limit))
    return [_ROWS.value(row) for row in rows.fetchall()]


def next_of(tx: Transaction, endpoints: Iterable[int]) -> Delivery | None:
    """The pending delivery of these endpoints that is due first."""
    rows = [tx.execute(_NEXT, (endpoint,)).fetchone() for endpoint in endpoints]
    next_deliveries = [_ROWS.value(row) for row in rows if row is not None]
    return min(next_deliveries, key=due_key, default=None)


def due_key(delivery: Delivery) -> DueKey:
    """The place of a pending delivery in the order of all that is due."""
    return delivery.due_at or 0, delivery.sequence


def pending_of_payment(tx: Transaction, payment: int) -> list[Delivery]:
    """A payment's pending deliveries, soonest first."""
    return [_ROWS.value(row) for row in tx.execute(_PENDING_OF_PAYMENT, (payment,))]


def postponed(tx: Transaction, payments: Collection[int]) -> dict[int | None, list[Delivery]]:
    """The deliveries that wait for the next event of each of these payments."""
    by_payment: dict[int | None, list[Delivery]] = {}
    if not payments:
        return by_payment
    for row in tx.execute(_POSTPONED.format(_marks(payments)), tuple(payments)).fetchall():
        delivery = _ROWS.value(row)
        by_payment.setdefault(delivery.payment, []).append(delivery)
    return by_payment


def update(tx: Transaction, delivery: Delivery) -> None:
    """Write the state of a delivery, and when its next attempt is due."""
    tx.execute(_UPDATE, _values_of_update(delivery))


def cancel_all(tx: Transaction, endpoint: int) -> None:
    """Cancel all pending deliveries of an endpoint."""
    tx.execute(_CANCEL_ALL, (endpoint,))


def add_attempt(tx: Transaction, delivery: int, attempt: Attempt) -> int:
    """Write an attempt; returns its number within the delivery."""
    _, *columns = _ATTEMPT_ROWS.row(attempt)
    (number,) = tx.execute(_INSERT_ATTEMPT, (delivery, *columns)).fetchone()
    return int(number)


def attempts(tx: Transaction, positions: Sequence[int]) -> dict[int, list[Attempt]]:
    """The attempts of deliveries, oldest first, by the positions of the deliveries."""
    found: dict[int, list[Attempt]] = {position: [] for position in positions}
    for start in range(0, len(positions), _MAX_DELIVERIES_PER_STATEMENT):
        part = positions[start : start + _MAX_DELIVERIES_PER_STATEMENT]
        for delivery, *row in tx.execute(_ATTEMPTS.format(_marks(part)), part):
            found[delivery].append(_ATTEMPT_ROWS.value(row))
    return found


def newest(
    tx: Transaction,
    owner: int,
    selection: DeliveryFilter,
    *,
    limit: int,
    before: int | None = None,
    is_over: bool = False,
) -> list[Delivery]:
    """An owner's deliveries, newest first; `before` is a position, in place of the filter's.

    With `is_over`, an endpoint has responded to the delivery, or no attempt is left. Raises
    UnknownPayment, UnknownEndpoint.
    """
    rows = _newest(tx, owner, selection, _COLUMNS, limit, before, is_over=is_over)
    return [_ROWS.value(row) for row in rows]


def listed(
    tx: Transaction, owner: int, selection: DeliveryFilter, *, limit: int, before: int | None
) -> list[ListedDelivery]:
    """As `newest`, with what a list shows of each."""
    rows = _newest(tx, owner, selection, _LISTED_COLUMNS, limit, before, is_over=False)
    return [ListedDelivery._make(row) for row in rows]


def _newest(
    tx: Transaction,
    owner: int,
    selection: DeliveryFilter,
    columns: str,
    limit: int,
    before: int | None,
    *,
    is_over: bool,
) -> Iterable[tuple[Any, ...]]:
    first, last = positions_of(owner)
    if before is not None:
        last = before - 1
    payment = endpoint = None
    if selection.payment is not None:
        payment = payments.find(tx, owner, selection.payment).position
    if selection.endpoint is not None:
        endpoint = accounts.endpoint_position(tx, owner, selection.endpoint)
    filters = (endpoint, selection.status, selection.event, is_over, selection.failing)
    values = (first, last, *filters, limit)
    if payment is None:
        return tx.execute(_NEWEST.format(columns=columns, where=_OF_ALL), values)
    return tx.execute(_NEWEST.format(columns=columns, where=_OF_PAYMENT), (*values, payment))


def put_redirect(tx: Transaction, payment: int, moment: RedirectMoment, *, until: Instant) -> None:
    tx.execute(_PUT_REDIRECT, (payment, moment.value, until))


def redirect(tx: Transaction, payment: int) -> tuple[RedirectMoment, Instant] | None:
    """The moment, and the last instant of the wait in real time; None where no rule applied."""
    moment, until = tx.execute(_GET_REDIRECT, (payment,)).fetchone() or (None, 0)
    return None if moment is None else (RedirectMoment(moment), until)


def left_early(tx: Transaction, owner: int) -> set[int]:
    """An owner's payments whose pages have redirected before the completion, by position."""
    return {payment for (payment,) in tx.execute(_LEFT_EARLY, positions_of(owner))}


def is_unattempted(tx: Transaction, payment: int) -> bool:
    """Whether a delivery of the payment's completion waits for its first attempt."""
    (is_unattempted,) = tx.execute(_IS_UNATTEMPTED, (payment,)).fetchone()
    return bool(is_unattempted)


def precedes_response(tx: Transaction, payment_id: str) -> bool:
    """Whether a delivery that comes before the response of a create call was not attempted yet."""
    (is_awaited,) = tx.execute(_PRECEDES_RESPONSE, (payment_id,)).fetchone()
    return bool(is_awaited)


def _marks(values: Collection[object]) -> str:
    return ", ".join("?" * len(values))
