"""Moving an account's time: reading, setting and advancing its clock."""

from dataclasses import dataclass, field
from functools import partial

from emulator.clock import Wall
from emulator.domain.errors import InvalidField
from emulator.domain.instants import LAST_INSTANT, Instant, format_instant
from emulator.domain.timers import Timer
from emulator.engine.accounts import Account
from emulator.engine.announcements import Announcements
from emulator.engine.changes import CHUNK, Changes
from emulator.engine.settling import Settling
from emulator.storage import accounts, timers
from emulator.storage.batch import Transaction
from emulator.storage.database import Database

MOST_EFFECTS = 100_000
LONGEST_ADVANCE_MS = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What an account's clock shows, and the next thing that is due, with its payment's id."""

    now: Instant
    is_frozen: bool
    next: tuple[Timer, str] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """How far to advance: by milliseconds, until an instant, or (both None) to the next timer."""

    by_ms: int | None = None
    until: Instant | None = None


@dataclass(slots=True, kw_only=True)
class Advanced:
    """Where the clock stands now, and what happened on the way: JSON objects, in order.

    `is_settled` is false when a limit stopped the advance; the next call goes on.
    """

    now: Instant
    is_settled: bool = True
    effects: list[str] = field(default_factory=list)


class Timekeeper:
    """Moves clocks forward, firing all that falls due on the way at its own instant."""

    def __init__(
        self,
        *,
        database: Database,
        wall: Wall,
        changes: Changes,
        settling: Settling,
        announcements: Announcements,
    ) -> None:
        self._database = database
        self._wall = wall
        self._changes = changes
        self._settling = settling
        self._announcements = announcements

    async def read(self, account: Account) -> Reading:
        await self._settling.settle(account)
        return await self._database.read(partial(self._read, account=account))

    @staticmethod
    def _read(tx: Transaction, *, account: Account) -> Reading:
        return Reading(
            now=account.clock.now(),
            is_frozen=account.clock.is_frozen,
            next=timers.next_of_account(tx, account.number),
        )

    async def set(self, account: Account, *, now: Instant | None, frozen: bool | None) -> Reading:
        """Set a clock forward, firing what is due, and freeze it or let it flow.

        Raises InvalidField for an instant in the account's past, InvalidApiKey.
        """
        if now is not None:
            await self.advance(account, Target(until=now), param="now", frozen=frozen)
        if frozen is not None:
            async with account.advancing:
                account.check_open()
                await self._database.write(partial(self._freeze, account=account, frozen=frozen))
        self._settling.notice(account)
        return await self.read(account)

    def _freeze(self, tx: Transaction, *, account: Account, frozen: bool) -> None:
        clock = account.clock
        if frozen == clock.is_frozen:
            return
        tx.undo.append(partial(clock.restore, clock.state()))
        if frozen:
            clock.freeze()
        else:
            clock.flow_from(clock.now())
        self._store(tx, account)

    async def advance(
        self,
        account: Account,
        target: Target,
        *,
        param: str = "until",
        frozen: bool | None = None,
    ) -> Advanced:
        """Advance a clock; a second advance of the same account waits its turn.

        Once there, it is `frozen`, or as it was. Raises InvalidField for a target in the
        account's past or beyond the calendar, InvalidApiKey.
        """
        async with account.advancing:
            account.check_open()
            effects: list[str] = []
            account.collector = effects
            try:
                until = await self._until(account, target, param)
                is_settled = await self._advance(account, until, frozen, effects)
            finally:
                account.collector = None
                if account.clock.is_standing and not account.clock.is_frozen:
                    account.clock.flow_from(account.clock.now())
                    self._announcements.changed((account,))
                self._settling.notice(account)
            return Advanced(now=account.clock.now(), is_settled=is_settled, effects=effects)

    async def _until(self, account: Account, target: Target, param: str) -> Instant:
        await self._settling.settle(account)
        now = account.clock.now()
        if target.by_ms is not None:
            until = now + target.by_ms
        elif target.until is not None:
            until = target.until
        else:
            due_at = await self._database.read(partial(self._next_due_at, account=account))
            until = now if due_at is None else due_at
        if until < now:
            raise InvalidField(
                param,
                f"The clock stands at {format_instant(now)}; it cannot be moved back to"
                f" {format_instant(until)}.",
                kind="clock",
            )
        if until >= LAST_INSTANT:
            raise InvalidField(param, "The clock cannot pass the year 9988.", kind="clock")
        return until

    @staticmethod
    def _next_due_at(tx: Transaction, *, account: Account) -> Instant | None:
        return timers.next_due_at(tx, account.number)

    async def _advance(
        self, account: Account, until: Instant, frozen: bool | None, effects: list[str]
    ) -> bool:
        deadline_ms = self._wall.monotonic_ms() + LONGEST_ADVANCE_MS
        step = partial(self._step, account=account, until=until, frozen=frozen)
        while not await self._database.write(step, is_long=True):
            if len(effects) >= MOST_EFFECTS or self._wall.monotonic_ms() > deadline_ms:
                return account.due_at > until
        return True

    def _step(
        self, tx: Transaction, *, account: Account, until: Instant, frozen: bool | None
    ) -> bool:
        """Fire a chunk with the clock at the instant of its last timer; True when done."""
        clock = account.clock
        tx.undo.append(partial(clock.restore, clock.state()))
        fired_until = self._changes.fire(tx, account, until=until, limit=CHUNK)
        is_done = account.due_at > until
        reached = until if is_done or fired_until is None else fired_until
        # A clock that flows may have passed it while this waited its turn.
        instant = max(reached, clock.now())
        clock.stand_at(instant)
        if is_done:
            if clock.is_frozen if frozen is None else frozen:
                clock.freeze()
            else:
                clock.flow_from(instant)
        self._store(tx, account)
        return is_done

    def _store(self, tx: Transaction, account: Account) -> None:
        """Write down where a clock was moved to, and tell whoever waits for that."""
        clock = account.clock
        now = clock.now()
        accounts.set_clock(
            tx,
            account.number,
            frozen_at=now if clock.is_frozen else None,
            offset_ms=now - self._wall.now_ms(),
        )
        tx.after_commit.append(partial(self._announcements.changed, (account,)))
