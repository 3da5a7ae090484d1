"""Writes changes of status with their events, and fires timers: before a read, and in real time."""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby

from emulator.clock import PAUSE_AFTER_FAILURE_MS
from emulator.domain.errors import NotReady
from emulator.domain.instants import Instant
from emulator.domain.payment import AnyPayment, Payment, PaymentState, Status
from emulator.domain.transitions import (
    LAST_SEQUENCE,
    Change,
    DueKey,
    Timer,
    TimerKind,
    decide,
    is_permitted,
)
from emulator.server.engine.delivery.webhooks import Webhooks
from emulator.server.engine.payments.checkout_rules import CheckoutRules
from emulator.server.engine.state.account import FAR_OFF, NEVER, Account, Owner
from emulator.server.engine.state.context import StateContext, StateService
from emulator.server.engine.state.failure_log import FailureLog
from emulator.server.engine.state.rule_choice import may_have_checkout_rules
from emulator.server.engine.state.wire import effect_json
from emulator.server.storage import events, payments, timers
from emulator.server.storage.batch import ORDINAL_BITS, Transaction
from emulator.server.storage.database import DatabaseLost, writes

CHUNK = 1_000
DueChange = tuple[Timer, PaymentState]
Changed = Sequence[tuple[Payment | PaymentState, Instant]]
"""Payments that took on a new status, with the instants of the changes, in order."""


class StatusWriter(StateService):
    """Writes changes of status, each with its event, and updates the memory accordingly."""

    def __init__(self, context: StateContext, webhooks: Webhooks) -> None:
        super().__init__(context)
        self._webhooks = webhooks
        self._checkout_rules = CheckoutRules(context, webhooks)

    def apply(
        self, tx: Transaction, owner: Owner, payment: AnyPayment, change: Change, *, now: Instant
    ) -> AnyPayment:
        """Decide one change and write it with its event. Raises as `decide` does."""
        after = decide(payment, change, now=now)
        self.write(tx, owner, [(after, now)])
        return after

    def write(self, tx: Transaction, owner: Owner, changed: Changed) -> None:
        """Write payments that took on a new status, and an event for each, in order."""
        # The last change of a payment that changed twice.
        after = {payment.position: payment for payment, _ in changed}
        evict = partial(self._payment_cache.evict, after.keys())
        # Before a webhook is sent; a create of the same commit puts the former state in the cache.
        tx.after_commit.append(evict)
        first_event = events.insert(tx, owner.number, changed)
        self._choose_redirects(tx, owner, changed, first_event)
        if owner.endpoints:
            self._webhooks.outbox.add(tx, owner, changed, first_event=first_event)
        payments.update(tx, after.values())
        for payment in after.values():
            if payment.status is Status.PENDING and isinstance(payment, Payment):
                if payment.first_lifetime_ms is not None:
                    payments.renew(tx, payment)
                self.expect(owner.account, payment.expires_at)
        evict()
        tx.after_commit.append(partial(self._change_notifier.changed, after))

    def _choose_redirects(
        self, tx: Transaction, owner: Owner, changed: Changed, first_event: int
    ) -> None:
        """Choose when the pages of completed payments redirect; before their deliveries."""
        if may_have_checkout_rules(owner.account):
            for event, (payment, _) in enumerate(changed, start=first_event):
                if payment.status is Status.COMPLETED:
                    self._checkout_rules.choose_redirect(tx, owner, payment, event)

    def conclude(
        self, tx: Transaction, owner: Owner, payment: AnyPayment, change: Change, *, now: Instant
    ) -> tuple[Payment | AnyPayment, int]:
        """As `apply`, for a change that checkout rules can alter: the end of an attempt to pay.

        Where the customer may try again, the payment is pending, without an event and without
        scheduled changes. Where the page redirects first, the change is not applied: it and later
        ones have to be postponed by the returned milliseconds, else 0.
        """
        if payment.status is Status.PROCESSING and may_have_checkout_rules(owner.account):
            if change.to is Status.FAILED:
                rules, position = self._checkout_rules, payment.position
                offered = rules.offer_again(tx, owner, position, change, now=now)
                if offered is not None:
                    self.expect(owner.account, offered.expires_at)
                    return offered, 0
            elif change.to is Status.COMPLETED:
                postponed_ms = self._checkout_rules.postponement_ms(tx, owner, payment)
                if postponed_ms:
                    return payment, postponed_ms
        return self.apply(tx, owner, payment, change, now=now), 0

    def schedule(
        self,
        tx: Transaction,
        account: Account,
        payment: Payment,
        kind: TimerKind,
        change: Change,
        *,
        due_at: Instant,
    ) -> None:
        """Schedule a change of a payment."""
        timers.insert(
            tx, account.number, Timer(due_at, tx.next_timer(), payment.position, kind, change)
        )
        self.expect(account, due_at)

    @staticmethod
    def expect(account: Account, due_at: Instant) -> None:
        """Lower the instant of the account's next timer."""
        # Lowered at once: if the transaction fails, one query finds no timer.
        account.due_at = min(account.due_at, due_at)

    def fire_due(self, tx: Transaction, account: Account) -> Instant:
        """Fire all due timers; returns the present. Every operation that writes begins with this.

        Raises InvalidApiKey where the account was deleted after the request was received.
        """
        account.check_open()
        now = account.clock.now()
        while account.due_at <= now:
            self.fire(tx, account, until=(now, LAST_SEQUENCE))
        return now

    def fire(
        self, tx: Transaction, account: Account, *, until: DueKey, until_delivery: bool = False
    ) -> Instant | None:
        """Fire a chunk of the due timers, each at its own instant, in order.

        Returns the instant of the last one. With `until_delivery`, no fired timer is later than
        the first one that may cause a delivery.
        """
        due = timers.due(tx, account.number, until=until, limit=CHUNK)
        if until_delivery:
            due = self._until_delivery(account, due)
        alone = _ENDS_OF_ATTEMPTS if may_have_checkout_rules(account) else _RETURNS
        due = _until_first(due, alone)
        latest: dict[int, PaymentState] = {}
        changed: list[tuple[PaymentState, Instant]] = []
        fired = due
        if len(due) == 1 and due[0][0].change.to in alone:
            fired = self._fire_alone(tx, account, *due[0])
        else:
            fired = []
            for timer, stored in due:
                before = latest.get(stored.position, stored)
                if is_permitted(before.status, timer.change):
                    after = decide(before, timer.change, now=timer.due_at)
                    latest[stored.position] = after
                    changed.append((after, timer.due_at))
                    fired.append((timer, stored))
        for owner, of_owner in _by_owner(account, changed):
            self.write(tx, owner, of_owner)
        if due:
            timers.delete_through(tx, account.number, due[-1][0])
            advance = account.advance
            if advance.is_running:
                tx.undo.append(partial(advance.truncate, advance.count))
                effects = [(timer[:2], effect_json(timer, payment.id)) for timer, payment in fired]
                advance.add(effects)
        next_due_at = timers.next_due_at(tx, account.number)
        tx.set(account, "due_at", NEVER if next_due_at is None else next_due_at)
        return due[-1][0].due_at if due else None

    def _fire_alone(
        self, tx: Transaction, account: Account, timer: Timer, state: PaymentState
    ) -> list[DueChange]:
        """Fire a timer that changes what is due; returns its effect, if it has one."""
        owner, change = account.owners[(timer.payment >> ORDINAL_BITS) & 1], timer.change
        if not is_permitted(state.status, change):
            return []
        payment = payments.get(tx, state.position)
        after, postponed_ms = self.conclude(tx, owner, payment, change, now=timer.due_at)
        if postponed_ms:
            timers.postpone(tx, payment.position, postponed_ms)
            return []
        return [(timer._replace(change=change._replace(to=after.status)), state)]

    def _until_delivery(self, account: Account, due: list[DueChange]) -> list[DueChange]:
        for timer, _ in due:
            owner = account.owners[(timer.payment >> ORDINAL_BITS) & 1]
            if owner.endpoints and self._webhooks.outbox.may_deliver(owner, timer.change.to):
                return [pair for pair in due if pair[0].due_at <= timer.due_at]
        return due


def _by_owner(
    account: Account, changed: list[tuple[PaymentState, Instant]]
) -> Iterator[tuple[Owner, Changed]]:
    """The changes of each owner, in order; in parts where both owners may have deliveries.

    Deliveries take their place among the deliveries of the same instant when they are written.
    """

    def mode_of(pair: tuple[PaymentState, Instant]) -> int:
        return pair[0].position >> ORDINAL_BITS & 1

    if not all(owner.endpoints for owner in account.owners):
        changed = sorted(changed, key=mode_of)
    for mode, of_owner in groupby(changed, key=mode_of):
        yield account.owners[mode], list(of_owner)


# A payment that is pending again has an expiry.
_RETURNS = (Status.PENDING,)
# A checkout rule can postpone the end of an attempt to pay or return its payment to pending.
_ENDS_OF_ATTEMPTS = (Status.COMPLETED, Status.FAILED, Status.PENDING)


def _until_first(due: list[DueChange], alone: Collection[Status]) -> list[DueChange]:
    """The timers before the first that changes what is due; that one alone, if it is the first."""
    for place, (timer, _) in enumerate(due):
        if timer.change.to in alone:
            return due[: place or 1]
    return due


logger = logging.getLogger(__name__)


class Scheduler(StateService):
    """Fires due timers in chunks, in one transaction each; `run` sleeps until the next one."""

    def __init__(self, context: StateContext, status_writer: StatusWriter) -> None:
        super().__init__(context)
        self._status_writer = status_writer
        self._woken = asyncio.Event()
        self._sleeps_until: Instant = NEVER

    async def fire_due(self, account: Account) -> None:
        """Fire the due timers of an account, so that a read returns the present state."""
        while account.due_at <= account.clock.now():
            await self._fire(account)

    @writes(is_long=True)
    def _fire(self, tx: Transaction, account: Account) -> None:
        self._status_writer.fire(tx, account, until=(account.clock.now(), LAST_SEQUENCE))

    def reschedule(self, account: Account) -> None:
        """Wake the scheduler where an account's next timer is sooner than expected."""
        if not account.clock.is_standing and self._wall_due_at(account) < self._sleeps_until:
            self._woken.set()

    @staticmethod
    def _wall_due_at(account: Account) -> Instant:
        return account.clock.wall_instant(account.due_at)

    async def run(self, accounts: Callable[[], Iterable[Account]]) -> None:
        """Fire timers as real time passes; the owner of the task cancels it."""
        failures = FailureLog(logger, "timers could not be fired")
        while True:
            # While it fires timers, any new timer makes it read again.
            self._sleeps_until = NEVER
            try:
                due_at = await self._fire_all(accounts)
                failures.end()
            except (NotReady, DatabaseLost):
                return
            except Exception as error:  # noqa: BLE001 - logged
                # Reads fire timers themselves; a full disk may have free space again later.
                failures.add(error)
                due_at = self._wall.now_ms() + PAUSE_AFTER_FAILURE_MS
            self._sleeps_until = due_at
            await self._wall.wait(self._woken, until=None if due_at >= FAR_OFF else due_at)
            self._woken.clear()

    async def _fire_all(self, accounts: Callable[[], Iterable[Account]]) -> Instant:
        """Fire the due timers of flowing clocks; returns the real time of the next timer."""
        flowing = [account for account in accounts() if not account.clock.is_standing]
        for account in flowing:
            await self.fire_due(account)
        return min((self._wall_due_at(account) for account in flowing), default=NEVER)
