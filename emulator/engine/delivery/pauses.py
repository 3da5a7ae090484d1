"""Holds back the deliveries of owners, in memory: a restart of the program releases them."""

from collections.abc import Collection
from dataclasses import dataclass, field

from emulator.clock import SystemClock
from emulator.domain.instants import Instant
from emulator.domain.timers import DueKey
from emulator.engine.state.account import NEVER, Account, Owner
from emulator.storage import deliveries
from emulator.storage.batch import Transaction

MAX_PAUSED_DELIVERIES = 100
MAX_PAUSE_MS = 5 * 60_000


@dataclass(slots=True, kw_only=True)
class Pause:
    """The end of a pause in real time, and the due deliveries of each endpoint."""

    until: Instant
    waiting: dict[int, int] = field(default_factory=dict)

    @property
    def is_full(self) -> bool:
        return sum(self.waiting.values()) > MAX_PAUSED_DELIVERIES


class Pauses:
    """The pauses of all owners; a pause ends by itself after MAX_PAUSE_MS of real time."""

    def __init__(self, wall: SystemClock) -> None:
        self._wall = wall
        self._pauses: dict[Owner, Pause] = {}

    def begin(self, owner: Owner) -> None:
        """Begin a pause; one in progress goes on."""
        until = self._wall.now_ms() + MAX_PAUSE_MS
        self._pauses.setdefault(owner, Pause(until=until))

    def end(self, owner: Owner) -> bool:
        """Returns whether there was a pause."""
        return self._pauses.pop(owner, None) is not None

    def of(self, owner: Owner) -> Pause | None:
        pause = self._pauses.get(owner)
        return pause if pause is not None and pause.until > self._wall.now_ms() else None

    def over(self) -> list[Owner]:
        """The owners whose pauses have reached a limit."""
        now = self._wall.now_ms()
        return [
            owner for owner, pause in self._pauses.items() if pause.until <= now or pause.is_full
        ]

    def of_account(self, account: Account) -> list[Owner]:
        return [owner for owner in self._pauses if owner.account is account]

    def next_end(self) -> Instant:
        """The end of the first pause in real time; NEVER without one."""
        return min((pause.until for pause in self._pauses.values()), default=NEVER)


def paused_deliveries(
    tx: Transaction, endpoint: int, in_progress: Collection[int], horizon: DueKey
) -> tuple[int, Instant]:
    """How many deliveries of an endpoint are due and wait, and when the next one is due."""
    limit = MAX_PAUSED_DELIVERIES + 1
    upcoming = deliveries.upcoming(tx, endpoint, exclude=in_progress, busy_payments=(), limit=limit)
    count = sum(deliveries.due_key(delivery) <= horizon for delivery in upcoming)
    due_at = upcoming[count].due_at if count < len(upcoming) else None
    return count, due_at or NEVER
