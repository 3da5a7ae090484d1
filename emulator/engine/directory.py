"""Who there is: accounts, their keys, and how they come and go."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from emulator import ids
from emulator.clock import AccountClock, Wall
from emulator.domain.accounts import (
    OTHER_LIVE_KEY,
    OTHER_TEST_KEY,
    AccountProfile,
    Mode,
    is_well_formed_key,
)
from emulator.domain.clock_spec import ClockKind, ClockSpec, format_clock, parse_clock
from emulator.domain.errors import (
    AccountIsPermanent,
    InvalidApiKey,
    InvalidField,
    UnknownAccount,
)
from emulator.domain.rate_limit import RateLimit
from emulator.engine.accounts import NEVER, Account, Owner, account_row, copy_of
from emulator.engine.announcements import Announcements
from emulator.engine.rendered import Rendered
from emulator.engine.settling import Settling
from emulator.storage import accounts, events, payments, rule_uses, timers
from emulator.storage.accounts import AccountRow
from emulator.storage.batch import Transaction
from emulator.storage.database import Database

FIRST_ACCOUNT = "acct_demo"
SECOND_ACCOUNT = AccountProfile(
    id="acct_other",
    name="Other Merchant",
    test_key=OTHER_TEST_KEY,
    live_key=OTHER_LIVE_KEY,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rulings:
    """What the settings decide about every account."""

    first_test_key: str
    first_live_key: str
    seed: int | None
    clock: ClockSpec
    rate_limit: RateLimit | None
    auto_provision: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAccount:
    """What a caller wants of a new account; None leaves it to us."""

    name: str | None = None
    test_key: str | None = None
    live_key: str | None = None
    clock: ClockSpec | None = None
    seed: int | None = None


class Directory:
    """All accounts, in memory and in the database, and whose each key is."""

    def __init__(
        self,
        *,
        database: Database,
        wall: Wall,
        settling: Settling,
        rendered: Rendered,
        announcements: Announcements,
        rulings: Rulings,
    ) -> None:
        self._database = database
        self._wall = wall
        self._settling = settling
        self._rendered = rendered
        self._announcements = announcements
        self._rulings = rulings
        self._stream = ids.stream_key(rulings.seed, "accounts")
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
        """Take up the accounts of the database, and see to it that the first two exist."""
        for account in await self._database.write(self._open):
            self._enter(account)

    async def owner_of(self, key: str) -> Owner:
        """Whose a key is. Raises InvalidApiKey (contract, section 5)."""
        owner = self._by_key.get(key)
        if owner is not None:
            return owner
        if not is_well_formed_key(key):
            raise InvalidApiKey("The API key is not well-formed: test_ or live_ and its word.")
        if self._rulings.auto_provision and is_well_formed_key(key, Mode.TEST):
            await self._provision(key)
            return self._by_key[key]
        raise InvalidApiKey("The API key is not known here.")

    def known_owner(self, key: str) -> Owner | None:
        """Whose a key is, if that is known without asking anyone: the way of most requests."""
        return self._by_key.get(key)

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
        self._settling.notice(account)
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
        self._settling.notice(account)

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
        rulings = self._rulings
        first = AccountProfile(
            id=FIRST_ACCOUNT,
            name="Demo Merchant",
            test_key=rulings.first_test_key,
            live_key=rulings.first_live_key,
        )
        if not rows:
            made = [
                self._made(number, profile, clock=rulings.clock, seed=rulings.seed)
                for number, profile in ((1, first), (2, SECOND_ACCOUNT))
            ]
            for account in made:
                self._insert(tx, account)
            return made
        rows[0] = replace(rows[0], profile=replace(first, name=rows[0].profile.name))
        accounts.replace(tx, rows[0])
        self._last_number = rows[-1].number
        return [self._taken_up(tx, row) for row in rows]

    def _made(
        self, number: int, profile: AccountProfile, *, clock: ClockSpec, seed: int | None
    ) -> Account:
        """A new account; a clock `frozen` at the present keeps that instant, also for a reset."""
        running = AccountClock.from_spec(self._wall, clock)
        if clock.kind is ClockKind.FROZEN:
            clock = ClockSpec(kind=ClockKind.FROZEN, instant=running.now())
        account = Account(
            number=number, profile=profile, seed=seed, clock=running, initial_clock=clock
        )
        self._give_owners(
            account,
            ids.stream_key(seed, Mode.TEST, profile.test_key),
            ids.stream_key(seed, Mode.LIVE, profile.live_key),
        )
        return account

    def _give_owners(self, account: Account, test_stream: bytes, live_stream: bytes) -> None:
        limit = self._rulings.rate_limit
        account.test = Owner(account, Mode.TEST, stream=test_stream, rate_limit=limit)
        account.live = Owner(account, Mode.LIVE, stream=live_stream, rate_limit=limit)

    def _taken_up(self, tx: Transaction, row: AccountRow) -> Account:
        clock = AccountClock(self._wall, frozen_at=row.frozen_at, offset_ms=row.offset_ms)
        account = Account(
            number=row.number,
            profile=row.profile,
            seed=row.seed,
            clock=clock,
            initial_clock=parse_clock(row.initial_clock),
        )
        self._give_owners(account, row.test_stream, row.live_stream)
        account.due_at = timers.next_due_at(tx, account.number) or NEVER
        latest_at = max(
            (event.at for owner in account.owners for event in events.newest(tx, owner.number, 1)),
            default=0,
        )
        if clock.now() < latest_at:
            # The machine's clock was set back while the program was away.
            clock.flow_from(latest_at)
        return account

    @staticmethod
    def _insert(tx: Transaction, account: Account) -> None:
        initial_clock = format_clock(account.initial_clock)
        accounts.insert(tx, account_row(account, initial_clock=initial_clock))

    def _create(self, tx: Transaction, *, wanted: NewAccount) -> Account:
        rows = accounts.load_all(tx)
        number = self._last_number + 1
        profile = self._profile(number, wanted)
        taken = {key for row in rows for key in (row.profile.test_key, row.profile.live_key)}
        for param, key in (("test_key", profile.test_key), ("live_key", profile.live_key)):
            if key in taken:
                raise InvalidField(param, "Another account has this key already.")
        account = self._made(
            number,
            profile,
            clock=wanted.clock or self._rulings.clock,
            seed=self._rulings.seed if wanted.seed is None else wanted.seed,
        )
        self._insert(tx, account)
        self._last_number = number
        return account

    def _profile(self, number: int, wanted: NewAccount) -> AccountProfile:
        for param, key, mode in (
            ("test_key", wanted.test_key, Mode.TEST),
            ("live_key", wanted.live_key, Mode.LIVE),
        ):
            if key is not None and not is_well_formed_key(key, mode):
                raise InvalidField(
                    param, f"Expected {mode}_ and 4 to 128 letters, digits or underscores."
                )
        return AccountProfile(
            id=ids.account_id(self._stream, number),
            name=wanted.name or f"Merchant {number}",
            test_key=wanted.test_key or ids.api_key(self._stream, Mode.TEST, number),
            live_key=wanted.live_key or ids.api_key(self._stream, Mode.LIVE, number),
        )

    def _remove(self, tx: Transaction, *, account: Account) -> None:
        for owner in account.owners:
            payments.delete_all(tx, owner.number)
            events.delete_all(tx, owner.number)
        timers.delete_all(tx, account.number)
        rule_uses.delete_all(tx, account.number)
        accounts.delete(tx, account.number)
        tx.forget_ordinals()
        self._rendered.clear()
        tx.after_commit.append(self._announcements.all_changed)

    def _close(self, tx: Transaction, *, account: Account) -> None:
        self._remove(tx, account=account)
        account.is_closed = True
        tx.undo.append(partial(setattr, account, "is_closed", False))

    def _restore_second(self, tx: Transaction) -> Account | None:
        """The second account anew, if it was deleted and nobody has taken its keys since."""
        for row in accounts.load_all(tx):
            keys = {row.profile.test_key, row.profile.live_key}
            if row.number == 2 or keys & {SECOND_ACCOUNT.test_key, SECOND_ACCOUNT.live_key}:
                return None
        rulings = self._rulings
        second = self._made(2, SECOND_ACCOUNT, clock=rulings.clock, seed=rulings.seed)
        self._insert(tx, second)
        return second

    def _restart(self, tx: Transaction, *, account: Account) -> None:
        self._remove(tx, account=account)
        fresh = self._made(
            account.number, account.profile, clock=account.initial_clock, seed=account.seed
        )
        self._insert(tx, fresh)
        tx.undo.append(partial(account.restart, copy_of(account)))
        account.restart(fresh)
