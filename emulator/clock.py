"""Real time, and each account's own time: the only module that reads or waits on a clock."""

import asyncio
import time
from typing import Protocol

from emulator.domain.clock_spec import ClockKind, ClockSpec
from emulator.domain.instants import Instant

LONGEST_WAIT_MS = 3_600_000


class Wall(Protocol):
    """Real time, as a seam: tests pass one that they move themselves."""

    def now_ms(self) -> Instant:
        """Milliseconds since 1970; never runs backwards within a process."""

    def monotonic_ms(self) -> float:
        """Wire time, for durations only."""

    async def wait(self, event: asyncio.Event, *, until: Instant | None) -> None:
        """Return when the event is set or the instant has come, whichever is first."""


async def pause(wall: Wall, length_ms: int) -> None:
    """Wait for a span of real time."""
    await wall.wait(asyncio.Event(), until=wall.now_ms() + length_ms)


class SystemWall:
    """The clock on the wall of this machine."""

    def __init__(self) -> None:
        self._latest_ms = 0

    def now_ms(self) -> Instant:
        # NTP may step the system's clock back; a payment's history must not.
        self._latest_ms = max(self._latest_ms, time.time_ns() // 1_000_000)
        return self._latest_ms

    def monotonic_ms(self) -> float:
        return time.monotonic_ns() / 1_000_000

    async def wait(self, event: asyncio.Event, *, until: Instant | None) -> None:
        timeout_s = None
        if until is not None:
            timeout_s = min(max(0, until - self.now_ms()), LONGEST_WAIT_MS) / 1000
        try:
            async with asyncio.timeout(timeout_s):
                await event.wait()
        except TimeoutError:
            return


class AccountClock:
    """One account's business time: it flows with the wall at an offset, or stands.

    It stands while it is frozen, and while an `advance` holds it at the instant being fired.
    It is moved inside transactions and read from any thread: each read takes one attribute.
    """

    __slots__ = ("_offset_ms", "_standing_at", "_wall", "is_frozen")

    def __init__(self, wall: Wall, *, frozen_at: Instant | None, offset_ms: int = 0) -> None:
        self._wall = wall
        self._offset_ms = offset_ms
        self._standing_at = frozen_at
        self.is_frozen = frozen_at is not None

    @classmethod
    def from_spec(cls, wall: Wall, spec: ClockSpec) -> "AccountClock":
        if spec.kind is ClockKind.REAL:
            return cls(wall, frozen_at=None)
        return cls(wall, frozen_at=wall.now_ms() if spec.instant is None else spec.instant)

    def now(self) -> Instant:
        standing_at = self._standing_at
        return self._wall.now_ms() + self._offset_ms if standing_at is None else standing_at

    @property
    def offset_ms(self) -> int:
        """How far business time is ahead of the wall; it means nothing while frozen."""
        return self._offset_ms

    @property
    def is_standing(self) -> bool:
        return self._standing_at is not None

    @property
    def pace(self) -> tuple[bool, int]:
        """Whether it flows, and its offset, or the instant at which it stands.

        Real time does not change it: only who moves the clock, freezes it or lets it flow.
        """
        standing_at = self._standing_at
        return (True, self._offset_ms) if standing_at is None else (False, standing_at)

    def stand_at(self, instant: Instant) -> None:
        """Hold time at an instant, frozen or for the length of an advance."""
        self._standing_at = instant

    def freeze(self) -> None:
        self._standing_at = self.now()
        self.is_frozen = True

    def flow_from(self, instant: Instant) -> None:
        """Let time flow from an instant on."""
        self._offset_ms = instant - self._wall.now_ms()
        self._standing_at = None
        self.is_frozen = False

    def wall_instant(self, instant: Instant) -> Instant:
        """When the wall will show what this flowing clock shows at `instant`."""
        return instant - self._offset_ms

    def state(self) -> tuple[bool, Instant | None, int]:
        return self.is_frozen, self._standing_at, self._offset_ms

    def restore(self, state: tuple[bool, Instant | None, int]) -> None:
        """Undo a move whose transaction failed."""
        self.is_frozen, self._standing_at, self._offset_ms = state
