"""A customer who calls the operations of the checkout without its pages."""

from dataclasses import dataclass
from typing import Any

from emulator.domain.instants import Instant
from emulator.domain.payment import Reason, Status
from emulator.domain.transitions import Change
from emulator.server.engine.accounts.clock_service import Target
from emulator.server.engine.payments.checkouts import Checkout, Checkouts
from emulator.server.engine.payments.customer import Customer, PhoneAnswer, Submission
from emulator.server.engine.state.account import Owner
from tests.world import TEST_KEY, World

UNSCRIPTED = "0911111111"
COMPLETES = "0900000001"
TIMES_OUT = "0900000003"


@dataclass(frozen=True, kw_only=True)
class Payer:
    """A payment and its account, whose status and clock are changed by hand."""

    world: World
    payment_id: str
    key: str = TEST_KEY

    @property
    def owner(self) -> Owner:
        accounts = self.world.app.engine.accounts.all()
        owners = (owner for account in accounts for owner in account.owners)
        return next(each for each in owners if each.account.profile.key(each.mode) == self.key)

    async def change(
        self, to: Status, reason: Reason | None = None, method: str | None = None
    ) -> None:
        change = Change(to=to, reason=reason, method=method)
        await self.world.app.engine.customer.transition(self.owner, self.payment_id, change)

    async def advance(self, by_ms: int | None) -> None:
        """Advance by milliseconds, or (None) to what is due next."""
        clock_service = self.world.app.engine.clock_service
        await clock_service.advance(self.owner.account, Target(by_ms=by_ms))


@dataclass(frozen=True, kw_only=True)
class Visitor(Payer):
    """The customer at the checkout of a payment."""

    token: str

    @property
    def checkouts(self) -> Checkouts:
        return self.world.app.engine.checkouts

    async def open(self) -> Checkout:
        return await self.checkouts.open(self.token)

    async def moment(self) -> str:
        return (await self.open()).moment

    @property
    def customer(self) -> Customer:
        return self.world.app.engine.customer

    async def pay(self, phone: str = UNSCRIPTED) -> None:
        submission = Submission(method="telebirr", phone=phone)
        await self.customer.pay(self.owner, self.payment_id, submission)

    async def pay_by_bank(self) -> None:
        submission = Submission(method="bank_transfer", bank="walia_test")
        await self.customer.pay(self.owner, self.payment_id, submission)

    async def answer(self, answer: PhoneAnswer = PhoneAnswer.APPROVE) -> None:
        await self.customer.answer(self.owner, self.payment_id, answer)

    async def set_clock(self, now: Instant | None, *, frozen: bool | None) -> None:
        clock_service = self.world.app.engine.clock_service
        await clock_service.set(self.owner.account, now=now, frozen=frozen)

    async def freeze(self, frozen: bool = True) -> None:
        await self.set_clock(None, frozen=frozen)


async def visitor(world: World, key: str = TEST_KEY, **order: Any) -> Visitor:
    """The visitor of a new payment."""
    payment = await world.create(key, **order)
    token = payment["checkout_url"].rpartition("/")[2]
    return Visitor(world=world, payment_id=payment["id"], token=token, key=key)
