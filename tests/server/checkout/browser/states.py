"""Every page and state of the checkout, and the shortest way to each."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from playwright.async_api import expect

from tests.server.checkout.browser.tabs import Tab

Then = Callable[[Tab], Awaitable[None]]

ASKED = {"method": "telebirr", "phone": "0911223344"}
MAX_AMOUNT = 2**53 - 1


@dataclass(frozen=True, kw_only=True)
class State:
    """A payment made and changed through the APIs, then opened, then what a customer does there."""

    order: dict[str, Any] = field(default_factory=dict)
    paid_by: dict[str, str] = field(default_factory=dict)
    statuses: tuple[str, ...] = ()
    answer: str | None = None
    is_live: bool = False
    rest: str = ""
    then: Then | None = None
    page: str
    status: str | None = None

    async def reach(self, customer: Tab) -> None:
        """Raises AssertionError where it is another page that is shown."""
        merchant = customer.merchant.in_live_mode() if self.is_live else customer.merchant
        # Who is on the way to the shop stays, to be looked at.
        nowhere = dict.fromkeys(("success_url", "cancel_url"), merchant.shop.nowhere_url)
        payment = await merchant.create(**{"amount": 123_450, **nowhere, **self.order})
        if self.paid_by:
            await merchant.pay(payment, **self.paid_by)
        if self.answer:
            await merchant.answer(payment, self.answer)
        await merchant.transition(payment, *self.statuses)
        await customer.open(payment, self.rest)
        if self.then is not None:
            await self.then(customer)
        await customer.is_on(self.page, self.status)


async def _types_a_wrong_number(customer: Tab) -> None:
    await customer.type_phone("0711223344")
    await customer.click("pay")
    await customer.page.get_by_test_id("phone-error").wait_for()


async def _chooses_a_test_number(customer: Tab) -> None:
    await customer.click("number-0900000001")
    await expect(customer.page.get_by_test_id("phone")).to_have_value("0900000001")


async def _ignores_the_phone(customer: Tab) -> None:
    await customer.click("answer-ignore")
    await customer.page.get_by_test_id("show-menu").wait_for()


async def _sends_a_foreign_form(customer: Tab) -> None:
    await customer.page.locator("[name=form_token]").first.evaluate("field => field.value = 'x'")
    await customer.click("pay")


async def _loses_the_network(customer: Tab) -> None:
    customer.record.excused.append("/status?")
    await customer.page.route("**/status?*", lambda route: route.abort())
    await customer.page.reload()
    await customer.page.get_by_test_id("offline").wait_for()


_AT_BANK = {"method": "bank_transfer", "bank": "walia_test"}

STATES = {
    "choose": State(page="choose"),
    "choose-live": State(is_live=True, page="choose"),
    "phone": State(rest="?method=telebirr", page="method-form"),
    "phone-filled": State(rest="?method=telebirr", then=_chooses_a_test_number, page="method-form"),
    "phone-refused": State(
        order={"methods": ["telebirr"]}, then=_types_a_wrong_number, page="method-form"
    ),
    "banks": State(rest="?method=bank_transfer", page="bank-choice"),
    "bank": State(paid_by=_AT_BANK, page="bank"),
    "bank-left": State(paid_by=_AT_BANK, rest="/wait", page="waiting"),
    "waiting": State(paid_by=ASKED, page="waiting"),
    "waiting-ignored": State(paid_by=ASKED, then=_ignores_the_phone, page="waiting"),
    "waiting-scripted": State(paid_by={**ASKED, "phone": "0900000003"}, page="waiting"),
    "waiting-offline": State(paid_by=ASKED, then=_loses_the_network, page="waiting"),
    "leaving-paid": State(paid_by=ASKED, answer="approve", rest="/wait", page="leaving"),
    "leaving-cancelled": State(rest="/cancelled", page="leaving"),
    "paid": State(paid_by=ASKED, answer="approve", page="result", status="completed"),
    "failed": State(paid_by=ASKED, answer="insufficient_balance", page="result", status="failed"),
    "cancelled": State(paid_by=_AT_BANK, answer="cancel", page="result", status="failed"),
    "expired": State(statuses=("expired",), page="result", status="expired"),
    "refunded": State(
        statuses=("processing", "completed", "refunded"), page="result", status="refunded"
    ),
    "unknown": State(rest="0", page="problem"),
    "foreign-form": State(rest="?method=telebirr", then=_sends_a_foreign_form, page="problem"),
}
