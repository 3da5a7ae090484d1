"""Opens the database and executes units of work on its only connection."""

import asyncio
import logging
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import aiosqlite

from emulator.domain.errors import NotReady
from emulator.domain.user_error import UserError
from emulator.server.storage.batch import (
    Batch,
    Busy,
    Job,
    Transaction,
    damage_of,
    first_position,
    reason_of,
)
from emulator.server.storage.database_file import FileLock, WriteAheadLog, create_schema, damaged

Item = TypeVar("Item")
P = ParamSpec("P")
T = TypeVar("T")
Work = Callable[[Transaction], T]
Bulk = Callable[[Transaction, Sequence[Item]], Sequence[T | Exception]]

_Waiting = list[tuple[Job, "asyncio.Future[Any]"]]

MEMORY = ":memory:"
BUSY_TIMEOUT_MS = 2_000
# Half a millisecond.
MAX_FEW_ROWS = 2_000
CACHED_STATEMENTS = 512

_BUSY_TIMEOUT = "PRAGMA busy_timeout = {}"
# In a file, a small payment writes half as much log as with pages of 4 kB; in memory, large pages
# waste less.
_SMALL_PAGES = "PRAGMA page_size = 2048"
_LARGE_PAGES = "PRAGMA page_size = 8192"

logger = logging.getLogger(__name__)


class DatabaseLost(Exception):
    """The database file was deleted or replaced while it was open: later writes are lost."""


class _Connection(sqlite3.Connection):
    """A connection that executes a unit of work where aiosqlite, on its thread, passes a script.

    The change of threads is most of the cost of a small transaction, so it is made once for a
    batch, not once for a statement. aiosqlite has no other public call that takes a function.
    """

    def executescript(self, script: Any) -> sqlite3.Cursor:
        if not callable(script):
            return super().executescript(script)
        script()
        return self.cursor()


class Database:
    """One writer on one connection; an async context manager.

    Units of work that arrive together share one transaction, each in a savepoint: a failing unit
    does not affect the others. Reads of the same batch see the committed state. Results are
    returned only after COMMIT, so what is acknowledged survives the end of the process.

    A batch of short work is executed on the event loop, at the end of the turn in which it was
    submitted: a COMMIT waits for no disk here, and changing to a thread and back costs more than
    the batch. Work that is declared long, and work that finds the database locked by another
    program or the log at its limit, is executed on the thread.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._loop = asyncio.get_running_loop()
        self._waiting: _Waiting = []
        self._is_busy = False
        # Of the last batch, until its results are delivered.
        self._callbacks: list[Callable[[], None]] = []
        self._is_open = False
        self._is_lost = False
        # Whether the last result was an error of SQLite, for example of an overwritten file.
        self.is_failing = False
        self._ordinals: dict[Any, int] = {}
        self._connection: aiosqlite.Connection
        self._raw: sqlite3.Connection
        self._lock: FileLock | None = None
        self._log: WriteAheadLog | None = None
        self._checkpoint_due = asyncio.Event()
        self._checkpointer: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "Database":
        """Open and lock the file. Raises UserError with one clear sentence."""
        if self._path != MEMORY:
            self._lock = FileLock(self._path)
        try:
            await self._open()
        # UnicodeDecodeError: a message of SQLite can have bytes of the file.
        except (sqlite3.Error, UnicodeDecodeError) as error:
            self._release_lock()
            if damage_of(error) is not None:
                raise damaged(self._path, error) from None
            raise UserError(f"cannot open the database {self._path}: {reason_of(error)}") from None
        except UserError:
            self._release_lock()
            raise
        self._is_open = True
        if self._log is not None:
            self._checkpointer = asyncio.create_task(self._checkpoint(self._log))
        return self

    async def _open(self) -> None:
        self._connection = aiosqlite.Connection(self._connect, iter_chunk_size=64)
        await self._connection
        try:
            await self._execute_on_thread(self._prepare)
        except BaseException:
            await self._close()
            raise

    async def _close(self) -> None:
        if self._log is not None:
            self._log.close()
        await self._connection.close()

    async def __aexit__(self, *_: object) -> None:
        """Close, after the work in progress has been committed."""
        self._is_open = False
        for _job, future in self._waiting:
            future.cancel()
        self._waiting.clear()
        if self._checkpointer is not None:
            self._checkpoint_due.set()
            await asyncio.wait([self._checkpointer])
        await self._close()
        self._release_lock()

    def _release_lock(self) -> None:
        if self._lock is not None:
            self._lock.release()

    async def _execute_on_thread(self, function: Callable[[], None]) -> None:
        work: Any = function
        await self._connection.executescript(work)

    def _connect(self) -> sqlite3.Connection:
        self._raw = _Connection(
            self._path,
            timeout=0,
            isolation_level=None,
            cached_statements=CACHED_STATEMENTS,
            check_same_thread=False,  # two threads use it, one at a time
        )
        return self._raw

    def _prepare(self) -> None:
        connection = self._raw
        connection.execute(_LARGE_PAGES if self._path == MEMORY else _SMALL_PAGES)
        connection.execute("PRAGMA temp_store = MEMORY")
        # Some builds of SQLite write zeros over all that is deleted, which takes most of a reset.
        connection.execute("PRAGMA secure_delete = OFF")
        if self._path != MEMORY:
            # Enough for `kill -9`: the operating system has the log when COMMIT returns.
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA wal_autocheckpoint = 0")
        if self._lock is not None:
            self._log = WriteAheadLog(connection, self._path)
            if self._log.size_bytes:  # The last process was killed.
                self._log.empty()
        create_schema(connection, self._path)

    def write(self, work: Work[T], *, is_long: bool = False) -> "asyncio.Future[T]":
        """Execute a unit of work in a transaction and return its result after the commit.

        Its exceptions are raised here, after a rollback of the unit.
        """
        return self._submit(Job(work, writes=True, is_long=is_long))

    def write_bulk(self, bulk: Bulk[Item, T], item: Item) -> "asyncio.Future[T]":
        """As `write`, for work that is cheaper for several items at once.

        `bulk` returns a result or an exception for each item, in order; for an exception it must
        have written nothing. If `bulk` raises, it is called again for each item alone.
        """
        return self._submit(Job(bulk, writes=True, item=item))

    def read(self, work: Work[T], *, is_long: bool = False) -> "asyncio.Future[T]":
        """Execute a query on the committed state.

        It waits for the end of the turn, too: executed at once, simultaneous requests would no
        longer share the turns of the loop, and would cost a fifth more.
        """
        return self._submit(Job(work, writes=False, is_long=is_long))

    def _submit(self, job: Job) -> "asyncio.Future[Any]":
        if not self._is_open:
            raise NotReady
        if self._is_lost:
            raise DatabaseLost
        future: asyncio.Future[Any] = self._loop.create_future()
        self._waiting.append((job, future))
        if not self._is_busy:
            self._is_busy = True
            self._loop.call_soon(self._start_when_complete, 1)
        return future

    def _start_when_complete(self, expected: int) -> None:
        """Start after the first turn of the loop in which no further work has arrived."""
        arrived = len(self._waiting)
        if arrived > expected:
            self._loop.call_soon(self._start_when_complete, arrived)
        elif self._is_open:
            self._start()

    def _start(self) -> None:
        waiting, self._waiting = self._waiting, []
        jobs = [job for job, _ in waiting]
        is_long = self._log is not None and self._log.is_full
        for job in jobs:
            is_long = is_long or job.is_long
        if not is_long:
            try:
                self._perform(jobs)
            except Busy:
                is_long = True
        if is_long:
            perform = partial(self._perform_on_thread, jobs)
            performing = asyncio.create_task(self._execute_on_thread(perform))
            performing.add_done_callback(lambda _: self._deliver(waiting))
        else:
            self._deliver(waiting)

    def _perform(self, jobs: list[Job]) -> None:
        """Execute jobs; after a failure each one has an error, so that no caller waits for ever.

        Raises Busy.
        """
        try:
            self._callbacks = Batch(self._raw, self._ordinals).perform(jobs)
        except Busy:
            raise
        except Exception as error:  # noqa: BLE001 - raised in the callers
            _fail(jobs, error)

    def _perform_on_thread(self, jobs: list[Job]) -> None:
        """Execute jobs, also those that wait for a lock, or for the end of the log."""
        self._raw.execute(_BUSY_TIMEOUT.format(BUSY_TIMEOUT_MS))
        try:
            if self._log is not None and self._log.is_full:
                self._log.empty()
            self._perform(jobs)
        except Busy as error:
            _fail(jobs, error)
        finally:
            jobs.clear()  # The thread refers to them until its next work.
            self._raw.execute(_BUSY_TIMEOUT.format(0))

    def _deliver(self, waiting: _Waiting) -> None:
        callbacks, self._callbacks = self._callbacks, []
        try:
            for callback in callbacks:
                callback()
        except Exception as failure:  # noqa: BLE001 - raised in the callers
            _fail([job for job, _ in waiting], failure)
        for job, future in waiting:
            if future.done():  # The caller was cancelled.
                continue
            if self._is_lost:
                future.set_exception(DatabaseLost())
            elif job.error is None:
                self.is_failing = False
                future.set_result(job.result)
            else:
                # A database in memory cannot be damaged.
                damage = None if self._log is None else damage_of(job.error)
                error = damage or job.error
                self.is_failing = isinstance(error, sqlite3.Error)
                future.set_exception(error)
        self._is_busy = bool(self._waiting)
        if self._is_busy:
            self._loop.call_soon(self._start_when_complete, len(self._waiting))
        if self._log is not None and self._log.begin_copy():
            self._checkpoint_due.set()

    async def _checkpoint(self, log: WriteAheadLog) -> None:
        """Copy the log into the database file, until the database is closed."""
        while True:
            await self._checkpoint_due.wait()
            self._checkpoint_due.clear()
            # Another connection to the path would mix the two files.
            if not self._is_open or not self.check_file():
                return
            await asyncio.to_thread(log.copy)

    def has_few(self, table: str, owner: int) -> bool:
        """Whether an owner is known to have so few rows in a table that reading them is short."""
        last = self._ordinals.get((table, owner))
        return last is not None and last - first_position(owner) < MAX_FEW_ROWS

    @property
    def changes(self) -> int:
        """The number of rows that were written since the start."""
        return self._raw.total_changes

    def check_file(self) -> bool:
        """Whether the path still names the open file; after the first failure all work fails.

        It reads the directory twice: call it once a second, not for each request of `/v1`.
        """
        if self._lock is None or self._log is None or self._is_lost or not self._is_open:
            return not self._is_lost
        if self._lock.is_at_path() and self._log.exists():
            return True
        self._is_lost = True
        logger.error(
            "the database file %s was deleted or replaced: what needs it gets status 500;"
            " restart the emulator",
            self._path,
        )
        return False


class _HasDatabase(Protocol):
    @property
    def _database(self) -> Database: ...


S = TypeVar("S", bound=_HasDatabase)
# A method with the transaction as its first argument, and the awaitable method without it.
_Operation = Callable[Concatenate[S, Transaction, P], T]
_Awaitable = Callable[Concatenate[S, P], Awaitable[T]]


def writes(*, is_long: bool = False) -> Callable[[_Operation[S, P, T]], _Awaitable[S, P, T]]:
    """Makes an operation an awaitable method, executed as `Database.write` does."""
    return lambda operation: _awaitable(operation, Database.write, is_long)


def reads(
    *, is_long: bool = False, scans: str = ""
) -> Callable[[_Operation[S, P, T]], _Awaitable[S, P, T]]:
    """Makes a query an awaitable method, executed as `Database.read` does.

    With `scans`, it reads all rows that an owner, its first argument, has in a table: it is long
    unless these are few.
    """
    return lambda query: _awaitable(query, Database.read, is_long, scans)


def _awaitable(
    operation: _Operation[S, P, T],
    submit: Callable[..., Awaitable[T]],
    is_long: bool,
    scans: str = "",
) -> _Awaitable[S, P, T]:
    @wraps(operation)
    def execute(self: S, /, *args: P.args, **kwargs: P.kwargs) -> Awaitable[T]:
        owner: Any = args[0] if scans else None
        return submit(
            self._database,
            lambda tx: operation(self, tx, *args, **kwargs),
            is_long=is_long or (scans != "" and not self._database.has_few(scans, owner.number)),
        )

    return execute


def _fail(jobs: list[Job], error: Exception) -> None:
    for job in jobs:
        job.error = job.error or error
