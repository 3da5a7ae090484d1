"""The customer's way to a payment: by the token of its checkout, without any key."""

from functools import partial

import msgspec

from emulator import ids
from emulator.clock import SystemClock
from emulator.domain.accounts import Mode
from emulator.domain.errors import UnknownCheckout
from emulator.domain.instants import Instant
from emulator.domain.outcomes import Outcome
from emulator.domain.payment import Payment
from emulator.domain.timers import Timer
from emulator.engine.accounts.account_registry import AccountRegistry
from emulator.engine.payments.customer import Customer, PhoneAnswer, Submission
from emulator.engine.payments.scheduler import Scheduler
from emulator.engine.state.account import Account, Owner
from emulator.engine.state.change_notifier import ChangeNotifier
from emulator.storage import timers
from emulator.storage.batch import ORDINAL_BITS, Transaction
from emulator.storage.database import Database


class Checkout(msgspec.Struct, frozen=True, kw_only=True):
    """What a checkout page shows: the payment as it is now, and whose it is.

    `form_token` is what its forms have to bring along: made from what the database keeps, so that
    a form that was opened before a restart is taken after it. `moment` is a word for an address:
    another one as soon as there is something else to show than the time that flows.
    """

    token: str
    form_token: str
    merchant: str
    mode: Mode
    now: Instant
    is_flowing: bool
    moment: str
    payment: Payment
    scheduled: list[Timer]


class TestNumber(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A phone number that a scenario names, and what happens if it is submitted.

    It equals only itself, so that pages can be remembered by it without a look at its outcome.
    """

    phone: str
    outcome: Outcome


MAX_NUMBERS_SHOWN = 256
_NOT_TOLD: tuple[object, tuple[TestNumber, ...]] = (None, ())


class Checkouts:
    """The pages' verbs: the same as the control API's, reached by token."""

    def __init__(
        self,
        *,
        database: Database,
        wall: SystemClock,
        accounts: AccountRegistry,
        scheduler: Scheduler,
        customer: Customer,
        change_notifier: ChangeNotifier,
    ) -> None:
        self._database = database
        self._wall = wall
        self._accounts = accounts
        self._scheduler = scheduler
        self._customer = customer
        self._change_notifier = change_notifier
        # By the identity of what is kept beside it, and so cannot become something else's.
        self._told: dict[int, tuple[object, tuple[TestNumber, ...]]] = {}

    async def open(self, token: str) -> Checkout:
        """The checkout of a token, settled. Raises UnknownCheckout."""
        read = partial(self._open, token=token, payment_id=ids.payment_id(token))
        opened = await self._database.read(read)
        while isinstance(opened, Account):
            await self._scheduler.fire_due(opened)
            opened = await self._database.read(read)
        return opened

    def _open(self, tx: Transaction, *, token: str, payment_id: str) -> Checkout | Account:
        """The checkout, or its account if something has to happen there before."""
        found = timers.with_payment(tx, payment_id)
        if found is None:
            raise UnknownCheckout
        payment, scheduled = found
        owner = self._owner_of(payment)
        account = owner.account
        now = account.clock.now()
        if account.due_at <= now:
            return account
        is_flowing, ahead = account.clock.pace
        due_at = scheduled[0].due_at if scheduled else None
        return Checkout(
            token=token,
            form_token=ids.form_token(owner.stream, token),
            merchant=account.profile.name,
            mode=owner.mode,
            now=now,
            is_flowing=is_flowing,
            moment=f"{payment.status}.{payment.reason}.{due_at}.{is_flowing:d}.{ahead}",
            payment=payment,
            scheduled=scheduled,
        )

    async def changed(self, token: str, seen: str, *, timeout_ms: int) -> Checkout:
        """The checkout as soon as its moment is not `seen`, or after `timeout_ms` of real time.

        Raises UnknownCheckout, also when the payment is removed meanwhile, and NotReady when the
        program stops.
        """

        async def look() -> tuple[bool, Checkout]:
            checkout = await self.open(token)
            return checkout.moment != seen, checkout

        until = self._wall.now_ms() + timeout_ms
        is_changed, checkout = await look()
        if not is_changed:
            position = checkout.payment.position
            topics = (position, self._owner_of(checkout.payment).account)
            _, checkout = await self._change_notifier.watch(topics, look, until=until)
        return checkout

    async def test_numbers(self, checkout: Checkout, method: str) -> tuple[TestNumber, ...]:
        """The numbers that scenarios name for a method, the strongest rule's first, eight at most.

        What each does is what would happen if it were submitted for this payment now. Raises
        UnknownCheckout where its account has just been deleted.
        """
        payment = checkout.payment
        owner = self._owner_of(payment)
        rules = owner.account.rules
        numbers = rules.numbers_at_once(owner, payment, method)
        if numbers is None:
            numbers = await self._database.read(
                partial(rules.numbers, owner=owner, payment=payment, method=method)
            )
        kept, told = self._told.get(id(numbers), _NOT_TOLD)
        if kept is not numbers:
            told = tuple(TestNumber(phone=phone, outcome=outcome) for phone, outcome in numbers)
            if len(self._told) >= MAX_NUMBERS_SHOWN:
                self._told.clear()
            self._told[id(numbers)] = numbers, told
        return told

    async def pay(self, checkout: Checkout, submission: Submission) -> Payment:
        """Raises UnknownCheckout and as `Customer.pay`."""
        payment = checkout.payment
        return await self._customer.pay(self._owner_of(payment), payment.id, submission)

    async def answer(self, checkout: Checkout, answer: PhoneAnswer) -> Payment:
        """Raises UnknownCheckout and as `Customer.answer`."""
        payment = checkout.payment
        return await self._customer.answer(self._owner_of(payment), payment.id, answer)

    async def cancel(self, checkout: Checkout) -> Payment:
        """Raises UnknownCheckout and as `Customer.cancel`."""
        payment = checkout.payment
        return await self._customer.cancel(self._owner_of(payment), payment.id)

    def _owner_of(self, payment: Payment) -> Owner:
        """Raises UnknownCheckout where its account was deleted meanwhile."""
        owner = self._accounts.owner_numbered(payment.position >> ORDINAL_BITS)
        if owner is None:
            raise UnknownCheckout
        return owner
