"""Locks the database file, so that only one process uses it."""

import os
from importlib import import_module
from pathlib import Path
from typing import Any

from emulator.storage.migrations import HEADER_BYTES, UnusableDatabase, check_header

# It contains keys and secrets; SQLite creates the files beside it with the same mode.
MODE = 0o600


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
