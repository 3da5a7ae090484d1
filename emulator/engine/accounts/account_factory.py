"""Builds accounts, with their keys, random streams and clocks."""

from dataclasses import dataclass

from emulator import ids
from emulator.clock import AccountClock, SystemClock
from emulator.domain.accounts import AccountProfile, Mode, is_well_formed_key
from emulator.domain.errors import InvalidField
from emulator.domain.instants import ClockKind, ClockSpec, format_clock, parse_clock
from emulator.engine.state.account import NEVER, Account, Owner
from emulator.engine.state.config import EngineConfig
from emulator.engine.state.rules import Rules
from emulator.storage import events, timers
from emulator.storage.accounts import AccountRow
from emulator.storage.batch import Transaction
from emulator.storage.invalid_rows import check_instant, reading

DEFAULT_NAME = "Test Merchant"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAccount:
    """The requested properties of a new account; None is the default."""

    name: str | None = None
    test_key: str | None = None
    live_key: str | None = None
    clock: ClockSpec | None = None
    seed: int | None = None


class AccountFactory:
    """Builds accounts from requests and rows; it writes nothing."""

    def __init__(self, *, wall: SystemClock, config: EngineConfig, rules: Rules) -> None:
        self._wall = wall
        self._config = config
        self._rules = rules
        self._stream = ids.stream_key(config.seed, "accounts")

    def new(
        self, number: int, profile: AccountProfile, *, clock: ClockSpec, seed: int | None
    ) -> Account:
        """A new account; a clock frozen at the present has that instant after a reset too."""
        running = AccountClock.from_spec(self._wall, clock)
        if clock.kind is ClockKind.FROZEN:
            clock = ClockSpec(kind=ClockKind.FROZEN, instant=running.now())
        account = Account(
            number=number,
            profile=profile,
            seed=seed,
            clock=running,
            initial_clock=clock,
            rules=self._rules,
        )
        self._add_owners(
            account,
            ids.stream_key(seed, Mode.TEST, profile.test_key),
            ids.stream_key(seed, Mode.LIVE, profile.live_key),
        )
        return account

    def _add_owners(self, account: Account, test_stream: bytes, live_stream: bytes) -> None:
        limit = self._config.rate_limit
        account.test = Owner(account, Mode.TEST, stream=test_stream, rate_limit=limit)
        account.live = Owner(account, Mode.LIVE, stream=live_stream, rate_limit=limit)
        for owner in account.owners:
            # Requests are counted from the start of the program: without a seed, their ids are
            # of a new stream at each start, so that none is used twice.
            key = account.profile.key(owner.mode)
            owner.request_stream = ids.stream_key(account.seed, owner.mode, key, "requests")

    def of_row(self, tx: Transaction, row: AccountRow) -> Account:
        """The account of a row. Raises InvalidRow."""
        clock = AccountClock(self._wall, frozen_at=row.frozen_at, offset_ms=row.offset_ms)
        with reading("accounts"):
            initial_clock = parse_clock(row.initial_clock)
        account = Account(
            number=row.number,
            profile=row.profile,
            seed=row.seed,
            clock=clock,
            initial_clock=initial_clock,
            rules=self._rules,
        )
        self._add_owners(account, row.test_stream, row.live_stream)
        with reading("timers"):
            account.due_at = timers.next_due_at(tx, account.number) or NEVER
            following = timers.next_of_account(tx, account.number)
            if following is not None:
                check_instant("due_at", following[0].due_at)
        with reading("events"):
            latest_at = max(
                (
                    event.at
                    for owner in account.owners
                    for event in events.newest(tx, owner.number, 1)
                ),
                default=0,
            )
            check_instant("at", latest_at)
        if clock.now() < latest_at:
            # The system clock was set back while the program was not running.
            clock.flow_from(latest_at)
        with reading("accounts"):
            check_instant("offset_ms", clock.now())
        return account

    def profile(self, number: int, request: NewAccount) -> AccountProfile:
        """The name, id and keys of a new account. Raises InvalidField for a malformed key."""
        for param, key, mode in (
            ("test_key", request.test_key, Mode.TEST),
            ("live_key", request.live_key, Mode.LIVE),
        ):
            if key is not None and not is_well_formed_key(key, mode):
                raise InvalidField(
                    param, f'"{param}" must be {mode}_ and 4 to 128 letters, digits or underscores.'
                )
        stream = self._stream
        if request.test_key is not None:
            # The same key gives the same account, whatever was created before.
            seed = self._config.seed if request.seed is None else request.seed
            stream, number = ids.stream_key(seed, "account", request.test_key), 0
        return AccountProfile(
            id=ids.account_id(stream, number),
            name=request.name or DEFAULT_NAME,
            test_key=request.test_key or ids.api_key(stream, Mode.TEST, number),
            live_key=request.live_key or ids.api_key(stream, Mode.LIVE, number),
        )


def account_row(account: Account) -> AccountRow:
    """The account as it is stored."""
    clock = account.clock
    return AccountRow(
        number=account.number,
        profile=account.profile,
        seed=account.seed,
        test_stream=account.test.stream,
        live_stream=account.live.stream,
        initial_clock=format_clock(account.initial_clock),
        frozen_at=clock.now() if clock.is_frozen else None,
        offset_ms=clock.offset_ms,
    )
