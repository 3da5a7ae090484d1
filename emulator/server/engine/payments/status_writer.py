"""Writes changes of status with their events, and applies the checkout rules of scenarios."""

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from itertools import groupby

from emulator.domain.effects import MAX_REDIRECT_WAIT_MS, RedirectMoment
from emulator.domain.errors import IllegalTransition
from emulator.domain.instants import Instant
from emulator.domain.payment import DEFAULT_REASON, EVENT_TYPES, RETURN, NewEvent, Payment, Status
from emulator.domain.transitions import (
    LAST_SEQUENCE,
    Change,
    DueKey,
    DueTimer,
    Timer,
    TimerKind,
    decide,
    is_permitted,
)
from emulator.server.engine.delivery.gates import AwaitedPage
from emulator.server.engine.delivery.webhooks import Webhooks
from emulator.server.engine.state.account import NEVER, Account, Owner
from emulator.server.engine.state.context import StateContext, StateService
from emulator.server.engine.state.rule_choice import checkout_effect, may_have_checkout_rules
from emulator.server.engine.state.wire import effect_json
from emulator.server.storage import deliveries, events, payments, timers
from emulator.server.storage.batch import ORDINAL_BITS, Transaction

CHUNK = 1_000


class StatusWriter(StateService):
    """Writes changes of status, each with its event, and updates the memory accordingly."""

    def __init__(self, context: StateContext, webhooks: Webhooks) -> None:
        super().__init__(context)
        self._webhooks = webhooks

    def apply(
        self, tx: Transaction, owner: Owner, payment: Payment, change: Change, *, now: Instant
    ) -> Payment:
        """Decide one change and write it with its event. Raises as `decide` does."""
        after = decide(payment, change, now=now)
        self.write(tx, owner, [NewEvent(after, now, change.event_type)])
        return after

    def write(self, tx: Transaction, owner: Owner, new_events: Sequence[NewEvent]) -> None:
        """Write events with their payments, in order."""
        # The last change of a payment that changed twice.
        after = {payment.position: payment for payment, _, _ in new_events}
        evict = partial(self._payment_cache.evict, after.keys())
        # Before a webhook is sent; a create of the same commit puts the former state in the cache.
        tx.after_commit.append(evict)
        first_event = events.insert(tx, owner.number, new_events)
        placed = list(enumerate(new_events, start=first_event))
        if may_have_checkout_rules(owner.account):
            for event, (payment, _, event_type) in placed:
                if event_type == EVENT_TYPES[Status.COMPLETED]:
                    self._choose_redirect(tx, owner, payment, event)
        if owner.endpoints:
            self._webhooks.outbox.add(tx, owner, placed)
        payments.update(tx, after.values())
        for payment in after.values():
            if payment.status is Status.PENDING:
                if payment.first_lifetime_ms is not None:
                    payments.renew(tx, payment)
                self.expect(owner.account, payment.expires_at)
        evict()
        tx.after_commit.append(partial(self._change_notifier.changed, after))

    def conclude(
        self, tx: Transaction, owner: Owner, payment: Payment, change: Change, *, now: Instant
    ) -> tuple[Payment, int]:
        """As `apply`, for a change that checkout rules can alter: the end of an attempt to pay.

        Where the customer may try again, the payment is pending, without an event and without
        scheduled changes. Where the page redirects first, the change is not applied: it and later
        ones have to be postponed by the returned milliseconds, else 0.
        """
        if payment.status is Status.PROCESSING and may_have_checkout_rules(owner.account):
            if change.to is Status.FAILED:
                offered = self._offer_again(tx, owner, payment, change, now=now)
                if offered is not None:
                    return offered, 0
            elif change.to is Status.COMPLETED:
                postponed_ms = self._postponement_ms(tx, owner, payment)
                if postponed_ms:
                    return payment, postponed_ms
        return self.apply(tx, owner, payment, change, now=now), 0

    def _choose_redirect(self, tx: Transaction, owner: Owner, payment: Payment, event: int) -> None:
        """Choose when the page of a completed payment redirects; before its deliveries."""
        if deliveries.redirect(tx, payment.position) is not None:
            return  # It has redirected before the completion.
        effect = checkout_effect(tx, owner, payment, "redirect")
        # A completion that was requested directly is not postponed, so the page has not redirected.
        if effect is None or effect.redirect in (None, RedirectMoment.BEFORE_COMPLETED):
            return
        until = self._wall.now_ms() + MAX_REDIRECT_WAIT_MS
        deliveries.put_redirect(tx, payment.position, effect.redirect, until=until)
        is_first = effect.redirect is RedirectMoment.BEFORE_WEBHOOK
        # An advance waits for the attempts, so that they cannot wait for a page.
        if is_first and owner.endpoints and not owner.account.advance.is_running:
            page = AwaitedPage(owner, payment.position, event, effect.delay_ms, until)
            self._webhooks.dispatcher.awaited_pages.add(tx, page)

    def _postponement_ms(self, tx: Transaction, owner: Owner, payment: Payment) -> int:
        """The time from the redirect of an approved payment to its completion; 0 without a rule.

        The redirect is chosen once, so the second time it is 0.
        """
        if deliveries.redirect(tx, payment.position) is not None:
            return 0
        only = RedirectMoment.BEFORE_COMPLETED
        effect = checkout_effect(tx, owner, payment, "redirect", only=only)
        if effect is None:
            return 0
        deliveries.put_redirect(tx, payment.position, only, until=self._wall.now_ms())
        tx.after_commit.append(partial(self._change_notifier.changed, (payment.position,)))
        return effect.delay_ms

    def _offer_again(
        self, tx: Transaction, owner: Owner, payment: Payment, failure: Change, *, now: Instant
    ) -> Payment | None:
        """The payment, pending again after a failed attempt; None where the failure is final.

        An attempt that fails at `expires_at` or later is the last.
        """
        if now >= payment.expires_at or not self._has_attempts(tx, owner, payment):
            return None
        pending = decide(payment, Change(to=Status.PENDING, by_setting=True), now=now)
        failed = pending._replace(method=payment.method, reason=failure.reason or DEFAULT_REASON)
        self.write(tx, owner, [NewEvent(failed, now, RETURN)])
        # The method and the reason are of the attempt, and not of the payment.
        payments.update(tx, [pending])
        timers.cancel(tx, payment.position)
        return pending

    @staticmethod
    def _has_attempts(tx: Transaction, owner: Owner, payment: Payment) -> bool:
        limit = events.attempt_limit(tx, payment.position)
        if limit is None:
            effect = checkout_effect(tx, owner, payment, "attempts")
            limit = 1 if effect is None or effect.attempts is None else effect.attempts
            if limit > 1:
                events.put_attempt_limit(tx, payment.position, limit)
        return len(events.failed_attempts(tx, payment.position)) + 1 < limit

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
        latest: dict[int, Payment] = {}
        new_events: list[NewEvent] = []
        fired = due
        if len(due) == 1 and due[0].timer.change.event_type in alone:
            fired = self._fire_alone(tx, account, *due[0])
        else:
            fired = []
            for each in due:
                timer, before = each.timer, latest.get(each.timer.payment, each.payment)
                try:
                    after = decide(before, timer.change, now=timer.due_at)
                except IllegalTransition:
                    continue
                latest[timer.payment] = after
                new_events.append(NewEvent(after, timer.due_at, timer.change.event_type))
                fired.append(each)
        for owner, of_owner in _by_owner(account, new_events):
            self.write(tx, owner, of_owner)
        if due:
            timers.delete_through(tx, account.number, due[-1].timer)
            advance = account.advance
            if advance.is_running:
                tx.undo.append(partial(advance.truncate, advance.count))
                effects = [(each.due_key, effect_json(each, of.id)) for each, of in fired]
                advance.add(effects)
        next_due_at = timers.next_due_at(tx, account.number)
        tx.set(account, "due_at", NEVER if next_due_at is None else next_due_at)
        return due[-1].timer.due_at if due else None

    def _fire_alone(
        self, tx: Transaction, account: Account, timer: Timer, payment: Payment
    ) -> list[DueTimer]:
        """Fire a timer that changes what is due; returns its effect, if it has one."""
        owner, change = account.owners[(timer.payment >> ORDINAL_BITS) & 1], timer.change
        if not is_permitted(payment.status, change):
            return []
        after, postponed_ms = self.conclude(tx, owner, payment, change, now=timer.due_at)
        if postponed_ms:
            timers.postpone(tx, payment.position, postponed_ms)
            return []
        return [DueTimer(timer._replace(change=change._replace(to=after.status)), payment)]

    def _until_delivery(self, account: Account, due: list[DueTimer]) -> list[DueTimer]:
        for timer, _ in due:
            owner = account.owners[(timer.payment >> ORDINAL_BITS) & 1]
            event_type = timer.change.event_type
            if owner.endpoints and self._webhooks.outbox.may_deliver(owner, event_type):
                return [each for each in due if each.timer.due_at <= timer.due_at]
        return due


def _by_owner(
    account: Account, new_events: list[NewEvent]
) -> Iterator[tuple[Owner, Sequence[NewEvent]]]:
    """The events of each owner, in order; in parts where both owners may have deliveries.

    Deliveries take their place among the deliveries of the same instant when they are written.
    """

    def mode_of(new_event: NewEvent) -> int:
        return new_event.payment.position >> ORDINAL_BITS & 1

    if not all(owner.endpoints for owner in account.owners):
        new_events = sorted(new_events, key=mode_of)
    for mode, of_owner in groupby(new_events, key=mode_of):
        yield account.owners[mode], list(of_owner)


# A payment that is pending again has an expiry.
_RETURNS = (RETURN,)
# A checkout rule can postpone the end of an attempt to pay or return its payment to pending.
_ENDS_OF_ATTEMPTS = (EVENT_TYPES[Status.COMPLETED], EVENT_TYPES[Status.FAILED], RETURN)


def _until_first(due: list[DueTimer], alone: Collection[str]) -> list[DueTimer]:
    """The timers before the first that changes what is due; that one alone, if it is the first."""
    for place, (timer, _) in enumerate(due):
        if timer.change.event_type in alone:
            return due[: place or 1]
    return due
