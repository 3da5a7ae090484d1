"""Creates, finds, resets and deletes accounts, and finds the owner of a key."""

import asyncio
import sqlite3
from collections.abc import Iterable
from contextlib import nullcontext, suppress
from functools import partial

from msgspec import Struct

from emulator import ids
from emulator.clock import AccountClock
from emulator.domain.accounts import (
    KEY_FORM,
    OTHER_LIVE_KEY,
    OTHER_TEST_KEY,
    AccountProfile,
    Mode,
    TokenBucket,
    is_well_formed_key,
)
from emulator.domain.errors import AccountIsPermanent, InvalidApiKey, InvalidField, UnknownAccount
from emulator.domain.instants import ClockKind, ClockSpec
from emulator.domain.message_text import copied_ends
from emulator.domain.user_error import UserError
from emulator.server.engine.payments.scheduler import EngineContext, EngineService
from emulator.server.engine.state.account import START_OF_ACCOUNT, Account, Owner, variants_of
from emulator.server.engine.state.journal import Journal
from emulator.server.engine.state.rules import Library
from emulator.server.storage import accounts, events, scenarios
from emulator.server.storage.accounts import AccountRow
from emulator.server.storage.batch import Transaction
from emulator.server.storage.database import writes

DEFAULT_NAME = "Test Merchant"


class NewAccount(Struct, frozen=True):
    """The requested properties of a new account; None is the default."""

    name: str | None = None
    test_key: str | None = None
    live_key: str | None = None
    takes_over: str | None = None
    clock: ClockSpec | None = None
    seed: int | None = None
    vary: str | None = None


FIRST_ACCOUNT = "acct_demo"
SECOND_ACCOUNT = AccountProfile(
    id="acct_other", name="Other Merchant", test_key=OTHER_TEST_KEY, live_key=OTHER_LIVE_KEY
)


class AccountRegistry(EngineService):
    """All accounts, in memory and in the database, and their keys."""

    def __init__(self, context: EngineContext, library: Library) -> None:
        super().__init__(context)
        self._library = library
        self._stream = ids.stream_key(self._settings.seed, "accounts")
        self.unauthorized = context.unauthorized
        # The names of the variants that any response or webhook had.
        self.applied_variants: set[str] = set()
        # Deleted accounts included: no other account gets their rows or the ids of their streams.
        self._last_number = 2
        self._by_number: dict[int, Account] = {}
        self.by_key: dict[str, Owner] = {}
        # Held from the check that the key of the first account is free until another has it.
        self._taking_over = asyncio.Lock()

    @property
    def first(self) -> Account:
        """The account of calls without a key."""
        return self._by_number[1]

    def all(self) -> Iterable[Account]:
        return tuple(self._by_number.values())

    def get(self, account_id: str) -> Account:
        """Raises UnknownAccount."""
        for account in self._by_number.values():
            if account.profile.id == account_id:
                return account
        raise UnknownAccount(account_id)

    def owner_numbered(self, number: int) -> Owner | None:
        """The owner with a number, which positions contain, if its account still exists."""
        account = self._by_number.get(number >> 1)
        return None if account is None else account.owners[number & 1]

    async def open(self) -> None:
        """Load the accounts of the database, or create the first two. Raises UserError."""
        for account in await self._open():
            self._add(account)
        await self._webhooks.open(self.all(), self.first)

    async def owner_of(self, key: str) -> Owner:
        """The owner of a key. Raises InvalidApiKey (contract, section 5)."""
        owner = self.by_key.get(key)
        if owner is not None:
            return owner
        if not is_well_formed_key(key):
            raise InvalidApiKey
        if self._settings.auto_provision and is_well_formed_key(key, Mode.TEST):
            await self._provision(key)
            return self.by_key[key]
        raise InvalidApiKey(InvalidApiKey.unknown)

    def is_known(self, key: str) -> bool:
        return key in self.by_key

    async def _provision(self, test_key: str) -> None:
        try:
            await self.create(NewAccount(test_key=test_key))
        except InvalidField:
            # Another request with the same new key has created the account.
            if test_key not in self.by_key:
                raise

    async def create(self, request: NewAccount) -> Account:
        """Create an account. Raises InvalidField for a key that is taken or not well-formed."""
        key, first = request.takes_over, self.first.owner(Mode.TEST)
        async with nullcontext() if key is None else self._taking_over:
            if key is not None and self.by_key.get(key) is not first:
                raise InvalidField(
                    "takes_over",
                    '"takes_over" must be the test key of the first account, which no other account'
                    " has taken over.",
                )
            account = await self._create(request)
            self._add(account)
            if key is not None:
                self.by_key[key] = account.owner(Mode.TEST)
        self._scheduler.reschedule(account)
        return account

    async def delete(self, account_id: str) -> None:
        """Delete an account and all its data. Raises UnknownAccount, AccountIsPermanent."""
        account = self.get(account_id)
        if account is self.first:
            raise AccountIsPermanent
        async with account.advancing:
            if account.is_closed:
                raise UnknownAccount(account_id)
            await self._close(account)
            self._discard(account)

    async def reset(self, account: Account) -> None:
        """Reset an account to its state at start, clock included. Raises InvalidApiKey."""
        async with account.advancing:
            account.check_open()
            await self._reset(account)
        self._scheduler.reschedule(account)

    async def reset_all(self) -> None:
        """Reset everything to the start: the first two accounts, and no other."""
        self.unauthorized.clear()
        for account in self.all():
            # Another caller may delete it at the same time.
            with suppress(UnknownAccount, InvalidApiKey):
                if account.number > 2:
                    await self.delete(account.profile.id)
                else:
                    await self.reset(account)
        second = await self._restore_second()
        if second is not None:
            self._add(second)
        # Counted from the start again, after accounts that were created meanwhile.
        self._last_number = max(2, *self._by_number)

    def _add(self, account: Account) -> None:
        self._by_number[account.number] = account
        for owner in account.owners:
            self.by_key[account.profile.key(owner.mode)] = owner

    def _discard(self, account: Account) -> None:
        del self._by_number[account.number]
        for owner in account.owners:
            self.by_key.pop(account.profile.key(owner.mode), None)
        key = self.first.profile.test_key
        if self.by_key[key] in account.owners:
            self.by_key[key] = self.first.owner(Mode.TEST)
        account.discard()

    @writes()
    def _open(self, tx: Transaction) -> list[Account]:
        rows = accounts.load_all(tx)
        settings = self._settings
        first = AccountProfile(
            id=FIRST_ACCOUNT,
            name="Demo Merchant",
            test_key=settings.test_key,
            live_key=settings.live_key,
        )
        if not rows:
            return [
                self._insert(tx, number, profile, settings.clock, settings.seed, None)
                for number, profile in ((1, first), (2, SECOND_ACCOUNT))
            ]
        rows[0] = rows[0]._replace(**first._replace(name=rows[0].name)._asdict())
        try:
            accounts.set_keys(tx, rows[0])
        except sqlite3.IntegrityError:
            raise UserError(
                "another account of the database already has the key of the first account"
            ) from None
        self._last_number = rows[-1].number
        return [self._loaded(tx, row) for row in rows]

    def _loaded(self, tx: Transaction, row: AccountRow) -> Account:
        account = self._account_of(row)
        account.load(tx)
        latest = (events.newest(tx, owner.number, 1) for owner in account.owners)
        latest_at = max((event.at for found in latest for event in found), default=0)
        if account.clock.now() < latest_at:
            # The system clock was set back while the program was not running.
            account.clock.flow_from(latest_at)
        return account

    def _insert(
        self,
        tx: Transaction,
        number: int,
        profile: AccountProfile,
        clock: ClockSpec,
        seed: int | None,
        vary: str | None,
    ) -> Account:
        """Write a new account; a clock frozen at the present has that instant after a reset too."""
        running = AccountClock.from_spec(self._wall, clock)
        frozen_at = running.now() if clock.kind is ClockKind.FROZEN else None
        if frozen_at is not None:
            clock = ClockSpec(kind=ClockKind.FROZEN, instant=frozen_at)
        row = AccountRow(
            number=number,
            **profile._asdict(),
            seed=seed,
            test_stream=ids.stream_key(seed, Mode.TEST, profile.test_key),
            live_stream=ids.stream_key(seed, Mode.LIVE, profile.live_key),
            initial_clock=clock,
            vary=vary,
            frozen_at=frozen_at,
            offset_ms=running.offset_ms,
            rate_thousandths=running.rate_thousandths,
        )
        accounts.insert(tx, row)
        account = self._account_of(row)
        account.scenario_starts = {START_OF_ACCOUNT: running.now()}
        scenarios.start(tx, number, START_OF_ACCOUNT, running.now())
        return account

    def _account_of(self, row: AccountRow) -> Account:
        account = Account(
            number=row.number,
            profile=row.profile,
            seed=row.seed,
            clock=AccountClock(
                self._wall,
                frozen_at=row.frozen_at,
                offset_ms=row.offset_ms,
                rate_thousandths=row.rate_thousandths,
            ),
            initial_clock=row.initial_clock,
            rules=self._library.initial_rules,
            vary=row.vary,
            variants=variants_of(row.vary or self._settings.vary, self.applied_variants),
        )
        limit = self._settings.rate_limit
        account.owners = tuple(
            Owner(
                account=account,
                mode=mode,
                number=row.number * 2 + is_live,
                stream=stream,
                request_stream=ids.stream_key(row.seed, mode, row.profile.key(mode), "requests"),
                bucket=None if limit is None else TokenBucket(limit),
                journal=Journal(self._config.max_journal_bytes),
            )
            for is_live, mode, stream in (
                (False, Mode.TEST, row.test_stream),
                (True, Mode.LIVE, row.live_stream),
            )
        )
        return account

    @writes()
    def _create(self, tx: Transaction, request: NewAccount) -> Account:
        number = self._last_number + 1
        profile = self._profile(number, request)
        for param, key in (("test_key", profile.test_key), ("live_key", profile.live_key)):
            if accounts.has_key(tx, key):
                raise InvalidField(
                    param, f'"{param}" must be a new key: another account has it already.'
                )
        seed = self._settings.seed if request.seed is None else request.seed
        account = self._insert(
            tx, number, profile, request.clock or self._settings.clock, seed, request.vary
        )
        self._last_number = number
        return account

    def _profile(self, number: int, request: NewAccount) -> AccountProfile:
        """The name, id and keys of a new account. Raises InvalidField for a malformed key."""
        for param, key, mode in (
            ("test_key", request.test_key, Mode.TEST),
            ("live_key", request.live_key, Mode.LIVE),
        ):
            if key is not None and not is_well_formed_key(key, mode):
                message = f'"{param}" must be {mode}_ {KEY_FORM}{copied_ends(key)}.'
                raise InvalidField(param, message)
        stream = self._stream
        if request.test_key is not None:
            # The same key gives the same account, whatever was created before.
            seed = self._settings.seed if request.seed is None else request.seed
            stream, number = ids.stream_key(seed, "account", request.test_key), 0
        return AccountProfile(
            id=ids.account_id(stream, number),
            name=request.name or DEFAULT_NAME,
            test_key=request.test_key or ids.api_key(stream, Mode.TEST, number),
            live_key=request.live_key or ids.api_key(stream, Mode.LIVE, number),
        )

    def _remove(self, tx: Transaction, account: Account) -> None:
        """Delete all rows of an account."""
        accounts.delete(tx, account.number)
        self._forget(tx, account)

    @writes(is_long=True)
    def _close(self, tx: Transaction, account: Account) -> None:
        self._remove(tx, account)
        tx.set(account, "is_closed", True)
        for owner in account.owners:
            tx.set(owner, "endpoints", {})

    @writes()
    def _restore_second(self, tx: Transaction) -> Account | None:
        """Create the second account again, unless it exists or its keys are taken."""
        keys = (SECOND_ACCOUNT.test_key, SECOND_ACCOUNT.live_key)
        if 2 in self._by_number or any(accounts.has_key(tx, key) for key in keys):
            return None
        return self._insert(tx, 2, SECOND_ACCOUNT, self._settings.clock, self._settings.seed, None)

    @writes(is_long=True)
    def _reset(self, tx: Transaction, account: Account) -> None:
        self._remove(tx, account)
        initial = self._insert(
            tx, account.number, account.profile, account.initial_clock, account.seed, account.vary
        )
        initial.generation = account.generation + 1
        self._webhooks.restore_initial(tx, initial)
        tx.undo.append(partial(account.take_state, account.copy()))
        account.take_state(initial)
