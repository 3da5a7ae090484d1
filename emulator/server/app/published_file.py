"""Writes a file for other programs: replaced atomically, and removed at the end."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from emulator.files import check_regular, create_file
from emulator.settings import SettingsError

MAX_COMPARED_BYTES = 256


class PublishedFile:
    """A file of an option; `content` matches the beginning of the file of a former process."""

    def __init__(self, option: str, path: str, *, content: re.Pattern[bytes], mode: int) -> None:
        self.path = Path(path).absolute()
        self._option = option
        self._known_content = content
        self._mode = mode
        # In the same directory, so that it can be renamed.
        self._temporary = self.path.parent / f".{self.path.name}.{os.getpid()}"
        self._content = b""

    def prepare(self) -> None:
        """Remove the file of a former process, and check that a new one can be written.

        Raises SettingsError.
        """
        try:
            if self.path.exists():
                check_regular(self.path)
                with self.path.open("rb") as file:
                    found = file.read(MAX_COMPARED_BYTES)
                # `mktemp` creates an empty file.
                if found and not self._known_content.match(found):
                    raise SettingsError(
                        f"{self._option}: found another file at '{self.path}', expected none or"
                        " the file of a former process; name another path"
                    )
            self.path.unlink(missing_ok=True)
            create_file(self._temporary, b"", mode=self._mode)
            self._temporary.unlink()
        except OSError as error:
            raise SettingsError(
                f"{self._option}: cannot write '{self.path}': {error.strerror}; name a file in a"
                " writable directory"
            ) from None

    def replace(self, content: bytes) -> None:
        """Write the file. Raises OSError."""
        self._content = content
        create_file(self._temporary, content, mode=self._mode)
        self._temporary.replace(self.path)

    def remove(self) -> None:
        """Remove the file, unless another process has replaced it."""
        with suppress(OSError):
            self._temporary.unlink(missing_ok=True)
            if self._content and self.path.read_bytes() == self._content:
                self.path.unlink()


@contextmanager
def published_file(
    option: str, path: str, *, content: re.Pattern[bytes], mode: int
) -> Iterator[PublishedFile]:
    """A file that can be written within the block. Raises SettingsError."""
    file = PublishedFile(option, path, content=content, mode=mode)
    file.prepare()
    try:
        yield file
    finally:
        file.remove()
