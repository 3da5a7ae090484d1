"""Reads, sets and advances the clock of an account."""

from enum import Enum, auto
from functools import partial

from msgspec import Struct, field
from msgspec.structs import replace

from emulator.domain.errors import InvalidField
from emulator.domain.instants import LAST_INSTANT, Instant, format_instant
from emulator.domain.transitions import LAST_SEQUENCE, Due
from emulator.server.engine.delivery.attempts import next_attempt
from emulator.server.engine.payments.scheduler import EngineService
from emulator.server.engine.state.account import Account, Advance
from emulator.server.storage import accounts, timers
from emulator.server.storage.batch import Transaction
from emulator.server.storage.database import reads, writes

MAX_EFFECTS = 100_000
MAX_ADVANCE_MS = 60_000


class ClockState(Struct, frozen=True, kw_only=True):
    """The time of an account's clock, and the next timer or attempt.

    `is_settled` is false where a limit stopped the clock before the requested instant.
    """

    now: Instant
    is_frozen: bool
    rate_thousandths: int
    next: Due | None
    is_settled: bool = True


class Target(Struct, frozen=True, kw_only=True):
    """How far to advance: by milliseconds, until an instant, or (both None) to what is due next.

    Unless `waits`, the advance does not wait for webhooks, and they are neither its effects nor
    what is due next.
    """

    by_ms: int | None = None
    until: Instant | None = None
    waits: bool = True


class Advanced(Struct, kw_only=True):
    """The time after an advance, and its effects: JSON objects, in order.

    `is_settled` is false when a limit stopped the advance; the next call continues it.
    """

    now: Instant
    is_settled: bool = True
    effects: list[bytes] = field(default_factory=list)


class ClockService(EngineService):
    """Moves clocks forward, and fires each timer on the way at its own instant."""

    # Tests set a lower limit.
    _max_effects = MAX_EFFECTS

    async def read(self, account: Account) -> ClockState:
        await self._scheduler.fire_due(account)
        return await self._read(account)

    @reads()
    def _read(self, tx: Transaction, account: Account) -> ClockState:
        return ClockState(
            now=account.clock.now(),
            is_frozen=account.clock.is_frozen,
            rate_thousandths=account.clock.rate_thousandths,
            next=self._next_due(tx, account),
        )

    def _next_due(
        self, tx: Transaction, account: Account, *, has_attempts: bool = True
    ) -> Due | None:
        """The next timer or attempt; the one that was created first at equal instants."""
        candidates = []
        timer = timers.next_of_account(tx, account.number)
        if timer is not None:
            first, payment_id = timer
            candidates.append((first.due_key, Due(first.due_at, first.kind, payment_id)))
        attempt = next_attempt(tx, account) if has_attempts else None
        if attempt is not None:
            candidates.append(attempt)
        return min(candidates)[1] if candidates else None

    async def set(
        self,
        account: Account,
        *,
        now: Instant | None,
        frozen: bool | None,
        rate_thousandths: int | None = None,
    ) -> ClockState:
        """Set a clock forward, fire what is due, and freeze it or let it flow, at a rate.

        Where a limit of `advance` stops it, `frozen` and the rate have no effect. Raises
        InvalidField for an instant in the account's past and for a rate of a frozen clock,
        InvalidApiKey.
        """
        is_settled = True
        if rate_thousandths is not None:
            if frozen:
                raise InvalidField(
                    "rate",
                    'A frozen clock has no rate (got "frozen": true); send one of the two.',
                    kind="clock",
                )
            frozen = False
        if now is not None:
            advanced = await self.advance(account, Target(until=now), param="now", frozen=frozen)
            is_settled = advanced.is_settled
        if frozen is not None and is_settled:
            async with account.advancing:
                account.check_open()
                await self._set_flow(account, frozen, rate_thousandths)
            self._webhooks.wake(account)
        self._scheduler.reschedule(account)
        return replace(await self.read(account), is_settled=is_settled)

    @writes()
    def _set_flow(self, tx: Transaction, account: Account, frozen: bool, rate: int | None) -> None:
        clock = account.clock
        if frozen == clock.is_frozen and rate in {None, clock.rate_thousandths}:
            return
        tx.undo.append(partial(clock.restore, clock.state()))
        if frozen:
            clock.freeze()
        else:
            clock.flow_from(clock.now(), rate)
        self._store(tx, account)

    async def advance(
        self, account: Account, target: Target, *, param: str = "until", frozen: bool | None = None
    ) -> Advanced:
        """Advance a clock; a second advance of the same account waits for the first.

        Afterwards it is `frozen`, or as before (None). Raises InvalidField for a target in the
        account's past or beyond the calendar, InvalidApiKey.
        """
        async with account.advancing:
            account.check_open()
            advance = account.advance
            deadline_ms = self._wall.monotonic_ms() + MAX_ADVANCE_MS
            # The timers that a stopped advance left are fired by `_until`.
            advance.is_running = is_kept = advance.has_begun
            try:
                plan = _AdvancePlan(
                    until=await self._until(account, target, param, deadline_ms),
                    frozen=frozen,
                    deadline_ms=deadline_ms,
                    waits=target.waits,
                )
                advance.is_running = True
                self._release(account)
                await self._begin(account, plan)
                is_kept = is_kept or plan.waits
                is_settled = await self._advance(account, plan)
                is_kept = is_kept and not is_settled
            finally:
                advance.is_running = False
                if not is_kept:
                    account.advance = Advance()
                if account.clock.is_standing and not account.clock.is_frozen:
                    account.clock.flow_from(account.clock.now())
                    self._change_notifier.changed((account,))
                self._scheduler.reschedule(account)
                self._webhooks.wake(account)
            return Advanced(now=account.clock.now(), is_settled=is_settled, effects=advance.take())

    def _release(self, account: Account) -> None:
        """Release what the advance would wait for without end."""
        self._webhooks.resume(account)
        self._webhooks.holds.release_all(account)

    async def _until(
        self, account: Account, target: Target, param: str, deadline_ms: float
    ) -> Instant:
        await self._scheduler.fire_due(account)
        now = account.clock.now()
        if target.by_ms is not None:
            until = now + target.by_ms
        elif target.until is not None:
            until = target.until
        else:
            if target.waits and account.has_endpoints:
                # An attempt in progress is not what is next.
                self._release(account)
                await self._webhooks.dispatcher.wait_for_due(account, deadline_ms)
            next_due = partial(self._next_due, account=account, has_attempts=target.waits)
            due = await self._database.read(next_due)
            now = account.clock.now()
            until = now if due is None else max(now, due.at)
        if until < now:
            reason = f"be moved back to {format_instant(until)}"
        elif until >= LAST_INSTANT:
            reason = "pass the year 9988"
        else:
            return until
        raise InvalidField(
            param, f"The clock shows {format_instant(now)}; it cannot {reason}.", kind="clock"
        )

    @writes()
    def _begin(self, tx: Transaction, account: Account, plan: "_AdvancePlan") -> None:
        """Stop the clock, and separate what is due now from what will be due."""
        if not account.advance.is_running:
            return  # The caller was cancelled.
        clock = account.clock
        tx.undo.append(partial(clock.restore, clock.state()))
        clock.stand_at(clock.now())
        account.advance.begin((clock.now(), tx.next_timer()), waits=plan.waits)
        self._notify(tx, account)

    async def _advance(self, account: Account, plan: "_AdvancePlan") -> bool:
        """Repeat steps; returns whether the target was reached before a limit."""
        wait_for_attempts = partial(
            self._webhooks.dispatcher.wait_for_due, account, plan.deadline_ms
        )
        is_late = plan.waits and not await wait_for_attempts()
        while not is_late:
            # A step that fires no timer is short.
            step = partial(self._step, account=account, plan=plan)
            reached = await self._database.write(step, is_long=account.due_at <= plan.until)
            if reached is _Reached.END:
                return True
            is_late = (
                self._wall.monotonic_ms() > plan.deadline_ms
                or account.advance.count >= self._max_effects
                or (reached is _Reached.ATTEMPTS and not await wait_for_attempts())
            )
        if plan.waits:
            # The attempts in progress become effects of the next advance.
            await self._begin(account, plan)
        return False

    def _step(self, tx: Transaction, account: Account, plan: "_AdvancePlan") -> "_Reached":
        """Fire a chunk of timers, or allow the attempts of one instant, with the clock there."""
        clock, advance = account.clock, account.advance
        if not advance.is_running:
            return _Reached.END  # The caller was cancelled.
        tx.undo.append(partial(clock.restore, clock.state()))
        attempt = next_attempt(tx, account) if plan.waits else None
        limit = (plan.until, LAST_SEQUENCE)
        if attempt is not None and attempt[0] <= limit:
            following = timers.next_of_account(tx, account.number)
            timer = None if following is None else following[0].due_key
            if timer is None or attempt[0] < timer:
                self._stand_at(tx, account, attempt[0][0])
                # What is created from now on, or due later, waits until these attempts are made.
                advance.horizon = min(timer or limit, (clock.now(), tx.next_timer()))
                return _Reached.ATTEMPTS
            limit = attempt[0]
        may_deliver = plan.waits and account.has_endpoints
        fired_at = self._status_writer.fire(tx, account, until=limit, until_delivery=may_deliver)
        has_more = account.due_at <= plan.until or may_deliver
        if has_more and fired_at is not None:
            self._stand_at(tx, account, fired_at)
            return _Reached.TIMERS
        self._finish(tx, account, plan)
        return _Reached.END

    def _stand_at(self, tx: Transaction, account: Account, instant: Instant) -> None:
        # An overdue timer is fired late; the clock does not move back for it.
        account.clock.stand_at(max(instant, account.clock.now()))
        self._store(tx, account)

    def _finish(self, tx: Transaction, account: Account, plan: "_AdvancePlan") -> None:
        clock = account.clock
        # A flowing clock may have passed it while this advance waited for another one.
        instant = max(plan.until, clock.now())
        clock.stand_at(instant)
        if clock.is_frozen if plan.frozen is None else plan.frozen:
            clock.freeze()
        else:
            clock.flow_from(instant)
        self._store(tx, account)

    def _store(self, tx: Transaction, account: Account) -> None:
        """Write a clock that was moved, and notify those that wait for it."""
        accounts.set_clock(tx, account.number, account.clock)
        self._notify(tx, account)

    def _notify(self, tx: Transaction, account: Account) -> None:
        tx.after_commit.append(partial(self._change_notifier.changed, (account,)))


class _Reached(Enum):
    """What a step reached."""

    TIMERS = auto()
    ATTEMPTS = auto()
    END = auto()


class _AdvancePlan(Struct, frozen=True, kw_only=True):
    """The target of an advance, the clock's state there, and the deadline in monotonic time."""

    until: Instant
    frozen: bool | None
    deadline_ms: float
    waits: bool
