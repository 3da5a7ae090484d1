"""The limit of open files and sockets of this process."""

from contextlib import suppress
from importlib import import_module
from typing import Any

MAX_DESCRIPTORS = 65_536


def descriptor_limit(*, raises: bool = False) -> int:
    """The limit; with `raises`, after it is set to what the system allows: it is often 1,024."""
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
