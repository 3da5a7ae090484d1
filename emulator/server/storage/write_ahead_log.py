"""Bounds the write-ahead log of a database file, and reserves the disk space to copy it.

SQLite appends each commit to the log, and can reuse the log only after a copy of all of it. A copy
in the background never reaches the last commit under a steady load, so writes wait for a copy when
the log is at its limit. A copy needs no free space: the pages that a commit adds are allocated in
the database file before the commit. So a copy frees the space of the log also when a disk is full.
"""

import logging
import sqlite3
from contextlib import closing
from pathlib import Path
from threading import Lock

from emulator.server.storage.batch import NoSpace
from emulator.server.storage.database_file import FileLock

# From this size on the log is copied in the background. A log that is written again from its
# beginning keeps this size: writing over a file costs less than writing at its end.
COPY_AFTER_BYTES = 20 * 1024 * 1024
MAX_LOG_BYTES = 28 * 1024 * 1024
# Free space in the file for the rows that change between two measurements, of 64 KiB each.
RESERVED_BYTES = 1024 * 1024
CHANGES_BETWEEN_MEASUREMENTS = 16
ALLOCATED_AT_ONCE_BYTES = 256 * 1024

_PAGE_COUNT = "PRAGMA page_count"
_COPY = "PRAGMA wal_checkpoint(PASSIVE)"
_RESTART = "PRAGMA wal_checkpoint(RESTART)"
_TRUNCATE = "PRAGMA wal_checkpoint(TRUNCATE)"
_SHORTEN_TO = f"PRAGMA journal_size_limit = {COPY_AFTER_BYTES}"

logger = logging.getLogger(__name__)


class WriteAheadLog:
    """The log of an open database file; `size_bytes` is that of the last measurement."""

    def __init__(self, connection: sqlite3.Connection, lock: FileLock, path: str) -> None:
        self._connection = connection
        self._lock = lock
        self._database_path = path
        self._path = Path(f"{path}-wal")
        # SQLite does not wait for another copy that is in progress.
        self._copying = Lock()
        self._page_bytes: int = connection.execute("PRAGMA page_size").fetchone()[0]
        self._reserved_bytes = 0
        self._measured_from = 0
        self._copied_from = COPY_AFTER_BYTES
        self._full_from = MAX_LOG_BYTES
        connection.execute(_SHORTEN_TO)
        self.measure()

    def exists(self) -> bool:
        return self._path.exists()

    def measure(self) -> None:
        try:
            self.size_bytes = self._path.stat().st_size
        except OSError:
            self.size_bytes = 0

    @property
    def is_full(self) -> bool:
        """Whether writes have to wait until the log is empty."""
        return self.size_bytes > self._full_from

    def begin_copy(self) -> bool:
        """Whether the log has grown enough since the last copy to begin another one."""
        if self.size_bytes <= self._copied_from:
            return False
        self._copied_from = self.size_bytes + COPY_AFTER_BYTES
        return True

    def before_commit(self, *, is_long: bool = False) -> None:
        """Allocate the pages that a transaction adds. Raises NoSpace."""
        changes = self._connection.total_changes
        if changes < self._measured_from and not is_long:
            return
        self._measured_from = changes + CHANGES_BETWEEN_MEASUREMENTS
        pages: int = self._connection.execute(_PAGE_COUNT).fetchone()[0]
        needed_bytes = pages * self._page_bytes + RESERVED_BYTES
        if needed_bytes > self._reserved_bytes:
            # Before the call, because a copy may free it at the same time.
            self._reserved_bytes = needed_bytes + ALLOCATED_AT_ONCE_BYTES
            try:
                self._lock.allocate(self._reserved_bytes)
            except OSError:
                self._reserved_bytes = 0
                raise NoSpace("database or disk is full") from None
        self.measure()
        if self.size_bytes <= COPY_AFTER_BYTES:
            self._copied_from, self._full_from = COPY_AFTER_BYTES, MAX_LOG_BYTES

    def copy(self) -> None:
        """Copy the log on a connection of its own; other work goes on."""
        try:
            connection = sqlite3.connect(self._database_path, isolation_level=None)
            with self._copying, closing(connection):
                connection.execute(_COPY)
        except sqlite3.Error:
            # The next attempt may succeed.
            logger.exception("the log %s could not be copied", self._path)
        # A complete copy frees what was allocated in the file.
        self._reserved_bytes = 0

    def empty(self, *, frees_space: bool) -> None:
        """Copy all of the log and restart it; nothing else may use the connection meanwhile."""
        try:
            with self._copying:
                is_busy = self._connection.execute(
                    _TRUNCATE if frees_space else _RESTART
                ).fetchone()[0]
        except sqlite3.Error:
            logger.exception("the log %s could not be copied", self._path)
            is_busy = True
        self._reserved_bytes = 0
        self.measure()
        # Another program reads the file: until it ends, each write would wait for it in vain.
        self._full_from = self.size_bytes + COPY_AFTER_BYTES if is_busy else MAX_LOG_BYTES
        self._copied_from = self.size_bytes + COPY_AFTER_BYTES
