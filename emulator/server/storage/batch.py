"""Executes units of work in one transaction; a failing unit does not affect the others.

BEGIN and COMMIT cost more than the statements of a small unit, so the units that arrive together
share them. Each unit has a savepoint, because an error may occur after its first statement: it is
rolled back alone. A unit without company needs none. The items of a bulk work are executed first as
one unit, for example creates with one INSERT, and only if that raises, each as its own unit.

Memory follows the database. What a unit changes in memory at once, it registers in `undo`, which is
called in reverse order when the unit or the whole transaction fails. What must not be seen before
the commit, it registers in `after_commit`: the event loop calls these callbacks after the batch,
its reads included, and before any result of the batch is returned. They are called for all units in
their order: a later unit may change what an earlier one has created. The counts of rows are
forgotten after each failure, and read again.

A batch that finds the database locked has changed nothing (Busy), and is executed again on the
thread that may wait. Any other error of the transaction fails all its units.
"""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from itertools import chain
from traceback import walk_tb
from typing import Any

import msgspec

ORDINAL_BITS = 40
LAST_ORDINAL = (1 << ORDINAL_BITS) - 1

_BEGIN = "BEGIN IMMEDIATE"
_COMMIT = "COMMIT"
_ROLLBACK = "ROLLBACK"
_SAVEPOINT = "SAVEPOINT work"
_RELEASE = "RELEASE work"
_ROLLBACK_TO = "ROLLBACK TO work"
_LAST_ORDINAL = {
    table: f"SELECT max(position) FROM {table} WHERE position BETWEEN ? AND ?"
    for table in ("payments", "endpoints", "deliveries", "actions")
} | {
    # The row of a payment is also the event of its creation.
    "events": "SELECT max(coalesce((SELECT max(position) FROM events WHERE position BETWEEN ?1 AND"
    " ?2), 0), coalesce((SELECT first_event FROM payments WHERE position BETWEEN ?1 AND ?2"
    " ORDER BY position DESC LIMIT 1), 0))"
}
_TIMERS = "timers"
_LAST_TIMER = (
    "SELECT max(sequence) FROM (SELECT sequence FROM timers"
    " UNION ALL SELECT expiry_timer FROM payments INDEXED BY payments_by_expiry"
    " WHERE status = 'pending'"
    " UNION ALL SELECT sequence FROM deliveries WHERE due_at IS NOT NULL)"
)
_MAX_ROWS_PER_STATEMENT = 100
_NO_ITEM: Any = object()
_PACKAGE = __name__.rpartition(".")[0]


def first_position(owner: int) -> int:
    return owner << ORDINAL_BITS


def positions_of(owner: int) -> tuple[int, int]:
    """The first and the last position of an owner's rows."""
    first = owner << ORDINAL_BITS
    return first, first | LAST_ORDINAL


def positions_of_account(account: int) -> tuple[int, int]:
    """As `positions_of`, for both owners of an account: their positions are neighbours."""
    return positions_of(account * 2)[0], positions_of(account * 2 + 1)[1]


class Transaction:
    """The transaction of a unit of work: statements, positions and callbacks.

    A change in memory (a cache, a clock) is made by a callback in `after_commit`, or at once with
    a callback in `undo` that reverts it.
    """

    __slots__ = ("_ordinals", "after_commit", "execute", "undo")

    def __init__(self, connection: sqlite3.Connection, ordinals: dict[Any, int]) -> None:
        self.execute = connection.execute
        self.after_commit: list[Callable[[], None]] = []
        self.undo: list[Callable[[], object]] = []
        self._ordinals = ordinals

    def set(self, target: object, name: str, value: object) -> None:
        """Set an attribute; it is reverted if the transaction fails."""
        self.undo.append(partial(setattr, target, name, getattr(target, name)))
        setattr(target, name, value)

    def insert(self, head: str, rows: Sequence[Sequence[Any]]) -> None:
        """Insert rows of equal width, many in one statement."""
        width = len(rows[0])
        for start in range(0, len(rows), _MAX_ROWS_PER_STATEMENT):
            part = rows[start : start + _MAX_ROWS_PER_STATEMENT]
            self.execute(_insert(head, width, len(part)), list(chain.from_iterable(part)))

    def next_position(self, table: str, owner: int, *, count: int = 1) -> int:
        """The first position of the owner's next `count` rows in a table."""
        key = (table, owner)
        last = self._ordinals.get(key)
        if last is None:
            (last,) = self.execute(_LAST_ORDINAL[table], positions_of(owner)).fetchone()
            last = last or first_position(owner)
        self._ordinals[key] = last + count
        return last + 1

    def row_count(self, table: str, owner: int) -> int:
        """How many rows an owner has, without reading them."""
        return self.next_position(table, owner, count=0) - first_position(owner) - 1

    def next_timer(self) -> int:
        """The sequence of the next timer or delivery; both share one order."""
        last = self._ordinals.get(_TIMERS)
        if last is None:
            (last,) = self.execute(_LAST_TIMER).fetchone()
            last = last or 0
        self._ordinals[_TIMERS] = last + 1
        return last + 1

    def pass_timer(self, sequence: int) -> None:
        """Use only sequences after this one from now on; it may not be stored."""
        self._ordinals[_TIMERS] = max(self.next_timer(), sequence)

    def forget_ordinals(self) -> None:
        """Count rows again, after an account's rows were removed or restored."""
        _forget(self._ordinals)


@cache
def _insert(head: str, width: int, rows: int) -> str:
    row = f"({', '.join('?' * width)})"
    return f"{head} VALUES {', '.join([row] * rows)}"


def _forget(ordinals: dict[Any, int]) -> None:
    """Discard the counts of rows, but not the last sequence of timers.

    A gap in the sequence is harmless, and counting the timers reads each of them.
    """
    timers = ordinals.get(_TIMERS)
    ordinals.clear()
    if timers is not None:
        ordinals[_TIMERS] = timers


class Job(msgspec.Struct, eq=False):
    """One unit of work: a read, a write, or an item of a bulk write."""

    work: Callable[..., Any]
    writes: bool
    item: Any = _NO_ITEM
    is_long: bool = False
    result: Any = None
    error: BaseException | None = None

    @property
    def is_bulk(self) -> bool:
        return self.item is not _NO_ITEM

    def settle(self, result: Any) -> None:
        """Set the result or the error that the bulk work returned for this item."""
        if isinstance(result, Exception):
            self.error = result
        else:
            self.result = result

    def attempt(self, transaction: Transaction) -> None:
        try:
            if self.is_bulk:
                (result,) = self.work(transaction, (self.item,))
                self.settle(result)
            else:
                self.result = self.work(transaction)
        except Exception as error:  # noqa: BLE001 - raised in the caller
            self.error = error


class Busy(sqlite3.OperationalError):
    """Another program has locked the database; nothing of the batch has been executed."""


class DamagedDatabase(sqlite3.DatabaseError):
    """The database file is damaged; the message is one line with the reason."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the database is damaged: {reason}")
        self.reason = reason


_NO_SPACE = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE)


def lacks_space(error: BaseException) -> bool:
    """Whether a full disk caused an error, whatever its message."""
    return getattr(error, "sqlite_errorcode", None) in _NO_SPACE


def reason_of(error: BaseException) -> str:
    """Why the database cannot be used, for the user: SQLite has several words for a full disk."""
    return "database or disk is full" if lacks_space(error) else str(error)


def is_of_file(error: BaseException | None) -> bool:
    """Whether an error is one of the database file, such as a full disk, and not one in SQL."""
    is_in_sql = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_ERROR
    is_operational = isinstance(error, sqlite3.OperationalError) and not is_in_sql
    return is_operational or isinstance(error, DamagedDatabase)


_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_DECODING_ERRORS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
# The modules that execute units of work, for all others.
_EXECUTORS = {__name__, f"{_PACKAGE}.database"}


def damage_of(error: BaseException) -> DamagedDatabase | None:
    """The damage of a database file that an error of a unit of work shows; None if it shows none.

    SQLite notices some damage. Other damage is a row that cannot be decoded: each value was checked
    before it was written, and requests are decoded before their units of work. So damage is each
    error of msgspec, and an error of decoding in a module of tables or in what that module calls.
    The same error in another module of the server is a defect of the program.
    """
    if isinstance(error, sqlite3.DatabaseError):
        code, message = getattr(error, "sqlite_errorcode", 0) & 0xFF, str(error)
        is_damage = code in _DAMAGE or message.startswith(("Could not decode", "malformed JSON"))
        return DamagedDatabase(message) if is_damage else None
    modules = [frame.f_globals["__name__"] for frame, _ in walk_tb(error.__traceback__)]
    of_server = [name for name in modules if name.startswith("emulator.server.")]
    *_, last = ["", *(name for name in of_server if name not in _EXECUTORS)]
    is_decoding = isinstance(error, _DECODING_ERRORS) and last.startswith(_PACKAGE)
    if is_decoding or isinstance(error, UnicodeDecodeError | msgspec.MsgspecError):
        return DamagedDatabase(f"{error!r} in {last.rpartition('.')[2]}")
    return None


class Batch:
    """Executes jobs: the writes in one transaction, then the reads."""

    def __init__(self, connection: sqlite3.Connection, ordinals: dict[Any, int]) -> None:
        self._connection = connection
        self._ordinals = ordinals
        self._done: list[Transaction] = []
        self._is_alone = False
        self._changes_before = 0

    def perform(self, jobs: Sequence[Job]) -> list[Callable[[], None]]:
        """Set each job's result or error; returns the callbacks of the commit. Raises Busy."""
        writes = [job for job in jobs if job.writes]
        if writes:
            self._write(writes)
        for job in jobs:
            if not job.writes:
                job.attempt(Transaction(self._connection, self._ordinals))
        return [callback for committed in self._done for callback in committed.after_commit]

    def _write(self, jobs: list[Job]) -> None:
        try:
            self._begin_immediate()
            groups = _grouped(jobs) if len(jobs) > 1 else [jobs]
            # A single unit needs no savepoint, which costs as much as a row.
            self._is_alone = len(groups) == 1
            for group in groups:
                if len(group) == 1 or not self._write_bulk(group):
                    for job in group:
                        transaction = self._open()
                        job.attempt(transaction)
                        self._close(transaction, job.error)
            self._connection.execute(_COMMIT)
        except Busy:
            raise
        except sqlite3.Error as error:
            self._fail(jobs, error)

    def _begin_immediate(self) -> None:
        try:
            self._connection.execute(_BEGIN)
        except sqlite3.OperationalError as error:
            # Only the low byte: there are several codes for a busy database.
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            raise Busy(str(error)) from None

    def _fail(self, jobs: list[Job], error: sqlite3.Error) -> None:
        """Roll back the whole transaction; every job fails."""
        if self._connection.in_transaction:
            self._connection.execute(_ROLLBACK)
        for transaction in reversed(self._done):
            self._undo(transaction)
        self._done.clear()
        for job in jobs:
            job.error = error

    def _write_bulk(self, group: list[Job]) -> bool:
        """Execute a bulk work for all its items; returns whether it succeeded."""
        transaction = self._open()
        try:
            results = group[0].work(transaction, [job.item for job in group])
        except Exception as error:  # noqa: BLE001 - raised again for each item alone
            self._close(transaction, error)
            self._is_alone = False
            return False
        for job, result in zip(group, results, strict=True):
            job.settle(result)
        self._close(transaction, None)
        return True

    def _open(self) -> Transaction:
        if not self._is_alone:
            self._connection.execute(_SAVEPOINT)
        self._changes_before = self._connection.total_changes
        return Transaction(self._connection, self._ordinals)

    def _close(self, transaction: Transaction, error: BaseException | None) -> None:
        connection = self._connection
        if error is not None:
            self._undo(transaction)
            # Where a disk is full, SQLite may have rolled back all work.
            if not connection.in_transaction or lacks_space(error):
                raise error
            if connection.total_changes != self._changes_before:
                if self._is_alone:
                    connection.execute(_ROLLBACK)
                    connection.execute(_BEGIN)
                else:
                    connection.execute(_ROLLBACK_TO)
        else:
            self._done.append(transaction)
        if not self._is_alone:
            connection.execute(_RELEASE)

    def _undo(self, transaction: Transaction) -> None:
        for callback in reversed(transaction.undo):
            callback()
        _forget(self._ordinals)


def _grouped(jobs: Iterable[Job]) -> list[list[Job]]:
    """The jobs in order, with all items of a bulk work at the place of the first."""
    groups: list[list[Job]] = []
    bulks: dict[Callable[..., Any], list[Job]] = {}
    for job in jobs:
        if not job.is_bulk:
            groups.append([job])
        elif job.work in bulks:
            bulks[job.work].append(job)
        else:
            bulks[job.work] = [job]
            groups.append(bulks[job.work])
    return groups
