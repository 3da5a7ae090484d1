"""Writes the files of `--ready-file` and `--clock-file`, which other programs read.

Each is replaced atomically, and removed at the end. The ready file shows that `serve` responds.
The clock file has the clock of the first account as libfaketime reads it: one line for
FAKETIME_FMT=%s, in one of three forms:

- an instant, at which the clock stands;
- a difference to the system clock, while the clock runs at the rate of real time: exact whenever a
  process reads it;
- an instant with `@`, while it runs at another rate: the clock of a process runs from there when
  the process reads the file, so the file is written often.

Instants are seconds since 1970, because libfaketime reads a date in the time zone of its process.
Each form ends with the rate, because libfaketime keeps a rate until it reads another one. There are
no comments, because not every version of libfaketime can read them.
"""

import asyncio
import json
import logging
import os
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from emulator.clock import AccountClock
from emulator.domain.instants import REAL_RATE, rate_number
from emulator.domain.user_error import UserError
from emulator.files import check_regular, create_file
from emulator.server.engine.engine import Engine

MAX_COMPARED_BYTES = 256
# The interval in real time; at a high rate, also in business time, within the minimum.
MAX_INTERVAL_MS = 1_000
MIN_INTERVAL_MS = 20
_READY = rb'\{"api": '
_CLOCK = rb"[@+-]?[0-9]+\.[0-9]+ x[0-9.]+\n"

logger = logging.getLogger(__name__)


class PublishedFile:
    """The file of an option; `known` matches the beginning of a former process's file.

    Where the platform has file locks, the file at the path of a shared file is locked: one process
    at a time can publish it.
    """

    def __init__(
        self,
        option: str,
        path: str,
        *,
        known: bytes,
        mode: int,
        is_locked: bool = False,
    ) -> None:
        """Remove the file of a former process, and check that a new one can be written.

        Raises UserError.
        """
        self.path = Path(path).absolute()
        self._title = option.strip("-").replace("-", " ")
        self._mode = mode
        # In the same directory, so that it can be renamed.
        self._temporary = self.path.parent / f".{self.path.name}.{os.getpid()}"
        self._content = b""
        self._has_failed = False
        self._is_locked = is_locked
        self._locked: int | None = None
        try:
            if self.path.exists():
                check_regular(self.path)
                with self.path.open("rb") as file:
                    if is_locked:
                        _lock(file.fileno())
                    found = file.read(MAX_COMPARED_BYTES)
                # `mktemp` creates an empty file.
                if found and not re.match(known, found):
                    raise UserError(
                        f"{option}: found another file at '{self.path}', expected none or the file"
                        " of a former process; name another path"
                    )
            self.path.unlink(missing_ok=True)
            create_file(self._temporary, b"", mode=mode)
            self._temporary.unlink()
        except BlockingIOError:
            raise UserError(
                f"{option}: '{self.path}' is in use by another emulator; name another path"
            ) from None
        except OSError as error:
            raise UserError(
                f"{option}: cannot write '{self.path}': {error.strerror}; name a file in a"
                " writable directory"
            ) from None

    def replace(self, content: bytes) -> bool:
        """Write the file; false after a failure, the first of which is logged."""
        self._content, former = content, self._locked
        had_failed, self._has_failed = self._has_failed, True
        try:
            create_file(self._temporary, content, mode=self._mode)
            if self._is_locked:
                self._locked = os.open(self._temporary, os.O_RDONLY)
                _lock(self._locked)
            self._temporary.replace(self.path)
            if former is not None:
                os.close(former)
        except OSError as error:
            if not had_failed:
                logger.error("cannot write the %s %s: %s", self._title, self.path, error.strerror)
            return False
        self._has_failed = False
        return True

    def remove(self) -> None:
        """Remove the file, unless another process has replaced it."""
        with suppress(OSError):
            self._temporary.unlink(missing_ok=True)
            if self._content and self.path.read_bytes() == self._content:
                self.path.unlink()
        if self._locked is not None:
            os.close(self._locked)


def _lock(descriptor: int) -> None:
    """Lock a file where the platform can. Raises BlockingIOError if another process has."""
    with suppress(ImportError):
        fcntl: Any = import_module("fcntl")
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def ready_file(path: str | None) -> Iterator[Callable[[Mapping[str, object]], object]]:
    """Yield the function that writes the members of the file, if there is a path.

    Only its user can read the file, which has a key. Raises UserError.
    """
    if path is None:
        yield lambda _: None
        return
    file = PublishedFile("--ready-file", path, known=_READY, mode=0o600)
    try:
        yield lambda members: file.replace(json.dumps(members).encode() + b"\n")
    finally:
        file.remove()


@asynccontextmanager
async def clock_file(engine: Engine) -> AsyncIterator[None]:
    """Write the file of the settings within the block, at each change of the clock and in between.

    Other users can read it, because a shop may run as one of them. Raises UserError.
    """
    path = engine.settings.clock_file
    if path is None:
        yield
        return
    file = PublishedFile("--clock-file", path, known=_CLOCK, mode=0o644, is_locked=True)
    writer = _ClockWriter(file, engine)
    writer.write()
    engine.change_notifier.observer = writer.update
    writing = asyncio.create_task(writer.run())
    try:
        yield
    finally:
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        writer.close()
        file.remove()


class _ClockWriter:
    def __init__(self, file: PublishedFile, engine: Engine) -> None:
        self._file: PublishedFile | None = file
        self._account = engine.accounts.first
        self._engine = engine
        self._pace: tuple[int, int] | None = None

    async def run(self) -> None:
        """Write a running clock again and again; the owner of the task cancels it."""
        wall = self._engine.wall
        with self._engine.change_notifier.woken_by((self._account,)) as moved:
            while True:
                rate, _ = self._account.clock.pace
                interval_ms = MAX_INTERVAL_MS * REAL_RATE // max(rate, REAL_RATE)
                until = wall.now_ms() + max(MIN_INTERVAL_MS, interval_ms)
                await wall.wait(moved, until=until)
                moved.clear()
                (self.write if rate else self.update)()

    def update(self) -> None:
        """Write the clock if it was moved, stopped or started."""
        if self._account.clock.pace != self._pace:
            self.write()

    def write(self) -> None:
        clock, file = self._account.clock, self._file
        if file is None:
            return
        pace, line = clock.pace, faketime_form(clock)
        if file.replace(f"{line}\n".encode()):
            self._pace = pace

    def close(self) -> None:
        """Write no more."""
        self._file = None


def faketime_form(clock: AccountClock) -> str:
    """The clock as libfaketime reads it."""
    rate, _ = clock.pace
    if rate == REAL_RATE:
        return f"{clock.saved_offset_ms / 1000:+.3f} x1"
    sign, (seconds, ms) = "@" if rate else "", divmod(clock.now(), 1000)
    # Not exactly the millisecond: libfaketime converts the fraction to a binary one and cuts it.
    return f"{sign}{seconds}.{ms:03}0001 x{rate_number(rate or REAL_RATE)}"
