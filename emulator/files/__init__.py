"""Opens the files that a user names, which must be regular files, and reads the YAML in them."""

import os
import stat
from pathlib import Path
from typing import BinaryIO

# Of a YAML file that a person writes: scenarios, configuration.
MAX_FILE_BYTES = 256 * 1024
MAX_NESTING = 32
MAX_NODES = 10_000

_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
_ADVICE = {stat.S_IFIFO: "; write its content to a file first"}


class NotRegularFile(OSError):
    """The path leads to no regular file; `strerror` has the kind of the file."""

    def __init__(self, mode: int) -> None:
        kind = stat.S_IFMT(mode)
        found, advice = _KINDS.get(kind, "a special file"), _ADVICE.get(kind, "")
        message = f"found {found}, expected a regular file{advice}"
        super().__init__(message)
        self.strerror = message


def check_regular(path: str | Path) -> None:
    """Raises NotRegularFile for a pipe, a socket or a device, and OSError as `stat` does.

    Opening a pipe would block until another program opens its other end. Opening a directory
    fails by itself.
    """
    mode = Path(path).stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise NotRegularFile(mode)


def create_file(path: Path, content: bytes, *, mode: int) -> None:
    """Create a file in place of a file or a link, with these permissions. Raises OSError."""
    path.unlink(missing_ok=True)

    def create(name: str, flags: int) -> int:
        return os.open(name, flags | getattr(os, "O_NOFOLLOW", 0), mode)

    with open(path, "xb", opener=create) as file:
        file.write(content)


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading. Raises OSError, and ValueError for an impossible path."""
    check_regular(path)
    # It may have been replaced by a pipe since: without blocking, that reads as empty.
    return open(path, "rb", opener=_open_without_blocking)


def _open_without_blocking(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
