"""Reads and waits on real time, and computes each account's own time.

No other module reads or waits on a clock.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from threading import Lock
from typing import Protocol

from .domain.instants import LAST_INSTANT, REAL_RATE, ClockKind, ClockSpec, Instant

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


async def poll(
    wall: SystemClock, is_true: Callable[[], Awaitable[bool]], *, every_ms: int, within_ms: float
) -> bool:
    """Wait until a condition is true, for a span of real time; return whether it is."""
    until_ms = wall.monotonic_ms() + within_ms
    while not (has_become_true := await is_true()) and wall.monotonic_ms() < until_ms:
        await pause(wall, every_ms)
    return has_become_true


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
        else:
            # A time limit needs a task, and the caller may have none.
            await asyncio.create_task(self._wait_until(event, until))

    async def _wait_until(self, event: asyncio.Event, until: Instant) -> None:
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
    """One account's business time: it runs at a rate of real time, or is stopped.

    It is stopped while it is frozen, and while an advance holds it at an instant. Transactions
    move it, and any thread reads it; a read takes each attribute once. The rate is in thousandths,
    and stays while the clock is frozen.
    """

    __slots__ = ("_flow", "_standing_at", "_wall", "is_frozen")

    def __init__(
        self,
        wall: SystemClock,
        *,
        frozen_at: Instant | None,
        offset_ms: int = 0,
        rate_thousandths: int = REAL_RATE,
    ) -> None:
        self._wall = wall
        # The rate, and what is added to real time multiplied by the rate.
        self._flow = (rate_thousandths, offset_ms)
        self._standing_at = frozen_at
        self.is_frozen = frozen_at is not None

    @classmethod
    def from_spec(cls, wall: SystemClock, spec: ClockSpec) -> "AccountClock":
        now = min(wall.now_ms(), LAST_INSTANT - 1)
        if spec.kind is ClockKind.FROZEN:
            return cls(wall, frozen_at=now if spec.instant is None else spec.instant)
        rate = spec.rate_thousandths
        return cls(
            wall, frozen_at=None, offset_ms=_offset_ms(now, now, rate), rate_thousandths=rate
        )

    def now(self) -> Instant:
        standing_at = self._standing_at
        if standing_at is not None:
            return standing_at
        rate, offset_ms = self._flow
        now = self._wall.now_ms() * rate // REAL_RATE + offset_ms
        return now if now < LAST_INSTANT else LAST_INSTANT - 1

    @property
    def rate_thousandths(self) -> int:
        """The rate at which it runs, or ran before it was frozen."""
        return self._flow[0]

    @property
    def offset_ms(self) -> int:
        """At rate 1, how far business time is ahead of real time; meaningless while frozen."""
        return self._flow[1]

    @property
    def saved_offset_ms(self) -> int:
        """The offset to the system clock, from which another process continues."""
        return _offset_ms(self.now(), self._wall.system_ms(), self._flow[0])

    @property
    def is_standing(self) -> bool:
        return self._standing_at is not None

    @property
    def pace(self) -> tuple[int, int]:
        """The rate and the offset, or 0 and the instant at which it is stopped.

        It changes only when the clock is moved, frozen or unfrozen, or gets another rate.
        """
        standing_at = self._standing_at
        return self._flow if standing_at is None else (0, standing_at)

    def stand_at(self, instant: Instant) -> None:
        """Hold time at an instant, frozen or for the duration of an advance."""
        self._standing_at = instant

    def freeze(self) -> None:
        self._standing_at = self.now()
        self.is_frozen = True

    def flow_from(self, instant: Instant, rate_thousandths: int | None = None) -> None:
        """Let time run from an instant on, at another rate if one is given."""
        rate = rate_thousandths or self._flow[0]
        self._flow = (rate, _offset_ms(instant, self._wall.now_ms(), rate))
        self._standing_at = None
        self.is_frozen = False

    def wall_instant(self, instant: Instant) -> Instant:
        """The real time at which this running clock reaches `instant`."""
        if instant >= LAST_INSTANT:  # It stops before.
            return instant
        rate, offset_ms = self._flow
        return -((offset_ms - instant) * REAL_RATE // rate)

    def state(self) -> tuple[bool, Instant | None, tuple[int, int]]:
        return self.is_frozen, self._standing_at, self._flow

    def restore(self, state: tuple[bool, Instant | None, tuple[int, int]]) -> None:
        """Undo a move whose transaction failed."""
        self.is_frozen, self._standing_at, self._flow = state


def _offset_ms(instant: Instant, wall_at: Instant, rate_thousandths: int) -> int:
    """The offset of a clock that shows `instant` at the real time `wall_at`."""
    return instant - wall_at * rate_thousandths // REAL_RATE
