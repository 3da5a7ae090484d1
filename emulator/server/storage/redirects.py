"""The redirects table: when the pages of completed payments redirect, by rules of scenarios."""

from emulator.domain.instants import Instant
from emulator.domain.outcomes import RedirectMoment
from emulator.server.storage.batch import Transaction

_PUT = "INSERT OR REPLACE INTO redirects (payment, moment, until) VALUES (?, ?, ?)"
_GET = "SELECT moment, until FROM redirects WHERE payment = ?"
_IS_UNATTEMPTED = (
    "SELECT EXISTS (SELECT 1 FROM deliveries INDEXED BY deliveries_by_payment WHERE payment = ?1"
    " AND state = 'pending' AND attempts = 0 AND event IN (SELECT position FROM events"
    " WHERE payment = ?1 AND status = 'completed'))"
)


def put(tx: Transaction, payment: int, moment: RedirectMoment, *, until: Instant) -> None:
    tx.execute(_PUT, (payment, moment.value, until))


def get(tx: Transaction, payment: int) -> tuple[RedirectMoment, Instant] | None:
    """The moment, and the last instant of the wait in real time; None where no rule applied."""
    row = tx.execute(_GET, (payment,)).fetchone()
    return None if row is None else (RedirectMoment(row[0]), row[1])


def is_unattempted(tx: Transaction, payment: int) -> bool:
    """Whether a delivery of the payment's completion waits for its first attempt."""
    return bool(tx.execute(_IS_UNATTEMPTED, (payment,)).fetchone()[0])
