"""An account while the program runs: its clock, its modes and the instant of its next timer."""

import asyncio
from copy import copy
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, NamedTuple

from emulator.clock import AccountClock
from emulator.domain.accounts import AccountProfile, Mode
from emulator.domain.errors import InvalidApiKey
from emulator.domain.instants import ClockSpec, Instant
from emulator.domain.rate_limit import RateLimit, TokenBucket
from emulator.engine.state.effects import Effects
from emulator.engine.state.journal import Journal
from emulator.engine.state.rules import Rules

if TYPE_CHECKING:
    from emulator.domain.webhooks import Endpoint
    from emulator.scenarios.values import Scenario

NEVER: Instant = 1 << 62
# Later than any instant of real time: NEVER, as seen from a clock that is ahead or behind.
FAR_OFF: Instant = NEVER // 2


class SnapshotExtras(NamedTuple):
    """What only memory stores of a snapshot: its journals, test mode's first, and its rules.

    The rules could be read from the rows again, which takes longer than the rest of a restore.
    """

    rules: Rules
    journals: tuple[Journal, Journal]


@dataclass(slots=True, eq=False, kw_only=True)
class Account:
    """The unit of isolation. Transactions change its clock and `due_at`; any thread reads them.

    `due_at` is when the next timer is due, or earlier; NEVER without one. `rules`,
    `payment_scenarios` and `snapshot_extras` are replaced as a whole, never changed in place.
    `generation` counts its resets and restores: work that began in an earlier generation is
    discarded. `unsettled` are the effects of an advance that a limit stopped, for the next one.
    """

    number: int
    profile: AccountProfile
    seed: int | None
    clock: AccountClock
    initial_clock: ClockSpec
    rules: Rules
    payment_scenarios: dict[int, str] = field(default_factory=dict)
    test: "Owner" = field(init=False)
    live: "Owner" = field(init=False)
    due_at: Instant = NEVER
    is_closed: bool = False
    advancing: asyncio.Lock = field(default_factory=asyncio.Lock)
    collector: Effects | None = None
    snapshot_extras: dict[str, SnapshotExtras] = field(default_factory=dict)
    generation: int = 0
    unsettled: Effects | None = None

    def owner(self, mode: Mode) -> "Owner":
        return self.test if mode is Mode.TEST else self.live

    def check_open(self) -> None:
        """Raises InvalidApiKey where it was deleted after the request had been received."""
        if self.is_closed:
            raise InvalidApiKey("The account of this key has just been deleted.")

    def copy(self) -> "Account":
        """An object with the same state."""
        other = copy(self)
        other.test, other.live = copy(self.test), copy(self.live)
        other.test.account = other.live.account = other
        return other

    def take_state(self, other: "Account") -> None:
        """Copy the state of another object: requests in progress hold this one."""
        for name in _ACCOUNT_STATE:
            setattr(self, name, getattr(other, name))
        for owner, source in zip(self.owners, other.owners, strict=True):
            for name in _OWNER_STATE:
                setattr(owner, name, getattr(source, name))

    @property
    def owners(self) -> tuple["Owner", "Owner"]:
        return (self.test, self.live)

    @property
    def effects_of_attempts(self) -> Effects | None:
        """The effects of the advance in progress, else of the one that a limit stopped."""
        return self.unsettled if self.collector is None else self.collector

    @property
    def has_endpoints(self) -> bool:
        return bool(self.test.endpoints or self.live.endpoints)

    def scenario_of(self, payment: int) -> "Scenario | None":
        """The scenario that was applied to the payment at a position, if it still exists."""
        name = self.payment_scenarios.get(payment)
        listed = None if name is None else self.rules.named(name)
        return None if listed is None else listed.scenario

    def scenario_name_of(self, payment: int) -> str | None:
        scenario = self.scenario_of(payment)
        return None if scenario is None else scenario.name


class Owner:
    """An account in one mode: what a key belongs to, and what payments belong to.

    `endpoints`, by position, are replaced as a whole, so that they can be read meanwhile.
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


# All but the parts of the object itself.
_ACCOUNT_STATE = {item.name for item in fields(Account)} - {
    "advancing",
    "collector",
    "is_closed",
    "live",
    "test",
}
_OWNER_STATE = set(Owner.__slots__) - {"account", "mode", "number"}
