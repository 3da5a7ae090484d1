"""How a row of `payments` or `events` becomes a value."""

from functools import lru_cache
from typing import Any

from emulator.domain.payment import Event, Payment, Reason, Status

STATUSES = {status.value: status for status in Status}
REASONS: dict[str | None, Reason | None] = {reason.value: reason for reason in Reason} | {
    None: None
}

# A plain string is bound faster than an enum's member, which is asked to adapt itself.
STATUS_WORDS = {status: status.value for status in Status}

PAYMENT_COLUMNS = (
    "position, id, amount_minor, methods, terms, created_at, expires_at,"
    " status, method, reason, completed_at, phone, bank"
)
EVENT_COLUMNS = "position, payment, at, status, method, reason, completed_at"


@lru_cache(maxsize=256)
def methods_of_text(text: str) -> tuple[str, ...]:
    """One tuple for all payments that offer the same."""
    return tuple(text.split(","))


def payment_of_row(row: tuple[Any, ...]) -> Payment:
    """The payment in the first columns of a row, in the order of PAYMENT_COLUMNS.

    By position, which is the order of its fields too: by name it would take twice as long.
    """
    return Payment(
        row[0],
        row[1],
        row[2],
        methods_of_text(row[3]),
        row[4],
        row[5],
        row[6],
        STATUSES[row[7]],
        row[8],
        REASONS[row[9]],
        row[10],
        row[11],
        row[12],
    )


def event_of_row(row: tuple[Any, ...]) -> Event:
    return Event(
        position=row[0],
        payment=row[1],
        at=row[2],
        status=STATUSES[row[3]],
        method=row[4],
        reason=REASONS[row[5]],
        completed_at=row[6],
    )
