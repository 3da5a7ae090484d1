"""The one connection: who may write when, what shares a commit, and what is safe after it."""

import asyncio
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import aiosqlite

from emulator.storage.lock import FileLock
from emulator.storage.migrations import UnusableDatabase, migrate

T = TypeVar("T")

MEMORY = ":memory:"
BUSY_TIMEOUT_S = 2.0
# Rows changed between two checkpoints: about 4 MB of log.
CHECKPOINT_AFTER_CHANGES = 8_000
LARGEST_LOG_BYTES = 64 * 1024 * 1024

_BEGIN = "BEGIN IMMEDIATE"
_COMMIT = "COMMIT"
_ROLLBACK = "ROLLBACK"
_SAVEPOINT = "SAVEPOINT work"
_RELEASE = "RELEASE work"
_ROLLBACK_TO = "ROLLBACK TO work"
_OPTIMIZE = "PRAGMA optimize"
_CHECKPOINT = "PRAGMA wal_checkpoint(PASSIVE)"
_RESTART_LOG = "PRAGMA wal_checkpoint(TRUNCATE)"
_LAST_ORDINAL = {
    "payments": "SELECT max(position) FROM payments WHERE position BETWEEN ? AND ?",
    "events": "SELECT max(position) FROM events WHERE position BETWEEN ? AND ?",
}
_LAST_TIMER = "SELECT max(sequence) FROM timers"

ORDINAL_BITS = 40
LAST_ORDINAL = (1 << ORDINAL_BITS) - 1


def first_position(owner: int) -> int:
    return owner << ORDINAL_BITS


def last_position(owner: int) -> int:
    return owner << ORDINAL_BITS | LAST_ORDINAL


class Transaction:
    """What a unit of work is given: statements, ordinals, and a say in what happens after.

    It lives on the storage thread. Whatever it promises to memory (a cache, a clock) it
    announces through `after_commit`, or does at once and names the remedy in `undo`.
    """

    __slots__ = ("_ordinals", "after_commit", "execute", "executemany", "undo")

    def __init__(self, connection: sqlite3.Connection, ordinals: dict[Any, int]) -> None:
        self.execute = connection.execute
        self.executemany = connection.executemany
        self.after_commit: list[Callable[[], None]] = []
        self.undo: list[Callable[[], None]] = []
        self._ordinals = ordinals

    def next_position(self, table: str, owner: int) -> int:
        """The position of the owner's next row in `payments` or `events`."""
        key = (table, owner)
        last = self._ordinals.get(key)
        if last is None:
            bounds = (first_position(owner), last_position(owner))
            last = self.execute(_LAST_ORDINAL[table], bounds).fetchone()[0] or bounds[0]
        self._ordinals[key] = last + 1
        return last + 1

    def next_timer(self) -> int:
        """The sequence of the next timer."""
        last = self._ordinals.get("timers")
        if last is None:
            last = self.execute(_LAST_TIMER).fetchone()[0] or 0
        self._ordinals["timers"] = last + 1
        return last + 1

    def forget_ordinals(self) -> None:
        """Count again, after rows were removed or restored wholesale."""
        self._ordinals.clear()


Work = Callable[[Transaction], T]


@dataclass(slots=True)
class _Job:
    work: Callable[[Transaction], Any]
    future: "asyncio.Future[Any]"
    writes: bool
    result: Any = None
    error: BaseException | None = None


class _Connection(aiosqlite.Connection):
    """An aiosqlite connection whose thread can be given a whole unit of work.

    The hop to the thread is most of what a small transaction costs, so it is made once a unit
    instead of once a statement.
    """

    async def run(self, function: Callable[..., T], *arguments: Any) -> T:
        result: T = await self._execute(function, *arguments)  # type: ignore[no-untyped-call]
        return result

    @property
    def raw(self) -> sqlite3.Connection:
        return self._conn


class Database:
    """One writer, on a thread of its own; an async context manager.

    Units of work that arrive while the thread is busy share one transaction, each in a savepoint:
    one that fails takes no neighbour along. Reads of the same batch see it committed. A result is
    handed over only after COMMIT, so what is acknowledged survives the end of the process.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._jobs: list[_Job] = []
        self._arrived = asyncio.Event()
        self._checkpoint_due = asyncio.Event()
        self._changes_at_checkpoint = 0
        self._ordinals: dict[Any, int] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._connection: _Connection
        self._lock: FileLock | None = None
        self._is_open = False

    async def __aenter__(self) -> "Database":
        """Open, lock and migrate. Raises UnusableDatabase with one clear sentence."""
        if self._path != MEMORY:
            self._lock = FileLock(self._path)
        try:
            connection = _Connection(self._connect, iter_chunk_size=64)
            await connection
            self._connection = connection
            try:
                await self._connection.run(migrate, self._connection.raw, self._path)
            except BaseException:
                await self._connection.close()
                raise
        except sqlite3.Error as error:
            self._release_lock()
            raise UnusableDatabase(f"cannot open the database {self._path}: {error}") from None
        except UnusableDatabase:
            self._release_lock()
            raise
        self._is_open = True
        self._tasks.append(asyncio.create_task(self._serve()))
        if self._path != MEMORY:
            self._tasks.append(asyncio.create_task(self._checkpoint()))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._is_open = False
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for job in self._jobs:
            job.future.cancel()
        await self._connection.close()
        self._release_lock()

    def _release_lock(self) -> None:
        if self._lock is not None:
            self._lock.release()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=BUSY_TIMEOUT_S, isolation_level=None)
        if self._path != MEMORY:
            connection.execute("PRAGMA journal_mode = WAL")
            # Enough for `kill -9`: the log is in the system's hands when COMMIT returns.
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA wal_autocheckpoint = 0")
        return connection

    async def write(self, work: Work[T]) -> T:
        """Do a unit of work in a transaction and return its result once it is committed.

        What it raises is raised here, with nothing of it done.
        """
        return await self._submit(work, writes=True)

    async def read(self, work: Work[T]) -> T:
        """Answer a question from what is committed."""
        return await self._submit(work, writes=False)

    async def _submit(self, work: Work[T], *, writes: bool) -> T:
        if not self._is_open:
            raise sqlite3.ProgrammingError("the database is closed")
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._jobs.append(_Job(work, future, writes))
        self._arrived.set()
        return await future

    async def _serve(self) -> None:
        raw = self._connection.raw
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            jobs, self._jobs = self._jobs, []
            changes = await self._connection.run(self._perform, raw, jobs)
            for job in jobs:
                if job.future.done():  # its caller has gone away
                    continue
                if job.error is None:
                    job.future.set_result(job.result)
                else:
                    job.future.set_exception(job.error)
            if changes - self._changes_at_checkpoint > CHECKPOINT_AFTER_CHANGES:
                self._changes_at_checkpoint = changes
                self._checkpoint_due.set()

    def _perform(self, connection: sqlite3.Connection, jobs: list[_Job]) -> int:
        writes = [job for job in jobs if job.writes]
        if writes:
            self._write_together(connection, writes)
        for job in jobs:
            if not job.writes:
                _attempt(job, Transaction(connection, self._ordinals))
        return connection.total_changes

    def _write_together(self, connection: sqlite3.Connection, jobs: list[_Job]) -> None:
        transactions: list[Transaction] = []
        try:
            connection.execute(_BEGIN)
            for job in jobs:
                transactions.append(self._write_one(connection, job))
            connection.execute(_COMMIT)
        except sqlite3.Error as error:
            if connection.in_transaction:
                connection.execute(_ROLLBACK)
            self._revoke(transactions)
            for job in jobs:
                job.error = error
            return
        for transaction in transactions:
            for announce in transaction.after_commit:
                announce()

    def _write_one(self, connection: sqlite3.Connection, job: _Job) -> Transaction:
        transaction = Transaction(connection, self._ordinals)
        before = connection.total_changes
        connection.execute(_SAVEPOINT)
        _attempt(job, transaction)
        if job.error is not None:
            if connection.total_changes != before:
                connection.execute(_ROLLBACK_TO)
            self._revoke([transaction])
            transaction.after_commit.clear()
            transaction.undo.clear()
        connection.execute(_RELEASE)
        return transaction

    def _revoke(self, transactions: list[Transaction]) -> None:
        for transaction in reversed(transactions):
            for remedy in reversed(transaction.undo):
                remedy()
        self._ordinals.clear()

    async def _checkpoint(self) -> None:
        """Copy the log into the database on a connection of its own, off the path of requests."""
        async with aiosqlite.connect(self._path, isolation_level=None) as connection:
            while True:
                await self._checkpoint_due.wait()
                self._checkpoint_due.clear()
                await connection.execute_fetchall(_CHECKPOINT)
                if self._log_bytes() > LARGEST_LOG_BYTES:
                    # Under a load without pause the log is never wholly copied; stop it once.
                    await self._connection.execute_fetchall(_RESTART_LOG)

    def _log_bytes(self) -> int:
        log = Path(f"{self._path}-wal")
        return log.stat().st_size if log.exists() else 0


def _attempt(job: _Job, transaction: Transaction) -> None:
    try:
        job.result = job.work(transaction)
    except Exception as error:  # noqa: BLE001 - handed to whoever asked for the work
        job.error = error
