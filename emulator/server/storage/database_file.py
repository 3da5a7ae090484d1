"""Locks the database file, creates or checks its schema, and bounds its write-ahead log."""

import logging
import os
import re
import sqlite3
from contextlib import closing
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any

from emulator.domain.user_error import UserError
from emulator.files import NotRegularFile, check_regular
from emulator.server.storage.batch import lacks_space

# It contains keys and secrets; SQLite creates the files beside it with the same mode.
MODE = 0o600
# "ETBP": identifies our files.
APPLICATION_ID = 0x45544250
SCHEMA_VERSION = 12

# Offsets of the SQLite file format: the schema's change counter and the application id.
HEADER_BYTES = 100
_MAGIC = b"SQLite format 3\0"
_SCHEMA_COOKIE = slice(40, 44)
_APPLICATION_ID = slice(68, 72)

_TABLES = "SELECT count(*) FROM sqlite_schema"
_DEFINITIONS = "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema"
# SQLite's own, such as the statistics of ANALYZE.
_INTERNAL = "sqlite_"
_COMMENTS_AND_BLANKS = r"--.*|\s+"
MAX_CHECKED_BYTES = 32 * 1024 * 1024

# From this size on the log is copied in the background. A log that is written again from its
# beginning keeps this size: writing over a file costs less than writing at its end.
COPY_AFTER_BYTES = 20 * 1024 * 1024
MAX_LOG_BYTES = 28 * 1024 * 1024

_COPY = "PRAGMA wal_checkpoint(PASSIVE)"
_RESTART = "PRAGMA wal_checkpoint(RESTART)"
_SHORTEN_TO = f"PRAGMA journal_size_limit = {COPY_AFTER_BYTES}"

logger = logging.getLogger(__name__)


def check_header(header: bytes, path: str) -> None:
    """Raises UserError for another program's file.

    The check precedes opening, which changes the journal mode. A file whose header is still in its
    log passes.
    """
    if header and not header.startswith(_MAGIC):
        raise UserError(f"cannot open the database {path}: it is not an SQLite file")
    application_id = int.from_bytes(header[_APPLICATION_ID], "big")
    if any(header[_SCHEMA_COOKIE]) and application_id != APPLICATION_ID:
        raise _foreign(path)


def _foreign(path: str) -> UserError:
    return UserError(f"the database {path} belongs to another program")


def damaged(path: str, reason: object) -> UserError:
    line = " ".join(str(reason).split())
    return UserError(f"the database {path} is damaged: {line}; use a copy or a new file")


def _schema() -> str:
    return Path(__file__).with_name("schema.sql").read_text(encoding="utf-8")


def create_schema(connection: sqlite3.Connection, path: str) -> None:
    """Create the schema in a new database, and check another one.

    Raises UserError for another schema, the file of another program and a damaged file.
    """
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    application_id = int(connection.execute("PRAGMA application_id").fetchone()[0])
    has_tables = connection.execute(_TABLES).fetchone()[0]
    if application_id != APPLICATION_ID and has_tables:
        raise _foreign(path)
    if version != SCHEMA_VERSION and (version or has_tables):
        raise UserError(
            f"the database {path} has schema {version}, and this version needs {SCHEMA_VERSION};"
            " use the emulator that wrote it, or a new file"
        )
    if has_tables:
        _check(connection, path)
    else:
        connection.executescript(
            f"BEGIN IMMEDIATE;\n{_schema()}\n"
            f"PRAGMA application_id = {APPLICATION_ID};\n"
            f"PRAGMA user_version = {SCHEMA_VERSION};\nCOMMIT;"
        )


def _check(connection: sqlite3.Connection, path: str) -> None:
    """Raises UserError for a damaged file, and sqlite3.Error.

    The check of SQLite reads the whole file: a quarter of a second for 100,000 payments (50 MB), so
    that a start with more than MAX_CHECKED_BYTES omits it. Damage is then found by the requests.
    """
    with closing(sqlite3.connect(":memory:")) as model:
        model.executescript(_schema())
        expected, found = _definitions(model), _definitions(connection)
    if not expected <= found:
        _, name, *_ = min(expected - found, key=lambda each: each[1:])
        raise damaged(path, f"the definition of {name} is missing or changed")
    for kind, name, *_ in sorted(found - expected):
        if not name.startswith(_INTERNAL):
            raise UserError(
                f"the database {path} contains the {kind} {name!r} of another program; drop"
                f" the {kind}, or use a new file"
            )
    if Path(path).stat().st_size <= MAX_CHECKED_BYTES:
        (result,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if result != "ok":
            raise damaged(path, result)


def _definitions(connection: sqlite3.Connection) -> set[tuple[str, str, str, str]]:
    """The types, names, tables and definitions of all tables, indexes, views and triggers."""
    rows = connection.execute(_DEFINITIONS)
    return {(*place, re.sub(_COMMENTS_AND_BLANKS, "", text)) for *place, text in rows}


class FileLock:
    """An advisory lock on the database file, released when the process ends.

    SQLite uses another kind of lock, so that any tool can still read the file. Platforms without
    it (Windows) have no protection.
    """

    def __init__(self, path: str) -> None:
        """Raises UserError where the file is locked, foreign or cannot be created."""
        self._path = path
        self._descriptor: int | None = None
        _check_regular(path)
        try:
            self._flock: Any = import_module("fcntl")
        except ImportError:
            return
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, MODE)
            self._flock.flock(self._descriptor, self._flock.LOCK_EX | self._flock.LOCK_NB)
            check_header(os.pread(self._descriptor, HEADER_BYTES, 0), path)
        except UserError:
            self.release()
            raise
        except BlockingIOError:
            self.release()
            raise UserError(f"the database {path} is in use by another emulator") from None
        except OSError as error:
            self.release()
            reason = error.strerror or error
            raise UserError(f"cannot open the database {path}: {reason}") from None

    def is_at_path(self) -> bool:
        """Whether the path still names the file that was locked."""
        try:
            named = Path(self._path).stat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            return True  # A failing `stat` does not prove that the file was replaced.
        if self._descriptor is None:
            return True
        locked = os.fstat(self._descriptor)
        return (named.st_dev, named.st_ino) == (locked.st_dev, locked.st_ino)

    def release(self) -> None:
        """Close the descriptor, after SQLite: closing it releases the locks of SQLite too."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


class WriteAheadLog:
    """The write-ahead log of an open database file; `size_bytes` is the last measured size.

    SQLite appends each commit to the log, and can reuse the log only after a copy of all of it. A
    copy in the background never reaches the last commit under a steady load, so writes wait for a
    copy when the log is at its limit.
    """

    def __init__(self, connection: sqlite3.Connection, path: str) -> None:
        self._connection = connection
        self._database_path = path
        self._path = Path(f"{path}-wal")
        # SQLite does not wait for another copy that is in progress.
        self._copying = Lock()
        self._copied_from = COPY_AFTER_BYTES
        self._full_from = MAX_LOG_BYTES
        self._descriptor: int | None = None
        connection.execute(_SHORTEN_TO)
        self._measure()

    def exists(self) -> bool:
        return self._path.exists()

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _measure(self) -> None:
        # By a descriptor, because this runs after every commit. The first one creates the log.
        try:
            if self._descriptor is None:
                self._descriptor = os.open(self._path, os.O_RDONLY)
            self.size_bytes = os.fstat(self._descriptor).st_size
        except OSError:
            self.size_bytes = 0
        if self.size_bytes <= COPY_AFTER_BYTES:
            self._copied_from, self._full_from = COPY_AFTER_BYTES, MAX_LOG_BYTES

    @property
    def is_full(self) -> bool:
        """Whether writes have to wait until the log is empty."""
        return self.size_bytes > self._full_from

    def begin_copy(self) -> bool:
        """Whether the log has grown enough since the last copy to begin another one."""
        self._measure()
        if self.size_bytes <= self._copied_from:
            return False
        self._copied_from = self.size_bytes + COPY_AFTER_BYTES
        return True

    def copy(self) -> None:
        """Copy the log on a connection of its own; other work goes on."""
        try:
            connection = sqlite3.connect(self._database_path, isolation_level=None)
            with self._copying, closing(connection):
                connection.execute(_COPY)
        except sqlite3.Error:
            # The next attempt may succeed.
            logger.exception("the log %s could not be copied", self._path)

    def empty(self) -> None:
        """Copy all of the log and restart it; nothing else may use the connection meanwhile."""
        try:
            with self._copying:
                is_busy = self._connection.execute(_RESTART).fetchone()[0]
        except sqlite3.Error as error:
            if not lacks_space(error):  # Else the work that needs the space fails with the reason.
                logger.exception("the log %s could not be copied", self._path)
            is_busy = True
        # Another program reads the file: until it ends, each write would wait for it in vain.
        self._full_from = self.size_bytes + COPY_AFTER_BYTES if is_busy else MAX_LOG_BYTES
        self._copied_from = self.size_bytes + COPY_AFTER_BYTES


def _check_regular(path: str) -> None:
    """Raises UserError for an existing path that is not a regular file."""

    try:
        check_regular(path)
    except NotRegularFile as error:
        raise UserError(f"cannot open the database {path}: {error.strerror}") from None
    except (OSError, ValueError):
        return  # Opening it gives a better message.
