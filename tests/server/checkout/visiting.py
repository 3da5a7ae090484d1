"""A customer without a browser: opens pages, submits their forms, follows their links."""

from dataclasses import dataclass
from typing import Any

import httpx

from emulator.domain.payment import Reason, Status
from emulator.server.checkout import views
from emulator.server.engine.payments.payment_history import PaymentDetail
from tests.server.checkout.reading import Element, Page
from tests.server.engine.visitors import Payer
from tests.world import TEST_KEY, World

SUCCESS_URL = "https://shop.example/ok?order=1"
CANCEL_URL = "https://shop.example/no"


@dataclass(frozen=True, kw_only=True)
class Customer(Payer):
    """One payment's customer, on the checkout listener."""

    path: str

    async def open(self, leaf: str = "", headers: dict[str, str] | None = None) -> Page:
        """A page below `/c/{token}`; `leaf` may carry a query."""
        response = await self.world.pages.get(
            self.path + leaf, headers=headers, follow_redirects=True
        )
        return Page(response)

    async def post(
        self, form: Element, page: Page, headers: dict[str, str] | None = None, **fields: str
    ) -> httpx.Response:
        address = page.response.url.join(form.attributes["action"])
        return await self.world.pages.post(address, data={**form.fields, **fields}, headers=headers)

    async def submit(self, form: Element, page: Page, **fields: str) -> Page:
        """Send a form and follow the redirect."""
        response = await self.post(form, page, None, **fields)
        assert response.status_code == 303, response.text
        return await self.follow(response)

    async def follow(self, response: httpx.Response) -> Page:
        address = response.url.join(response.headers["location"])
        return Page(await self.world.pages.get(address, follow_redirects=True))

    async def pay(self, method: str, **fields: str) -> Page:
        """Go to the form of a method and send it."""
        page = await self.open(f"?method={method}")
        return await self.submit(page.form("pay-form"), page, **fields)

    async def click(self, page: Page, link: str) -> Page:
        """Follow a link, given by its test id."""
        address = page.response.url.join(page.get(link).attributes["href"])
        return Page(await self.world.pages.get(address, follow_redirects=True))

    async def answer(self, page: Page, answer: str) -> Page:
        """Answer on the simulated phone, or on the page of the bank."""
        is_bank_answer = answer in views.BANK_ANSWERS and page.find("bank-answers") is not None
        form = page.form("bank-answers" if is_bank_answer else "/answer")
        return await self.submit(form, page, answer=answer)

    async def outcome(self) -> tuple[Status, Reason | None]:
        payment = (await self.detail()).payment
        return payment.status, payment.reason

    async def detail(self) -> PaymentDetail:
        return await self.world.app.engine.history.detail(self.owner, self.payment_id)

    async def statuses(self) -> list[str]:
        """The statuses of the payment, in order."""
        changes = [event for event in (await self.detail()).timeline if event.is_change]
        return [event.status.value for event in changes]


async def customer(world: World, key: str = TEST_KEY, **order: Any) -> Customer:
    """The customer of a new payment."""
    payment = await world.create(key, **order)
    path = httpx.URL(payment["checkout_url"]).path
    return Customer(world=world, payment_id=payment["id"], path=path, key=key)


async def customer_of(
    world: World,
    status: Status,
    *,
    reason: Reason | None = None,
    method: str = "telebirr",
    **order: Any,
) -> Customer:
    """The customer of a payment that has a status."""
    visitor = await customer(world, **order)
    way = {
        Status.PENDING: [],
        Status.PROCESSING: [Status.PROCESSING],
        Status.COMPLETED: [Status.PROCESSING, Status.COMPLETED],
        Status.FAILED: [Status.PROCESSING, Status.FAILED],
        Status.EXPIRED: [Status.EXPIRED],
        Status.REFUNDED: [Status.PROCESSING, Status.COMPLETED, Status.REFUNDED],
    }[status]
    for step in way:
        await visitor.change(
            step,
            method=method if step is Status.PROCESSING else None,
            reason=reason if step is Status.FAILED else None,
        )
    return visitor
