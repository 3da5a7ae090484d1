"""Events of payments, and the actions that caused them.

A payment is the event of its creation; the events table contains the others, and the returns of
payments to `pending`. The actions table contains what the customer and
the control API did to payments, in order.
"""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from emulator.domain.effects import Handset, Outcome, Scripted, Step
from emulator.domain.instants import Instant
from emulator.domain.payment import CREATION, RETURN, Event, NewEvent, Reason, Status
from emulator.server.storage.batch import Transaction, positions_of
from emulator.server.storage.payments import STATUS_WORDS, first_after
from emulator.server.storage.rows import RowMapper

_INSERT = "INSERT INTO events (position, payment, at, type, status, method, reason, completed_at)"
_EVENT_ROWS = RowMapper(Event, expressions={"request_id": "request"})
_COLUMNS = _EVENT_ROWS.columns
# The creation of a payment as an event.
_CREATION = _EVENT_ROWS.select(
    position="first_event",
    payment="position",
    at="created_at",
    type=f"'{CREATION}'",
    status="'pending'",
    method="NULL",
    reason="NULL",
    completed_at="NULL",
)
_CREATIONS = f"SELECT {_CREATION} FROM payments"
_GET = (
    f"SELECT {_COLUMNS} FROM events WHERE position = ?1"
    f" UNION ALL {_CREATIONS} WHERE position = ?2 AND first_event = ?1"
)
_OF_PAYMENT = (
    f"{_CREATIONS} WHERE position = ?1 UNION ALL SELECT {_COLUMNS} FROM events"
    " INDEXED BY events_by_payment WHERE payment = ?1 ORDER BY 1"
)
_NEWEST = (
    f"SELECT * FROM (SELECT {_COLUMNS} FROM events WHERE position BETWEEN ?1 AND ?2"
    f" AND type <> '{RETURN}'"
    f" ORDER BY position DESC LIMIT ?4) UNION ALL SELECT * FROM ({_CREATIONS}"
    " WHERE position BETWEEN ?1 AND ?3 ORDER BY position DESC LIMIT ?4) ORDER BY 1 DESC LIMIT ?4"
)
_ALL = (
    f"SELECT {_COLUMNS} FROM events WHERE position BETWEEN ?1 AND ?2"
    f" UNION ALL {_CREATIONS} WHERE position BETWEEN ?1 AND ?2 ORDER BY 1"
)
_FAILED_ATTEMPTS = (
    "SELECT reason FROM events INDEXED BY events_by_payment"
    f" WHERE payment = ? AND type = '{RETURN}' AND reason IS NOT NULL ORDER BY position"
)
_PUT_ATTEMPT_LIMIT = "INSERT INTO attempt_limits (payment, attempts) VALUES (?, ?)"
_GET_ATTEMPT_LIMIT = "SELECT attempts FROM attempt_limits WHERE payment = ?"
_ATTEMPT_LIMITS = "SELECT payment, attempts FROM attempt_limits WHERE payment BETWEEN ? AND ?"


class _StoredAction(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag=True):
    """What is stored of an action, as JSON; `by_control` where a call of the control API acted."""

    by_control: bool = False


class Paid(_StoredAction, frozen=True):
    """A method was submitted; `phone` is normalised.

    `steps` lead to the outcome that follows; None where the customer answers. `scenario` and
    `number` are of the rule that determined it; the first rule has the number 1.
    """

    method: str
    phone: str | None = None
    bank: str | None = None
    steps: tuple[Step, ...] | None = None
    scenario: str | None = None
    number: int | None = None

    @property
    def outcome(self) -> Outcome:
        return Handset() if self.steps is None else Scripted(steps=self.steps)


class Answered(_StoredAction, frozen=True):
    """A person answered on the phone or at the bank.

    `is_postponed` is whether the payment completes later, after the redirect of its page.
    """

    answer: str
    is_postponed: bool = False


class Cancelled(_StoredAction, frozen=True):
    """The page's cancel button was pressed; `fails` where the payment failed by it."""

    fails: bool = False


class Transitioned(_StoredAction, frozen=True):
    """A status was changed through the control API; what is None was not in the request."""

    status: Status
    method: str | None = None
    reason: Reason | None = None
    unusual: bool = False


PaymentAction = Paid | Answered | Cancelled | Transitioned


class Action(NamedTuple):
    """An action on a payment, such as the submit of a method.

    `event` is the position of the first event that it caused, otherwise of the next event.
    """

    at: Instant
    payment: int
    event: int
    detail: PaymentAction


_ACTION_ROWS = RowMapper(
    Action,
    decode={"detail": msgspec.json.Decoder(PaymentAction).decode},
    encode={"detail": lambda detail: msgspec.json.encode(detail).decode()},
    is_decoded=True,
)
_ACTION_COLUMNS = _ACTION_ROWS.columns
_INSERT_ACTION = f"INSERT INTO actions ({_ACTION_COLUMNS}, position)"
_ACTIONS_OF_PAYMENT = (
    f"SELECT {_ACTION_COLUMNS} FROM actions INDEXED BY actions_by_payment"
    " WHERE payment = ? ORDER BY position"
)
_ACTIONS = f"SELECT {_ACTION_COLUMNS} FROM actions WHERE position BETWEEN ? AND ? ORDER BY position"


def insert(tx: Transaction, owner: int, new_events: Sequence[NewEvent]) -> int:
    """Write events in order; returns the position of the first."""
    first = tx.next_position("events", owner, count=len(new_events))
    tx.insert(
        _INSERT,
        [
            (
                position,
                payment.position,
                at,
                event_type,
                STATUS_WORDS[payment.status],
                payment.method,
                payment.reason,
                payment.completed_at,
            )
            for position, (payment, at, event_type) in enumerate(new_events, start=first)
        ],
    )
    return first


def next_position(tx: Transaction, owner: int) -> int:
    """The position of the owner's next event."""
    return tx.next_position("events", owner, count=0)


def get(tx: Transaction, position: int, payment: int) -> Event:
    """The event of a payment at a position."""
    return _EVENT_ROWS.value(tx.execute(_GET, (position, payment)).fetchone())


def of_payment(tx: Transaction, payment: int) -> list[Event]:
    """A payment's events, oldest first."""
    return [_EVENT_ROWS.value(row) for row in tx.execute(_OF_PAYMENT, (payment,))]


def failed_attempts(tx: Transaction, payment: int) -> list[Reason]:
    """The reasons of a payment's failed attempts after which it was pending again."""
    return [Reason(reason) for (reason,) in tx.execute(_FAILED_ATTEMPTS, (payment,))]


def put_attempt_limit(tx: Transaction, payment: int, attempts: int) -> None:
    tx.execute(_PUT_ATTEMPT_LIMIT, (payment, attempts))


def attempt_limit(tx: Transaction, payment: int) -> int | None:
    """How often the customer may try to pay; None before the first attempt that has failed."""
    row = tx.execute(_GET_ATTEMPT_LIMIT, (payment,)).fetchone()
    (attempts,) = row or (None,)
    return attempts


def attempt_limits(tx: Transaction, owner: int) -> dict[int, int]:
    """The limits of an owner's payments, by position."""
    return dict(tx.execute(_ATTEMPT_LIMITS, positions_of(owner)).fetchall())


def newest(tx: Transaction, owner: int, limit: int, *, before: int | None = None) -> list[Event]:
    """An owner's events, newest first, or those before a position."""
    first, last = positions_of(owner)
    last_created = last
    if before is not None:
        last = before - 1
        last_created = first_after(tx, owner, "first_event", last) - 1
    return [
        _EVENT_ROWS.value(row) for row in tx.execute(_NEWEST, (first, last, last_created, limit))
    ]


def of_owner(tx: Transaction, owner: int) -> list[Event]:
    """All of an owner's events, oldest first."""
    return [_EVENT_ROWS.value(row) for row in tx.execute(_ALL, positions_of(owner))]


def insert_action(tx: Transaction, owner: int, action: Action) -> None:
    tx.insert(_INSERT_ACTION, [(*_ACTION_ROWS.row(action), tx.next_position("actions", owner))])


def actions_of_payment(tx: Transaction, payment: int) -> list[Action]:
    """What was done to a payment, oldest first."""
    return [_ACTION_ROWS.value(row) for row in tx.execute(_ACTIONS_OF_PAYMENT, (payment,))]


def actions_of_owner(tx: Transaction, owner: int) -> list[Action]:
    """All of an owner's actions, oldest first."""
    return [_ACTION_ROWS.value(row) for row in tx.execute(_ACTIONS, positions_of(owner))]
