"""Reads and waits on real time, and computes each account's own time.

No other module reads or waits on a clock.
"""

import asyncio
import time
from collections.abc import Callable
from threading import Lock
from typing import Protocol

from emulator.domain.instants import ClockKind, ClockSpec, Instant

# How long after a forward step of the system clock a wait may notice it.
RECHECK_MS = 1_000
# How long a background task waits before it repeats what failed.
PAUSE_AFTER_FAILURE_MS = 1_000


class SystemClock(Protocol):
    """Real time; tests use a clock that they control."""

    def now_ms(self) -> Instant:
        """Milliseconds since 1970; never runs backwards or stops within a process."""

    def system_ms(self) -> Instant:
        """The time of the system clock, which may be set back: for logs and time stamps."""

    def monotonic_ms(self) -> float:
        """Monotonic time, for durations only."""

    async def wait(self, event: asyncio.Event, *, until: Instant | None) -> None:
        """Return when the event is set or the instant is reached, whichever is first."""


async def pause(wall: SystemClock, length_ms: int) -> None:
    """Wait for a span of real time."""
    await wall.wait(asyncio.Event(), until=wall.now_ms() + length_ms)


class RealClock:
    """The clocks of this machine.

    `now_ms` is monotonic time plus the largest difference between the system clock and monotonic
    time so far. It follows a forward step of the system clock (NTP, the end of a sleep). After a
    backward step it continues at the monotonic rate.
    """

    def __init__(
        self,
        *,
        wall_ns: Callable[[], int] = time.time_ns,
        monotonic_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._wall_ns = wall_ns
        self._monotonic_ns = monotonic_ns
        self._difference_ns = wall_ns() - monotonic_ns()
        self._lock = Lock()

    def now_ms(self) -> Instant:
        # The system clock first: a pause between the two reads makes the difference smaller, and
        # a smaller one changes nothing.
        wall_ns = self._wall_ns()
        monotonic_ns = self._monotonic_ns()
        if wall_ns - monotonic_ns > self._difference_ns:
            with self._lock:  # Two threads may notice a step at the same time.
                self._difference_ns = max(self._difference_ns, wall_ns - monotonic_ns)
        return (monotonic_ns + self._difference_ns) // 1_000_000

    def system_ms(self) -> Instant:
        return self._wall_ns() // 1_000_000

    def monotonic_ms(self) -> float:
        return self._monotonic_ns() / 1_000_000

    async def wait(self, event: asyncio.Event, *, until: Instant | None) -> None:
        if until is None:
            await event.wait()
            return
        while True:
            left_ms = until - self.now_ms()
            try:
                async with asyncio.timeout(min(max(0, left_ms), RECHECK_MS) / 1000):
                    await event.wait()
            except TimeoutError:
                # Checked afterwards, so that other tasks run even if the wait is already over.
                if self.now_ms() < until:
                    continue
            return


class AccountClock:
    """One account's business time: it runs at an offset to real time, or is stopped.

    It is stopped while it is frozen, and while an advance holds it at an instant. Transactions
    move it, and any thread reads it; a read takes one attribute.
    """

    __slots__ = ("_offset_ms", "_standing_at", "_wall", "is_frozen")

    def __init__(self, wall: SystemClock, *, frozen_at: Instant | None, offset_ms: int = 0) -> None:
        self._wall = wall
        self._offset_ms = offset_ms
        self._standing_at = frozen_at
        self.is_frozen = frozen_at is not None

    @classmethod
    def from_spec(cls, wall: SystemClock, spec: ClockSpec) -> "AccountClock":
        if spec.kind is ClockKind.REAL:
            return cls(wall, frozen_at=None)
        return cls(wall, frozen_at=wall.now_ms() if spec.instant is None else spec.instant)

    def now(self) -> Instant:
        standing_at = self._standing_at
        return self._wall.now_ms() + self._offset_ms if standing_at is None else standing_at

    @property
    def offset_ms(self) -> int:
        """How far business time is ahead of real time; meaningless while frozen."""
        return self._offset_ms

    @property
    def is_standing(self) -> bool:
        return self._standing_at is not None

    @property
    def pace(self) -> tuple[bool, int]:
        """Whether it runs, and its offset, or the instant at which it is stopped.

        It changes only when the clock is moved, frozen or unfrozen.
        """
        standing_at = self._standing_at
        return (True, self._offset_ms) if standing_at is None else (False, standing_at)

    def stand_at(self, instant: Instant) -> None:
        """Hold time at an instant, frozen or for the duration of an advance."""
        self._standing_at = instant

    def freeze(self) -> None:
        self._standing_at = self.now()
        self.is_frozen = True

    def flow_from(self, instant: Instant) -> None:
        """Let time run from an instant on."""
        self._offset_ms = instant - self._wall.now_ms()
        self._standing_at = None
        self.is_frozen = False

    def wall_instant(self, instant: Instant) -> Instant:
        """The real time at which this running clock reaches `instant`."""
        return instant - self._offset_ms

    def state(self) -> tuple[bool, Instant | None, int]:
        return self.is_frozen, self._standing_at, self._offset_ms

    def restore(self, state: tuple[bool, Instant | None, int]) -> None:
        """Undo a move whose transaction failed."""
        self.is_frozen, self._standing_at, self._offset_ms = state
