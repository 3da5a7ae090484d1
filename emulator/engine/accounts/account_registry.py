"""Creates, finds, resets and deletes accounts, and finds the owner of a key."""

import sqlite3
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial

from emulator.domain.accounts import (
    OTHER_LIVE_KEY,
    OTHER_TEST_KEY,
    AccountProfile,
    Mode,
    is_well_formed_key,
)
from emulator.domain.errors import (
    AccountIsPermanent,
    InvalidApiKey,
    InvalidField,
    UnknownAccount,
)
from emulator.engine.accounts.account_factory import AccountFactory, NewAccount, account_row
from emulator.engine.payments.context import EngineContext
from emulator.engine.state.account import Account, Owner
from emulator.engine.state.rules import Rules, stored_overrides
from emulator.storage import accounts, scenarios, snapshots
from emulator.storage.batch import Transaction
from emulator.storage.database import writes
from emulator.storage.invalid_rows import InvalidRow, reading
from emulator.storage.migrations import UnusableDatabase

FIRST_ACCOUNT = "acct_demo"
SECOND_ACCOUNT = AccountProfile(
    id="acct_other",
    name="Other Merchant",
    test_key=OTHER_TEST_KEY,
    live_key=OTHER_LIVE_KEY,
)


class AccountRegistry:
    """All accounts, in memory and in the database, and their keys."""

    def __init__(self, context: EngineContext, rules: Rules) -> None:
        self._database = context.database
        self._scheduler = context.scheduler
        self._payment_cache = context.payment_cache
        self._change_notifier = context.change_notifier
        self._webhooks = context.webhooks
        self._config = context.config
        self._account_factory = AccountFactory(
            wall=context.wall, config=context.config, rules=rules
        )
        # Deleted accounts included: no other account gets their rows or the ids of their streams.
        self._last_number = 2
        self._by_number: dict[int, Account] = {}
        self._by_key: dict[str, Owner] = {}

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
        """Load the accounts of the database, or create the first two.

        Raises InvalidRow, UnusableDatabase.
        """
        for account in await self._open():
            self._add(account)
        await self._webhooks.open(self.all(), self.first)

    async def owner_of(self, key: str) -> Owner:
        """The owner of a key. Raises InvalidApiKey (contract, section 5)."""
        owner = self._by_key.get(key)
        if owner is not None:
            return owner
        if not is_well_formed_key(key):
            raise InvalidApiKey
        if self._config.auto_provision and is_well_formed_key(key, Mode.TEST):
            await self._provision(key)
            return self._by_key[key]
        raise InvalidApiKey("The API key is not known here.")

    def known_owner(self, key: str) -> Owner | None:
        """The owner of a key that exists, without a database query: the case of most requests."""
        return self._by_key.get(key)

    def is_known(self, key: str) -> bool:
        return key in self._by_key

    async def _provision(self, test_key: str) -> None:
        try:
            await self.create(NewAccount(test_key=test_key))
        except InvalidField:
            # Another request with the same new key has created the account.
            if test_key not in self._by_key:
                raise

    async def create(self, request: NewAccount) -> Account:
        """Create an account. Raises InvalidField for a key that is taken or not well-formed."""
        account = await self._create(request)
        self._add(account)
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
            self._by_key[account.profile.key(owner.mode)] = owner

    def _discard(self, account: Account) -> None:
        del self._by_number[account.number]
        for owner in account.owners:
            self._by_key.pop(account.profile.key(owner.mode), None)

    @writes()
    def _open(self, tx: Transaction) -> list[Account]:
        rows = accounts.load_all(tx)
        config = self._config
        first = AccountProfile(
            id=FIRST_ACCOUNT,
            name="Demo Merchant",
            test_key=config.first_test_key,
            live_key=config.first_live_key,
        )
        if not rows:
            created = [
                self._account_factory.new(number, profile, clock=config.clock, seed=config.seed)
                for number, profile in ((1, first), (2, SECOND_ACCOUNT))
            ]
            for account in created:
                accounts.insert(tx, account_row(account))
            return created
        if rows[0].number != 1:
            raise InvalidRow("accounts", "the first account, number 1, is missing")
        rows[0] = replace(rows[0], profile=replace(first, name=rows[0].profile.name))
        try:
            accounts.set_keys(tx, rows[0])
        except sqlite3.IntegrityError:
            raise UnusableDatabase(
                "another account of the database has the key that the first one is to have"
            ) from None
        self._last_number = rows[-1].number
        loaded = [self._account_factory.of_row(tx, row) for row in rows]
        self._load_overrides(tx, loaded)
        return loaded

    @staticmethod
    def _load_overrides(tx: Transaction, loaded: Iterable[Account]) -> None:
        with reading("scenarios"):
            with_overrides = set(scenarios.accounts(tx))
        for account in loaded:
            with reading("payment_scenarios"):
                account.payment_scenarios = scenarios.applied(
                    tx, [owner.number for owner in account.owners]
                )
            if account.number in with_overrides:
                with reading("scenarios"):
                    overrides = stored_overrides(tx, account.number)
                account.rules = account.rules.with_overrides(overrides)

    @writes()
    def _create(self, tx: Transaction, request: NewAccount) -> Account:
        number = self._last_number + 1
        profile = self._account_factory.profile(number, request)
        for param, key in (("test_key", profile.test_key), ("live_key", profile.live_key)):
            if accounts.has_key(tx, key):
                raise InvalidField(
                    param, f'"{param}" must be a new key: another account has it already.'
                )
        account = self._account_factory.new(
            number,
            profile,
            clock=request.clock or self._config.clock,
            seed=self._config.seed if request.seed is None else request.seed,
        )
        accounts.insert(tx, account_row(account))
        self._last_number = number
        return account

    def _remove(self, tx: Transaction, account: Account) -> None:
        """Delete all rows of an account."""
        snapshots.clear(tx, account.number)
        snapshots.delete_all(tx, account.number)
        accounts.delete(tx, account.number)
        tx.forget_ordinals()
        self._webhooks.drop(tx, account)
        # After the commit, because other work of the same transaction fills the cache then.
        tx.after_commit += [self._payment_cache.clear, self._change_notifier.all_changed]

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
        config = self._config
        second = self._account_factory.new(2, SECOND_ACCOUNT, clock=config.clock, seed=config.seed)
        accounts.insert(tx, account_row(second))
        return second

    @writes(is_long=True)
    def _reset(self, tx: Transaction, account: Account) -> None:
        self._remove(tx, account)
        initial = self._account_factory.new(
            account.number, account.profile, clock=account.initial_clock, seed=account.seed
        )
        accounts.insert(tx, account_row(initial))
        initial.generation = account.generation + 1
        self._webhooks.restore_initial(tx, initial)
        tx.undo.append(partial(account.take_state, account.copy()))
        account.take_state(initial)
