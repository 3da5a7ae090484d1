"""Who there is: accounts, their keys, and how they come and go."""

import sqlite3
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial

from emulator.clock import SystemClock
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
from emulator.domain.instants import format_clock
from emulator.engine.accounts.account_factory import AccountFactory, EngineConfig, NewAccount
from emulator.engine.delivery.webhooks import Webhooks
from emulator.engine.payments.scheduler import Scheduler
from emulator.engine.state.account import Account, Owner, account_row, copy_of
from emulator.engine.state.change_notifier import ChangeNotifier
from emulator.engine.state.payment_cache import PaymentCache
from emulator.engine.state.rules import Rules
from emulator.storage import (
    accounts,
    actions,
    events,
    payments,
    rule_uses,
    scenarios,
    snapshots,
    timers,
)
from emulator.storage.batch import Transaction
from emulator.storage.database import Database
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
    """All accounts, in memory and in the database, and whose each key is."""

    def __init__(
        self,
        *,
        database: Database,
        wall: SystemClock,
        scheduler: Scheduler,
        payment_cache: PaymentCache,
        change_notifier: ChangeNotifier,
        webhooks: Webhooks,
        config: EngineConfig,
        rules: Rules,
    ) -> None:
        self._database = database
        self._scheduler = scheduler
        self._payment_cache = payment_cache
        self._change_notifier = change_notifier
        self._webhooks = webhooks
        self._engine_config = config
        self._account_factory = AccountFactory(wall=wall, config=config, rules=rules)
        # Of all that ever were: a number names the rows and the keys of one account only.
        self._last_number = 2
        self._by_number: dict[int, Account] = {}
        self._by_key: dict[str, Owner] = {}

    @property
    def first(self) -> Account:
        """The account that a call without a key means."""
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
        """The owner whose number stands in a position, if its account still exists."""
        account = self._by_number.get(number >> 1)
        return None if account is None else account.owners[number & 1]

    async def open(self) -> None:
        """Take up the accounts of the database, and see to it that the first two exist.

        Raises InvalidRow, UnusableDatabase.
        """
        for account in await self._database.write(self._open):
            self._enter(account)
        await self._webhooks.open(self.all(), self.first)

    async def owner_of(self, key: str) -> Owner:
        """Whose a key is. Raises InvalidApiKey (contract, section 5)."""
        owner = self._by_key.get(key)
        if owner is not None:
            return owner
        if not is_well_formed_key(key):
            raise InvalidApiKey
        if self._engine_config.auto_provision and is_well_formed_key(key, Mode.TEST):
            await self._provision(key)
            return self._by_key[key]
        raise InvalidApiKey("The API key is not known here.")

    def known_owner(self, key: str) -> Owner | None:
        """Whose a key is, if that is known without asking anyone: the way of most requests."""
        return self._by_key.get(key)

    def is_known(self, key: str) -> bool:
        return key in self._by_key

    async def _provision(self, test_key: str) -> None:
        try:
            await self.create(NewAccount(test_key=test_key))
        except InvalidField:
            # Another request with the same new key was first.
            if test_key not in self._by_key:
                raise

    async def create(self, wanted: NewAccount) -> Account:
        """A fresh account. Raises InvalidField for a key that is taken or not well-formed."""
        account = await self._database.write(partial(self._create, wanted=wanted))
        self._enter(account)
        self._scheduler.reschedule(account)
        return account

    async def delete(self, account_id: str) -> None:
        """Remove an account and all that is its. Raises UnknownAccount, AccountIsPermanent."""
        account = self.get(account_id)
        if account is self.first:
            raise AccountIsPermanent
        async with account.advancing:
            if account.is_closed:
                raise UnknownAccount(account_id)
            await self._database.write(partial(self._close, account=account), is_long=True)
            self._leave(account)

    async def reset(self, account: Account) -> None:
        """Make an account as it was at start, its clock included. Raises InvalidApiKey."""
        async with account.advancing:
            account.check_open()
            await self._database.write(partial(self._restart, account=account), is_long=True)
        self._scheduler.reschedule(account)

    async def reset_all(self) -> None:
        """Make everything as it was at start: the first two accounts, and no other."""
        for account in self.all():
            # Another caller may delete it at the same time.
            with suppress(UnknownAccount, InvalidApiKey):
                if account.number > 2:
                    await self.delete(account.profile.id)
                else:
                    await self.reset(account)
        second = await self._database.write(self._restore_second)
        if second is not None:
            self._enter(second)
        # Counted again from the start, but for accounts that were created meanwhile.
        self._last_number = max(2, *self._by_number)

    def _enter(self, account: Account) -> None:
        self._by_number[account.number] = account
        for owner in account.owners:
            self._by_key[account.profile.key(owner.mode)] = owner

    def _leave(self, account: Account) -> None:
        del self._by_number[account.number]
        for owner in account.owners:
            self._by_key.pop(account.profile.key(owner.mode), None)

    def _open(self, tx: Transaction) -> list[Account]:
        rows = accounts.load_all(tx)
        config = self._engine_config
        first = AccountProfile(
            id=FIRST_ACCOUNT,
            name="Demo Merchant",
            test_key=config.first_test_key,
            live_key=config.first_live_key,
        )
        if not rows:
            made = [
                self._account_factory.new(number, profile, clock=config.clock, seed=config.seed)
                for number, profile in ((1, first), (2, SECOND_ACCOUNT))
            ]
            for account in made:
                self._insert(tx, account)
            return made
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
        found = [self._account_factory.taken_up(tx, row) for row in rows]
        self._apply_overrides(tx, found)
        return found

    @staticmethod
    def _apply_overrides(tx: Transaction, found: Iterable[Account]) -> None:
        with reading("scenarios"):
            wishing = set(scenarios.accounts(tx))
        for account in found:
            with reading("payment_scenarios"):
                account.placed = scenarios.placed(tx, [owner.number for owner in account.owners])
            if account.number in wishing:
                # Reading scenario files takes what starting does not need.
                from emulator.engine.state.account_overrides import stored_overrides

                with reading("scenarios"):
                    overrides = stored_overrides(tx, account.number)
                account.rules = account.rules.with_overrides(overrides)

    @staticmethod
    def _insert(tx: Transaction, account: Account) -> None:
        initial_clock = format_clock(account.initial_clock)
        accounts.insert(tx, account_row(account, initial_clock=initial_clock))

    def _create(self, tx: Transaction, *, wanted: NewAccount) -> Account:
        number = self._last_number + 1
        profile = self._account_factory.profile(number, wanted)
        for param, key in (("test_key", profile.test_key), ("live_key", profile.live_key)):
            if accounts.has_key(tx, key):
                raise InvalidField(
                    param, f'"{param}" must be a new key: another account has it already.'
                )
        account = self._account_factory.new(
            number,
            profile,
            clock=wanted.clock or self._engine_config.clock,
            seed=self._engine_config.seed if wanted.seed is None else wanted.seed,
        )
        self._insert(tx, account)
        self._last_number = number
        return account

    def _remove(self, tx: Transaction, *, account: Account) -> None:
        for owner in account.owners:
            payments.delete_all(tx, owner.number)
            events.delete_all(tx, owner.number)
            actions.delete_all(tx, owner.number)
        self._webhooks.remove(tx, account)
        timers.delete_all(tx, account.number)
        rule_uses.delete_all(tx, account.number)
        scenarios.delete_all(tx, account.number, [owner.number for owner in account.owners])
        snapshots.delete_all(tx, account.number)
        accounts.delete(tx, account.number)
        tx.forget_ordinals()
        # Not before: what others have done in the same breath is remembered after the commit.
        tx.after_commit += [self._payment_cache.clear, self._change_notifier.all_changed]

    def _close(self, tx: Transaction, *, account: Account) -> None:
        self._remove(tx, account=account)
        account.is_closed = True
        tx.undo.append(partial(setattr, account, "is_closed", False))

    def _restore_second(self, tx: Transaction) -> Account | None:
        """The second account anew, if it was deleted and nobody has taken its keys since."""
        keys = (SECOND_ACCOUNT.test_key, SECOND_ACCOUNT.live_key)
        if 2 in self._by_number or any(accounts.has_key(tx, key) for key in keys):
            return None
        config = self._engine_config
        second = self._account_factory.new(2, SECOND_ACCOUNT, clock=config.clock, seed=config.seed)
        self._insert(tx, second)
        return second

    def _restart(self, tx: Transaction, *, account: Account) -> None:
        self._remove(tx, account=account)
        fresh = self._account_factory.new(
            account.number, account.profile, clock=account.initial_clock, seed=account.seed
        )
        self._insert(tx, fresh)
        fresh.generation = account.generation + 1
        self._webhooks.found(tx, fresh)
        tx.undo.append(partial(account.restart, copy_of(account)))
        account.restart(fresh)
