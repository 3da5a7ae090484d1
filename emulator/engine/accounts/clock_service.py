"""Moving an account's time: reading, setting and advancing its clock."""

from dataclasses import dataclass, field, replace
from enum import Enum, auto
from functools import partial

from emulator.clock import SystemClock
from emulator.domain.errors import InvalidField
from emulator.domain.instants import LAST_INSTANT, Instant, format_instant
from emulator.domain.timers import LAST_SEQUENCE, Due
from emulator.engine.delivery.webhooks import Webhooks
from emulator.engine.payments.scheduler import Scheduler
from emulator.engine.payments.status_writer import StatusWriter
from emulator.engine.state.account import Account
from emulator.engine.state.change_notifier import ChangeNotifier
from emulator.engine.state.effects import Effects
from emulator.storage import accounts, timers
from emulator.storage.batch import Transaction
from emulator.storage.database import Database

MAX_EFFECTS = 100_000
MAX_ADVANCE_MS = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockState:
    """What an account's clock shows, and the next thing that is due.

    `is_settled` is false where a limit kept it from being set as far as was asked.
    """

    now: Instant
    is_frozen: bool
    next: Due | None
    is_settled: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """How far to advance: by milliseconds, until an instant, or (both None) to what is due next.

    Unless `waits`, webhooks are sent while it goes on, and are none of its effects.
    """

    by_ms: int | None = None
    until: Instant | None = None
    waits: bool = True


@dataclass(slots=True, kw_only=True)
class Advanced:
    """Where the clock stands now, and what happened on the way: JSON objects, in order.

    `is_settled` is false when a limit stopped the advance; the next call goes on.
    """

    now: Instant
    is_settled: bool = True
    effects: list[str] = field(default_factory=list)


class ClockService:
    """Moves clocks forward, firing all that falls due on the way at its own instant."""

    def __init__(
        self,
        *,
        database: Database,
        wall: SystemClock,
        status_writer: StatusWriter,
        scheduler: Scheduler,
        change_notifier: ChangeNotifier,
        webhooks: Webhooks,
        most_effects: int = MAX_EFFECTS,
    ) -> None:
        self._database = database
        self._wall = wall
        self._status_writer = status_writer
        self._scheduler = scheduler
        self._change_notifier = change_notifier
        self._webhooks = webhooks
        self._most_effects = most_effects

    async def read(self, account: Account) -> ClockState:
        await self._scheduler.fire_due(account)
        return await self._database.read(partial(self._read, account=account))

    def _read(self, tx: Transaction, *, account: Account) -> ClockState:
        return ClockState(
            now=account.clock.now(),
            is_frozen=account.clock.is_frozen,
            next=self._next_due(tx, account=account),
        )

    def _next_due(self, tx: Transaction, *, account: Account) -> Due | None:
        """The next timer or attempt; of equal instants the one that was created first."""
        found = []
        timer = timers.next_of_account(tx, account.number)
        if timer is not None:
            first, payment_id = timer
            found.append((first[:2], Due(first.due_at, first.kind, payment_id)))
        attempt = self._webhooks.next_due(tx, account)
        if attempt is not None:
            found.append(attempt)
        return min(found)[1] if found else None

    async def set(
        self, account: Account, *, now: Instant | None, frozen: bool | None
    ) -> ClockState:
        """Set a clock forward, firing what is due, and freeze it or let it flow.

        Where a limit of `advance` stops it on the way, it is as it was. Raises InvalidField for an
        instant in the account's past, InvalidApiKey.
        """
        is_settled = True
        if now is not None:
            advanced = await self.advance(account, Target(until=now), param="now", frozen=frozen)
            is_settled = advanced.is_settled
        if frozen is not None and is_settled:
            async with account.advancing:
                account.check_open()
                await self._database.write(partial(self._freeze, account=account, frozen=frozen))
            self._webhooks.wake(account)
        self._scheduler.reschedule(account)
        return replace(await self.read(account), is_settled=is_settled)

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
            # What a stopped advance has left is fired by the first look at what is due.
            account.collector = account.unsettled
            try:
                course = _Course(
                    until=await self._until(account, target, param),
                    frozen=frozen,
                    deadline_ms=self._wall.monotonic_ms() + MAX_ADVANCE_MS,
                    waits=target.waits,
                )
                effects = account.collector = account.unsettled or Effects()
                await self._database.write(partial(self._begin, account=account, course=course))
                if course.waits:
                    account.unsettled = effects
                is_settled = await self._advance(account, course)
                if is_settled:
                    account.unsettled = None
            finally:
                account.collector = None
                if account.clock.is_standing and not account.clock.is_frozen:
                    account.clock.flow_from(account.clock.now())
                    self._change_notifier.changed((account,))
                self._scheduler.reschedule(account)
                self._webhooks.wake(account)
            return Advanced(now=account.clock.now(), is_settled=is_settled, effects=effects.take())

    async def _until(self, account: Account, target: Target, param: str) -> Instant:
        await self._scheduler.fire_due(account)
        now = account.clock.now()
        if target.by_ms is not None:
            until = now + target.by_ms
        elif target.until is not None:
            until = target.until
        else:
            due = await self._database.read(partial(self._next_due, account=account))
            # What is due already has only to be waited for.
            until = now if due is None else max(now, due.at)
        if until < now:
            raise InvalidField(
                param,
                f"The clock stands at {format_instant(now)}; it cannot be moved back to"
                f" {format_instant(until)}.",
                kind="clock",
            )
        if until >= LAST_INSTANT:
            raise InvalidField(
                param,
                f"The clock stands at {format_instant(now)}; it cannot pass the year 9988.",
                kind="clock",
            )
        return until

    @staticmethod
    def _begin(tx: Transaction, *, account: Account, course: "_Course") -> None:
        """Stop the clock where it is, and tell what is due by now from what will be."""
        if account.collector is None:
            return  # Whoever asked for it was cancelled.
        clock = account.clock
        tx.undo.append(partial(clock.restore, clock.state()))
        clock.stand_at(clock.now())
        account.collector.begin((clock.now(), tx.next_timer()), waits=course.waits)

    async def _advance(self, account: Account, course: "_Course") -> bool:
        """Take step after step; whether it has arrived before a limit was met."""
        is_late = course.waits and not await self._wait_for_attempts(account, course)
        step = partial(self._step, account=account, course=course)
        while not is_late:
            reached = await self._database.write(step, is_long=True)
            if reached is _Reached.END:
                return True
            is_late = self._has_met_a_limit(account, course) or (
                reached is _Reached.ATTEMPTS and not await self._wait_for_attempts(account, course)
            )
        if course.waits:
            # So that what is under way now, or about to be, is an effect of the next one.
            await self._database.write(partial(self._begin, account=account, course=course))
        return False

    def _has_met_a_limit(self, account: Account, course: "_Course") -> bool:
        effects = account.collector
        return self._wall.monotonic_ms() > course.deadline_ms or (
            effects is not None and effects.count >= self._most_effects
        )

    async def _wait_for_attempts(self, account: Account, course: "_Course") -> bool:
        return await self._webhooks.wait_for_due(account, course.deadline_ms)

    def _step(self, tx: Transaction, *, account: Account, course: "_Course") -> "_Reached":
        """Fire a chunk of timers, or let attempts be made, with the clock at their instant."""
        clock, effects = account.clock, account.collector
        if effects is None:
            return _Reached.END  # Whoever asked for it was cancelled.
        tx.undo.append(partial(clock.restore, clock.state()))
        attempt = self._webhooks.next_due(tx, account) if course.waits else None
        limit = (course.until, LAST_SEQUENCE)
        if attempt is not None and attempt[0] <= limit:
            timer = timers.next_key(tx, account.number)
            if timer is None or attempt[0] < timer:
                self._stand(tx, account, attempt[0][0])
                # What is created from now on, or due later, has its turn when this is done.
                effects.horizon = min(timer or limit, (clock.now(), tx.next_timer()))
                return _Reached.ATTEMPTS
            limit = attempt[0]
        is_listened = course.waits and account.is_listening
        fired_at = self._status_writer.fire(tx, account, until=limit, at_first_news=is_listened)
        is_left = account.due_at <= course.until or is_listened
        if is_left and fired_at is not None:
            self._stand(tx, account, fired_at)
            return _Reached.TIMERS
        self._arrive(tx, account, course)
        return _Reached.END

    def _stand(self, tx: Transaction, account: Account, instant: Instant) -> None:
        # What was overdue is fired late; time does not go back for it.
        account.clock.stand_at(max(instant, account.clock.now()))
        self._store(tx, account)

    def _arrive(self, tx: Transaction, account: Account, course: "_Course") -> None:
        clock = account.clock
        # A clock that flows may have passed it while this waited its turn.
        instant = max(course.until, clock.now())
        clock.stand_at(instant)
        if clock.is_frozen if course.frozen is None else course.frozen:
            clock.freeze()
        else:
            clock.flow_from(instant)
        self._store(tx, account)

    def _store(self, tx: Transaction, account: Account) -> None:
        """Write down where a clock was moved to, and tell whoever waits for that."""
        clock = account.clock
        now = clock.now()
        accounts.set_clock(
            tx,
            account.number,
            frozen_at=now if clock.is_frozen else None,
            offset_ms=now - self._wall.system_ms(),
        )
        tx.after_commit.append(partial(self._change_notifier.changed, (account,)))


class _Reached(Enum):
    """What a step has come to."""

    TIMERS = auto()
    ATTEMPTS = auto()
    END = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Course:
    """Where an advance goes, how the clock is to be there, and when, monotonic, time is over."""

    until: Instant
    frozen: bool | None
    deadline_ms: float
    waits: bool
