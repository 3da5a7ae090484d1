"""Writes a file for other programs: replaced atomically, and removed at the end."""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from emulator.domain.user_error import UserError
from emulator.files import check_regular, create_file

MAX_COMPARED_BYTES = 256


class PublishedFile:
    """A file of an option; `content` matches the beginning of the file of a former process.

    Of a shared file there is one process at a time, where the platform has file locks: the file at
    the path is always a locked one.
    """

    def __init__(
        self, option: str, path: str, *, content: re.Pattern[bytes], mode: int, is_locked: bool
    ) -> None:
        self.path = Path(path).absolute()
        self._option = option
        self._known_content = content
        self._mode = mode
        # In the same directory, so that it can be renamed.
        self._temporary = self.path.parent / f".{self.path.name}.{os.getpid()}"
        self._content = b""
        self._lock: Callable[[int], None] | None = None
        self._locked: int | None = None
        if is_locked:
            with suppress(ImportError):
                fcntl: Any = import_module("fcntl")
                self._lock = lambda file: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def prepare(self) -> None:
        """Remove the file of a former process, and check that a new one can be written.

        Raises UserError.
        """
        try:
            if self.path.exists():
                check_regular(self.path)
                with self.path.open("rb") as file:
                    if self._lock is not None:
                        self._lock(file.fileno())
                    found = file.read(MAX_COMPARED_BYTES)
                # `mktemp` creates an empty file.
                if found and not self._known_content.match(found):
                    raise UserError(
                        f"{self._option}: found another file at '{self.path}', expected none or"
                        " the file of a former process; name another path"
                    )
            self.path.unlink(missing_ok=True)
            create_file(self._temporary, b"", mode=self._mode)
            self._temporary.unlink()
        except BlockingIOError:
            raise UserError(
                f"{self._option}: '{self.path}' is in use by another emulator; name another path"
            ) from None
        except OSError as error:
            raise UserError(
                f"{self._option}: cannot write '{self.path}': {error.strerror}; name a file in a"
                " writable directory"
            ) from None

    def replace(self, content: bytes) -> None:
        """Write the file. Raises OSError."""
        self._content = content
        create_file(self._temporary, content, mode=self._mode)
        locked, former = self._open_locked(), self._locked
        self._temporary.replace(self.path)
        self._locked = locked
        if former is not None:
            os.close(former)

    def _open_locked(self) -> int | None:
        if self._lock is None:
            return None
        descriptor = os.open(self._temporary, os.O_RDONLY)
        self._lock(descriptor)
        return descriptor

    def remove(self) -> None:
        """Remove the file, unless another process has replaced it."""
        with suppress(OSError):
            self._temporary.unlink(missing_ok=True)
            if self._content and self.path.read_bytes() == self._content:
                self.path.unlink()
        if self._locked is not None:
            os.close(self._locked)


@contextmanager
def published_file(
    option: str, path: str, *, content: re.Pattern[bytes], mode: int, is_locked: bool = False
) -> Iterator[PublishedFile]:
    """A file that can be written within the block. Raises UserError."""
    file = PublishedFile(option, path, content=content, mode=mode, is_locked=is_locked)
    file.prepare()
    try:
        yield file
    finally:
        file.remove()
