"""An account while the program runs: its configuration, clock, modes and next timer."""

import asyncio
from collections.abc import Callable, Iterable
from copy import copy
from functools import partial

import msgspec

from emulator import ids
from emulator.clock import AccountClock
from emulator.domain.accounts import VARY_OFF, AccountProfile, Mode, TokenBucket
from emulator.domain.errors import InvalidApiKey, UnknownEndpoint
from emulator.domain.instants import ClockSpec, Instant
from emulator.domain.payment import Event, Payment
from emulator.domain.transitions import DueKey
from emulator.domain.variants import EventVariants, Variants
from emulator.domain.webhooks import RegisteredEndpoint, WebhookForm
from emulator.scenarios.values import Scenario
from emulator.server.engine.state.journal import Journal
from emulator.server.engine.state.rules import Rules, stored_overrides
from emulator.server.engine.state.wire import event_json
from emulator.server.storage import accounts, deliveries, scenarios, timers
from emulator.server.storage.batch import LAST_ORDINAL, Transaction
from emulator.settings import Settings


class EngineConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The settings, with what they name in files, and what only callers of the program set.

    `webhook_form` is for endpoints that have no form of their own; None is `standard`.
    `webhook_authorities` are certificates in PEM, in addition to the system's certificates.
    `stamps_business_time` puts the account's clock in the timestamp of webhooks. Only a replay sets
    it, because real time would make each of its runs different.
    """

    settings: Settings
    webhook_form: WebhookForm | None
    webhook_authorities: str
    stamps_business_time: bool
    max_journal_bytes: int


class Advance(msgspec.Struct, eq=False):
    """An advance of the clock, and its effects as JSON objects.

    Attempts that were due before it began are not its effects. Attempts beyond the `horizon` wait;
    without a horizon the advance does not wait for attempts. After an advance that a limit
    stopped, the next one goes on with the same object.
    """

    is_running: bool = False
    # Each with its due key: concurrent attempts end in any order.
    _effects: list[tuple[DueKey, bytes]] = []
    _since: DueKey | None = None
    _horizon: DueKey | None = None

    @property
    def has_begun(self) -> bool:
        return self._since is not None

    @property
    def horizon(self) -> DueKey | None:
        """The last due key that may be attempted, while the advance waits for attempts."""
        return self._horizon if self.is_running else None

    @horizon.setter
    def horizon(self, latest: DueKey) -> None:
        self._horizon = latest

    def begin(self, latest: DueKey, *, waits: bool) -> None:
        """Begin or continue an advance: attempts that are due later than `latest` are effects."""
        self._since = self._since or latest
        self._horizon = latest if waits else None

    @property
    def count(self) -> int:
        return len(self._effects)

    def add(self, effects: Iterable[tuple[DueKey, bytes]]) -> None:
        """Add timers; the receiver of an event may cause other effects before it responds."""
        self._effects.extend(effects)

    def add_attempt(self, due: DueKey, effect: bytes) -> None:
        since, horizon = self._since, self._horizon
        if since is not None and horizon is not None and since < due <= horizon:
            self._effects.append((due, effect))

    def truncate(self, count: int) -> None:
        """Remove all effects after the first `count`, because their transaction failed."""
        del self._effects[count:]

    def take(self) -> list[bytes]:
        """Remove and return all effects, in order of due time and then of creation."""
        # Another thread may add an attempt at the same time.
        effects, self._effects = self._effects, []
        return [effect for _, effect in sorted(effects)]


NEVER: Instant = 1 << 62
# Later than any instant of real time: NEVER, as seen from a clock that is ahead or behind.
FAR_OFF: Instant = NEVER // 2


class Account(msgspec.Struct, eq=False, kw_only=True):
    """The unit of isolation. Transactions change its clock and `due_at`; any thread reads them.

    `due_at` is when the next timer is due, or earlier; NEVER without a timer. `rules`,
    `payment_scenarios`, `scenario_starts` and `snapshot_journals` are replaced as a whole, never
    changed in place. The journals of a snapshot, test mode's first, are only in memory.
    `generation` counts its resets and restores: work that began in an earlier generation is
    discarded. `advance` is in progress, has not begun, or was stopped by a limit and continues
    with the next call. `vary` is its own setting of variants, if it has one. A deleted account has
    no `owners`.
    """

    number: int
    profile: AccountProfile
    seed: int | None
    clock: AccountClock
    initial_clock: ClockSpec
    rules: Rules
    vary: str | None = None
    variants: Variants | None = None
    payment_scenarios: dict[int, str] = msgspec.field(default_factory=dict)
    scenario_starts: dict[str, Instant] = msgspec.field(default_factory=dict)
    owners: tuple["Owner", ...] = ()
    due_at: Instant = NEVER
    is_closed: bool = False
    advancing: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)
    snapshot_journals: dict[str, tuple[Journal, ...]] = msgspec.field(default_factory=dict)
    generation: int = 0
    advance: Advance = msgspec.field(default_factory=Advance)

    @property
    def test(self) -> "Owner":
        return self.owners[0]

    @property
    def live(self) -> "Owner":
        return self.owners[1]

    def owner(self, mode: Mode) -> "Owner":
        return self.test if mode is Mode.TEST else self.live

    def check_open(self) -> None:
        """Raises InvalidApiKey where it was deleted after the request had been received."""
        if self.is_closed:
            raise InvalidApiKey("The account of this key has just been deleted.")

    def load(self, tx: Transaction) -> None:
        """Read what memory has of the account's rows, all but its clock."""
        self.payment_scenarios = scenarios.applied(tx, self.number)
        self.scenario_starts = scenarios.starts(tx, self.number)
        self.rules = self.rules.with_overrides(stored_overrides(tx, self.number))
        due_at = timers.next_due_at(tx, self.number)
        self.due_at = NEVER if due_at is None else due_at
        for owner in self.owners:
            owner.endpoints = accounts.endpoints_of(tx, owner.number)

    def copy(self) -> "Account":
        """An object with the same state; its owners refer to the original."""
        other = copy(self)
        other.owners = tuple(map(copy, self.owners))
        return other

    def take_state(self, other: "Account") -> None:
        """Take the state of another object and discard it: requests in progress hold this one."""
        for name in _ACCOUNT_STATE:
            setattr(self, name, getattr(other, name))
        for owner, source in zip(self.owners, other.owners, strict=True):
            for name in _OWNER_STATE:
                setattr(owner, name, getattr(source, name))
        other.discard()

    def discard(self) -> None:
        """Free the memory now: a cycle would stay until a garbage collection, which is rare."""
        for owner in self.owners:
            owner.journal = Journal()
        self.snapshot_journals, self.owners = {}, ()

    @property
    def has_endpoints(self) -> bool:
        return any(owner.endpoints for owner in self.owners)

    def scenario_of(self, payment: int) -> Scenario | None:
        """The scenario that was applied to the payment at a position, if it still exists."""
        name = self.payment_scenarios.get(payment)
        listed = None if name is None else self.rules.named(name)
        return None if listed is None else listed.scenario

    def elapsed_ms(self, source: str, payment: int | None = None) -> int:
        """The time since a scenario was enabled, or applied to a payment, or a fault was added."""
        starts = self.scenario_starts
        began = starts.get(applied_source(source, payment), starts.get(source))
        return self.clock.now() - (starts.get(START_OF_ACCOUNT, 0) if began is None else began)


START_OF_ACCOUNT = ""


def applied_source(scenario: str, payment: int | None) -> str:
    """The source of the start of a scenario that was applied to the payment at a position."""
    return f"{scenario} {payment}"


# The key of an ASGI scope for the owner that the log shows.
OWNER_OF_REQUEST = "emulator.owner"


def variants_of(setting: str, applied: set[str]) -> Variants | None:
    """The variants of a setting that `vary_setting` has returned; see `Variants`."""
    if setting == VARY_OFF:
        return None
    return Variants(
        setting, lambda seed: partial(ids.chance, ids.stream_key(seed, "vary")), applied
    )


class Owner(msgspec.Struct, eq=False, kw_only=True):
    """An account in one mode: what a key belongs to, and what payments belong to.

    `endpoints`, by position, are replaced as a whole, so that they can be read meanwhile. Requests
    are counted from the start of the program: without a seed, their ids are of a new stream at each
    start, so that none is used twice.
    """

    account: Account
    mode: Mode
    number: int
    stream: bytes
    request_stream: bytes
    bucket: TokenBucket | None
    journal: Journal
    requests: int = 0
    reads: dict[str, int] = {}
    endpoints: dict[int, RegisteredEndpoint] = {}

    def endpoint(self, endpoint_id: str) -> RegisteredEndpoint:
        """Raises UnknownEndpoint, also when the account has just been deleted."""
        for endpoint in self.endpoints.values():
            if endpoint.id == endpoint_id:
                return endpoint
        raise UnknownEndpoint(endpoint_id)

    def put_endpoint(self, tx: Transaction, endpoint: RegisteredEndpoint) -> None:
        """Write a changed endpoint; the pending deliveries of a disabled one are cancelled."""
        if not endpoint.is_enabled:
            deliveries.cancel_all(tx, endpoint.position)
        accounts.update_endpoint(tx, endpoint)
        tx.set(self, "endpoints", {**self.endpoints, endpoint.position: endpoint})

    def event_id(self, event: Event) -> str:
        return ids.event_id(self.stream, event.position & LAST_ORDINAL)

    def event_body(self, event: Event, payment: Payment) -> bytes:
        """The event as the control API shows it, with its variants and the payment as it was."""
        variants = self.event_variants(event.position)
        return variants.body(variants.event(self.usual_event_body(event, payment)))

    def usual_event_body(self, event: Event, payment: Payment) -> bytes:
        """The event without variants, with the payment as it was then."""
        payment_then = payment._replace(
            status=event.status,
            method=event.method,
            reason=event.reason,
            completed_at=event.completed_at,
        )
        return event_json(event, payment_then, event_id=self.event_id(event), mode=self.mode)

    def event_variants(
        self,
        position: int,
        render: Callable[[bytes], bytes] = bytes,
        *,
        has_fields: bool = False,
    ) -> EventVariants:
        """The variants of the event at a position; see `EventVariants`."""
        variants = self.account.variants
        if variants is None:
            return EventVariants(())
        return variants.of_event(position & LAST_ORDINAL, render, has_fields=has_fields)


# All but the parts of the object itself.
_ACCOUNT_STATE = set(Account.__struct_fields__) - {"advancing", "is_closed", "owners"}
_OWNER_STATE = set(Owner.__struct_fields__) - {"account", "mode", "number"}
