"""Opens the files that a user names, which must be regular files, and reads the YAML in them.

It also raises the limit of open files.
"""

import os
import stat
from contextlib import suppress
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

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
MAX_DESCRIPTORS = 65_536


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


def descriptor_limit(*, raises: bool = False) -> int:
    """The limit of open files and sockets, which is often 1,024.

    With `raises`, it is set to what the system allows before.
    """
    try:
        resource: Any = import_module("resource")
    except ImportError:  # Windows
        return MAX_DESCRIPTORS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    wanted = MAX_DESCRIPTORS if hard == unlimited else min(hard, MAX_DESCRIPTORS)
    soft = MAX_DESCRIPTORS if soft == unlimited else soft
    if raises and soft < wanted:
        with suppress(OSError, ValueError):  # Of macOS, which has a lower limit of its own.
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            return int(wanted)
    return int(soft)


# The nodes of a YAML document; their positions count from 1.


class ScalarKind(Enum):
    """The kind of a scalar by the rules of YAML 1.1: `yes` is a Boolean, `0700` a number."""

    TEXT = "tag:yaml.org,2002:str"
    INTEGER = "tag:yaml.org,2002:int"
    BOOLEAN = "tag:yaml.org,2002:bool"
    NULL = "tag:yaml.org,2002:null"
    MERGE = "tag:yaml.org,2002:merge"
    FLOAT = "tag:yaml.org,2002:float"
    TIMESTAMP = "tag:yaml.org,2002:timestamp"
    EQUALS_SIGN = "tag:yaml.org,2002:value"


# Named tuples: a file has thousands of nodes, and a dataclass takes three times as long to make.
class ScalarNode(NamedTuple):
    line: int
    column: int
    text: str
    kind: ScalarKind


class ListNode(NamedTuple):
    line: int
    column: int
    items: tuple["Node", ...]


class MapNode(NamedTuple):
    line: int
    column: int
    pairs: tuple[tuple["Node", "Node"], ...]


Node = ScalarNode | ListNode | MapNode
