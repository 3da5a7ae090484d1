"""The operations of the checkout pages, which name a payment by its token, without a key."""

from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from emulator import ids
from emulator.domain.accounts import Mode
from emulator.domain.effects import RedirectMoment
from emulator.domain.errors import UnknownCheckout
from emulator.domain.instants import Instant
from emulator.domain.payment import Payment, Reason, Status
from emulator.domain.transitions import Timer
from emulator.scenarios.rules import NamedNumber
from emulator.server.engine.payments.scheduler import EngineContext, EngineService
from emulator.server.engine.state.account import Account, Owner
from emulator.server.engine.state.rule_choice import may_have_checkout_rules, numbers
from emulator.server.storage import deliveries, events, payments, timers
from emulator.server.storage.batch import ORDINAL_BITS, Transaction
from emulator.server.storage.database import reads

FindOwner = Callable[[int], Owner | None]
"""Returns the owner with a number, if its account exists."""


class Checkout(msgspec.Struct, frozen=True, kw_only=True):
    """The payment of a checkout page, and its merchant.

    The forms of the page contain `form_token`, which depends only on the database, so that a form
    that was opened before a restart is accepted after it. `moment` identifies the content of the
    page in an address: it changes with everything but flowing time. The rate is 0 while the clock
    is stopped. `failed_attempts` are those after which the payment was pending again;
    `is_leaving_early` is whether the customer leaves for the merchant before the completion.
    """

    owner: Owner
    token: str
    form_token: str
    now: Instant
    rate_thousandths: int
    moment: str
    payment: Payment
    scheduled: list[Timer]
    failed_attempts: list[Reason]
    is_leaving_early: bool

    @property
    def merchant(self) -> str:
        return self.owner.account.profile.name

    @property
    def mode(self) -> Mode:
        return self.owner.mode

    @property
    def status(self) -> str:
        """The status of the payment, or `leaving` where the customer leaves before its end."""
        return "leaving" if self.is_leaving_early else self.payment.status.value


class Checkouts(EngineService):
    """The content of the pages."""

    def __init__(self, context: EngineContext, find_owner: FindOwner) -> None:
        super().__init__(context)
        self._find_owner = find_owner

    async def open(self, token: str) -> Checkout:
        """The checkout of a token, with all due timers fired. Raises UnknownCheckout."""
        payment_id = ids.payment_id(token)
        opened = await self._open(token, payment_id)
        while isinstance(opened, Account):
            await self._scheduler.fire_due(opened)
            opened = await self._open(token, payment_id)
        return opened

    @reads()
    def _open(self, tx: Transaction, token: str, payment_id: str) -> Checkout | Account:
        """The checkout, or its account if timers have to be fired there first."""
        payment = payments.of_any_owner(tx, payment_id)
        if payment is None:
            raise UnknownCheckout
        owner = self._find_owner(payment.position >> ORDINAL_BITS)
        if owner is None:
            raise UnknownCheckout
        account = owner.account
        now = account.clock.now()
        if account.due_at <= now:
            return account
        scheduled = timers.of_payment(tx, payment.position)
        rate, ahead = account.clock.pace
        due_at = scheduled[0].due_at if scheduled else None
        last: object = payment.reason
        failed_attempts: list[Reason] = []
        is_leaving_early = False
        if may_have_checkout_rules(account):
            failed_attempts = events.failed_attempts(tx, payment.position)
            last = last or len(failed_attempts)
            if payment.status is Status.PROCESSING:
                is_leaving_early = deliveries.redirect(tx, payment.position) is not None
        return Checkout(
            owner=owner,
            token=token,
            form_token=ids.form_token(owner.stream, token),
            now=now,
            rate_thousandths=rate,
            moment=f"{payment.status}.{last}.{due_at}.{rate}.{ahead}",
            payment=payment,
            scheduled=scheduled,
            failed_attempts=failed_attempts,
            is_leaving_early=is_leaving_early,
        )

    async def changed(self, token: str, seen: str, *, timeout_ms: int) -> Checkout:
        """The checkout as soon as its moment is not `seen`, or after `timeout_ms` of real time.

        Raises UnknownCheckout, also when the payment is removed meanwhile, and NotReady when the
        program stops.
        """

        async def query() -> tuple[bool, Checkout]:
            checkout = await self.open(token)
            return checkout.moment != seen, checkout

        until = self._wall.now_ms() + timeout_ms
        is_changed, checkout = await query()
        if not is_changed:
            topics = (checkout.payment.position, checkout.owner.account)
            _, checkout = await self._change_notifier.watch(topics, query, until=until)
        return checkout

    async def may_redirect(self, checkout: Checkout) -> bool:
        """Wait until the page of a completed payment may redirect; whether it does at all.

        Raises NotReady when the program stops.
        """
        payment = checkout.payment.position
        redirect = await self._database.read(partial(deliveries.redirect, payment=payment))
        if redirect is None:
            return True
        moment, until = redirect
        if moment is RedirectMoment.AFTER_WEBHOOK:
            is_unattempted = partial(deliveries.is_unattempted, payment=payment)

            async def query() -> tuple[bool, None]:
                return not await self._database.read(is_unattempted), None

            await self._change_notifier.watch((checkout.owner,), query, until=until)
        if checkout.owner.endpoints:
            self._webhooks.dispatcher.serve_page(payment)
        return moment is not RedirectMoment.NEVER

    async def test_numbers(self, checkout: Checkout, method: str) -> Sequence[NamedNumber]:
        """The numbers that scenarios name for a method, the strongest rule's first, eight at most.

        Each has the outcome that its submit for this payment would have now.
        """
        owner, payment = checkout.owner, checkout.payment
        named = partial(numbers, owner=owner, payment=payment, method=method)
        return await self._database.read(named)

    def note_departure(self, checkout: Checkout) -> None:
        """Store that the customer of a completed payment leaves for `success_url`."""
        checkout.owner.journal.add_departure(checkout.payment.id, self._wall.monotonic_ms())
