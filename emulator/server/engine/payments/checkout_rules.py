"""Applies the checkout rules of scenarios: when a page redirects, which failure is final."""

from functools import partial

from emulator.domain.instants import Instant
from emulator.domain.outcomes import MAX_REDIRECT_WAIT_MS, RedirectMoment
from emulator.domain.payment import DEFAULT_REASON, Payment, PaymentState, Status
from emulator.domain.transitions import Change, decide
from emulator.server.engine.delivery.gates import AwaitedPage
from emulator.server.engine.delivery.webhooks import Webhooks
from emulator.server.engine.state.account import Owner
from emulator.server.engine.state.context import StateContext, StateService
from emulator.server.engine.state.rule_choice import checkout_effect
from emulator.server.storage import deliveries, events, payments, timers
from emulator.server.storage.batch import Transaction


class CheckoutRules(StateService):
    """The effects of the rules on a payment, in the transaction of its change."""

    def __init__(self, context: StateContext, webhooks: Webhooks) -> None:
        super().__init__(context)
        self._webhooks = webhooks

    def choose_redirect(
        self, tx: Transaction, owner: Owner, payment: Payment | PaymentState, event: int
    ) -> None:
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
            pages = self._webhooks.dispatcher.awaited_pages
            page = AwaitedPage(owner, payment.position, event, effect.delay_ms, until)
            tx.after_commit.append(partial(pages.add, page))

    def postponement_ms(
        self, tx: Transaction, owner: Owner, payment: Payment | PaymentState
    ) -> int:
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

    def offer_again(
        self, tx: Transaction, owner: Owner, position: int, failure: Change, *, now: Instant
    ) -> Payment | None:
        """The payment, pending again after a failed attempt; None where the failure is final.

        An attempt that fails at `expires_at` or later is the last.
        """
        stored = payments.get(tx, position)
        if now >= stored.expires_at or not self._has_attempts(tx, owner, stored):
            return None
        pending = decide(stored, Change(to=Status.PENDING, by_setting=True), now=now)
        failed = pending._replace(method=stored.method, reason=failure.reason or DEFAULT_REASON)
        events.insert(tx, owner.number, [(failed, now)])
        payments.update(tx, [pending])
        timers.cancel(tx, position)
        self._payment_cache.evict({position})
        tx.after_commit += [
            partial(self._payment_cache.evict, {position}),
            partial(self._change_notifier.changed, {position}),
        ]
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
