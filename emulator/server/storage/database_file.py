"""Locks the database file, and creates or checks its schema."""

import errno
import os
import sqlite3
from importlib import import_module
from pathlib import Path
from typing import Any

# It contains keys and secrets; SQLite creates the files beside it with the same mode.
MODE = 0o600
# "ETBP": identifies our files.
APPLICATION_ID = 0x45544250
SCHEMA_VERSION = 8

# Offsets of the SQLite file format: the schema's change counter and the application id.
HEADER_BYTES = 100
_MAGIC = b"SQLite format 3\0"
_SCHEMA_COOKIE = slice(40, 44)
_APPLICATION_ID = slice(68, 72)

_TABLES = "SELECT count(*) FROM sqlite_schema"


class UnusableDatabase(Exception):
    """The database cannot be opened; the message is one sentence for the user."""


def check_header(header: bytes, path: str) -> None:
    """Raises UnusableDatabase for another program's file.

    The check precedes opening, which changes the journal mode. A file whose header is still in its
    log passes.
    """
    if header and not header.startswith(_MAGIC):
        raise UnusableDatabase(f"cannot open the database {path}: it is not an SQLite file")
    application_id = int.from_bytes(header[_APPLICATION_ID], "big")
    if any(header[_SCHEMA_COOKIE]) and application_id != APPLICATION_ID:
        raise _foreign(path)


def _foreign(path: str) -> UnusableDatabase:
    return UnusableDatabase(f"the database {path} belongs to another program")


def create_schema(connection: sqlite3.Connection, path: str) -> None:
    """Create the schema in a new database.

    Raises UnusableDatabase for another schema and for the file of another program.
    """
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    application_id = int(connection.execute("PRAGMA application_id").fetchone()[0])
    has_tables = connection.execute(_TABLES).fetchone()[0]
    if application_id != APPLICATION_ID and has_tables:
        raise _foreign(path)
    if version != SCHEMA_VERSION and (version or has_tables):
        raise UnusableDatabase(
            f"the database {path} has schema {version}, and this version needs {SCHEMA_VERSION};"
            " use the emulator that wrote it, or a new file"
        )
    if not has_tables:
        script = Path(__file__).with_name("schema.sql").read_text(encoding="utf-8")
        connection.executescript(
            f"BEGIN IMMEDIATE;\n{script}\n"
            f"PRAGMA application_id = {APPLICATION_ID};\n"
            f"PRAGMA user_version = {SCHEMA_VERSION};\nCOMMIT;"
        )


class FileLock:
    """An advisory lock on the database file, released when the process ends.

    SQLite uses another kind of lock, so that any tool can still read the file. Platforms without
    it (Windows) have no protection.
    """

    def __init__(self, path: str) -> None:
        """Raises UnusableDatabase where the file is locked, foreign or cannot be created."""
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
        except UnusableDatabase:
            self.release()
            raise
        except BlockingIOError:
            self.release()
            raise UnusableDatabase(f"the database {path} is in use by another emulator") from None
        except OSError as error:
            self.release()
            reason = error.strerror or error
            raise UnusableDatabase(f"cannot open the database {path}: {reason}") from None

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

    def allocate(self, size_bytes: int) -> None:
        """Reserve disk space up to a size of the file, where the platform can. Raises OSError."""
        allocate = getattr(os, "posix_fallocate", None)
        if self._descriptor is None or allocate is None:
            return
        present_bytes = os.fstat(self._descriptor).st_size
        if size_bytes <= present_bytes:
            return
        try:
            allocate(self._descriptor, present_bytes, size_bytes - present_bytes)
        except OSError as error:
            # Any other error means that this file system cannot reserve space.
            if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
                raise

    def release(self) -> None:
        """Close the descriptor, after SQLite: closing it releases the locks of SQLite too."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _check_regular(path: str) -> None:
    """Raises UnusableDatabase for an existing path that is not a regular file."""
    from emulator.files import NotRegularFile, check_regular

    try:
        check_regular(path)
    except NotRegularFile as error:
        raise UnusableDatabase(f"cannot open the database {path}: {error.strerror}") from None
    except (OSError, ValueError):
        return  # Opening it gives a better message.
