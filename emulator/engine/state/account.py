"""An account while the program runs: its clock, its modes, and what is due next."""

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from emulator.clock import AccountClock
from emulator.domain.accounts import AccountProfile, Mode
from emulator.domain.errors import InvalidApiKey
from emulator.domain.instants import ClockSpec, Instant
from emulator.domain.rate_limit import RateLimit, TokenBucket
from emulator.engine.state.effects import Effects
from emulator.engine.state.journal import Journal
from emulator.storage.accounts import AccountRow

if TYPE_CHECKING:
    from emulator.domain.webhooks import Endpoint
    from emulator.engine.accounts.snapshots import SnapshotExtras
    from emulator.engine.state.rules import Rules

NEVER: Instant = 1 << 62


@dataclass(slots=True, eq=False, kw_only=True)
class Account:
    """The unit of isolation. Transactions move its clock and `due_at`; all may read them.

    `due_at` is when the next timer is due, or earlier; NEVER without one. `rules` and `placed` are
    replaced as a whole: the scenarios of the account, and which of them was put on which payment.
    """

    number: int
    profile: AccountProfile
    seed: int | None
    clock: AccountClock
    initial_clock: ClockSpec
    rules: "Rules"
    placed: dict[int, str] = field(default_factory=dict)
    test: "Owner" = field(init=False)
    live: "Owner" = field(init=False)
    due_at: Instant = NEVER
    is_closed: bool = False
    advancing: asyncio.Lock = field(default_factory=asyncio.Lock)
    collector: Effects | None = None
    # Beside its snapshots, by their names: what no row of theirs keeps. Replaced as a whole, too.
    kept: "dict[str, SnapshotExtras]" = field(default_factory=dict)
    # How often it has begun anew: what is under way then is not of the present account.
    generation: int = 0
    # Of an advance that a limit stopped: what was under way then is an effect of the next one.
    unsettled: Effects | None = None

    def owner(self, mode: Mode) -> "Owner":
        return self.test if mode is Mode.TEST else self.live

    def check_open(self) -> None:
        """Raises InvalidApiKey where it was deleted while the request was on its way."""
        if self.is_closed:
            raise InvalidApiKey("The account of this key has just been deleted.")

    def restart(self, other: "Account") -> None:
        """Become as another account object is, in place: requests on their way hold this one."""
        self.clock = other.clock
        self.due_at = other.due_at
        self.unsettled = other.unsettled
        self.generation = other.generation
        self.rules = other.rules
        self.placed = other.placed
        self.kept = other.kept
        for owner, fresh in zip(self.owners, other.owners, strict=True):
            owner.stream = fresh.stream
            owner.take_counts(fresh)

    @property
    def owners(self) -> tuple["Owner", "Owner"]:
        return (self.test, self.live)

    @property
    def effects_of_attempts(self) -> Effects | None:
        """Those of the advance that goes on, else of the one that was stopped."""
        return self.unsettled if self.collector is None else self.collector

    @property
    def is_listening(self) -> bool:
        """Whether there is anybody to tell of its events."""
        return bool(self.test.endpoints or self.live.endpoints)


class Owner:
    """An account in one mode: whom a key stands for, and to whom payments belong.

    `endpoints`, by position, are replaced as a whole: who has them may go on reading.
    """

    __slots__ = (
        "account",
        "bucket",
        "endpoints",
        "journal",
        "mode",
        "number",
        "reads",
        "request_stream",
        "requests",
        "stream",
    )

    def __init__(
        self, account: Account, mode: Mode, *, stream: bytes, rate_limit: RateLimit | None
    ) -> None:
        self.account = account
        self.mode = mode
        self.number = account.number * 2 + (mode is Mode.LIVE)
        self.stream = stream
        self.request_stream = stream
        self.bucket = None if rate_limit is None else TokenBucket(rate_limit)
        self.requests = 0
        self.reads: dict[str, int] = {}
        self.endpoints: dict[int, Endpoint] = {}
        self.journal = Journal()

    def take_counts(self, other: "Owner") -> None:
        self.bucket = other.bucket
        self.requests = other.requests
        self.request_stream = other.request_stream
        self.reads = other.reads
        self.endpoints = other.endpoints
        self.journal = other.journal


def copy_of(account: Account) -> Account:
    """The account as it is now, to go back to."""
    copy = Account(
        number=account.number,
        profile=account.profile,
        seed=account.seed,
        clock=account.clock,
        initial_clock=account.initial_clock,
        rules=account.rules,
        placed=account.placed,
        kept=account.kept,
        due_at=account.due_at,
        unsettled=account.unsettled,
        generation=account.generation,
    )
    copy.test = Owner(copy, Mode.TEST, stream=account.test.stream, rate_limit=None)
    copy.live = Owner(copy, Mode.LIVE, stream=account.live.stream, rate_limit=None)
    copy.test.take_counts(account.test)
    copy.live.take_counts(account.live)
    return copy


def account_row(account: Account, *, initial_clock: str) -> AccountRow:
    """The account as it is stored."""
    clock = account.clock
    return AccountRow(
        number=account.number,
        profile=account.profile,
        seed=account.seed,
        test_stream=account.test.stream,
        live_stream=account.live.stream,
        initial_clock=initial_clock,
        frozen_at=clock.now() if clock.is_frozen else None,
        offset_ms=clock.offset_ms,
    )
