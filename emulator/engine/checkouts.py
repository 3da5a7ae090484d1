"""The customer's way to a payment: by the token of its checkout, without any key."""

from dataclasses import dataclass
from functools import partial

from emulator import ids
from emulator.domain.accounts import Mode
from emulator.domain.errors import UnknownCheckout
from emulator.domain.instants import Instant
from emulator.domain.payment import Payment
from emulator.domain.timers import Timer
from emulator.engine.accounts import Owner
from emulator.engine.customer import Answer, Customer, Submission
from emulator.engine.directory import Directory
from emulator.engine.settling import Settling
from emulator.storage import payments, timers
from emulator.storage.batch import ORDINAL_BITS, Transaction
from emulator.storage.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkout:
    """What a checkout page shows: the payment as it is now, and whose it is.

    `form_token` is what its forms have to bring along: made from what the database keeps, so that
    a form that was opened before a restart is taken after it.
    """

    token: str
    form_token: str
    merchant: str
    mode: Mode
    now: Instant
    payment: Payment
    scheduled: list[Timer]


class Checkouts:
    """The pages' verbs: the same as the control API's, reached by token."""

    def __init__(
        self,
        *,
        database: Database,
        directory: Directory,
        settling: Settling,
        customer: Customer,
    ) -> None:
        self._database = database
        self._directory = directory
        self._settling = settling
        self._customer = customer

    async def open(self, token: str) -> Checkout:
        """The checkout of a token, settled. Raises UnknownCheckout."""
        owner, payment = await self._find(token)
        await self._settling.settle(owner.account)
        payment, scheduled = await self._database.read(
            partial(self._read, owner=owner, position=payment.position)
        )
        return Checkout(
            token=token,
            form_token=ids.form_token(owner.stream, token),
            merchant=owner.account.profile.name,
            mode=owner.mode,
            now=owner.account.clock.now(),
            payment=payment,
            scheduled=scheduled,
        )

    async def pay(self, token: str, submission: Submission) -> Payment:
        """Raises UnknownCheckout and as `Customer.pay`."""
        owner, payment = await self._find(token)
        return await self._customer.pay(owner, payment.id, submission)

    async def answer(self, token: str, answer: Answer) -> Payment:
        """Raises UnknownCheckout and as `Customer.answer`."""
        owner, payment = await self._find(token)
        return await self._customer.answer(owner, payment.id, answer)

    async def cancel(self, token: str) -> Payment:
        """Raises UnknownCheckout and as `Customer.cancel`."""
        owner, payment = await self._find(token)
        return await self._customer.cancel(owner, payment.id)

    async def _find(self, token: str) -> tuple[Owner, Payment]:
        payment_id = ids.payment_id(token)
        payment = await self._database.read(partial(_find, payment_id=payment_id))
        if payment is not None:
            owner = self._directory.owner_numbered(payment.position >> ORDINAL_BITS)
            if owner is not None:
                return owner, payment
        raise UnknownCheckout

    @staticmethod
    def _read(tx: Transaction, *, owner: Owner, position: int) -> tuple[Payment, list[Timer]]:
        payment = payments.get(tx, position)
        return payment, timers.of_payment(tx, owner.account.number, payment)


def _find(tx: Transaction, *, payment_id: str) -> Payment | None:
    return payments.find_of_anyone(tx, payment_id)
