"""Every way that a payment can go, by click: on phone and desktop, with scripts and without."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import cycle

import pytest

from tests.checkout.browser.tabs import DESKTOP, PHONE, Device, OpenTab, Tab

Step = Callable[[Tab], Awaitable[None]]

# Each way is gone on a phone and on a desktop, once in each language; scripts take turns.
PHONES = (PHONE, PHONE.without_script().speaking("am"), PHONE.speaking("am"))
DESKTOPS = (DESKTOP.speaking("am"), DESKTOP, DESKTOP.without_script())


@dataclass(frozen=True, kw_only=True)
class Way:
    """What a customer does from the choice of a method on, and where it leads.

    It ends at the address of the shop that is named, or stays on a page that says so.
    """

    steps: tuple[str | Step, ...]
    status: str
    leaves_for: str | None = None
    reads: tuple[str, str | None] = ("", None)


def types(phone: str) -> Step:
    async def type_it(customer: Tab) -> None:
        await customer.type_phone(phone)

    return type_it


def presses_on_screen(key: str) -> Step:
    """A click on the words of the menu, instead of on the key."""

    async def click_it(customer: Tab) -> None:
        screen = customer.page.get_by_test_id("handset-screen")
        await screen.get_by_text(customer.says(key)).click()

    return click_it


def lets_pass(seconds: int) -> Step:
    async def let_pass(customer: Tab) -> None:
        await customer.merchant.advance(seconds)

    return let_pass


def paid(*steps: str | Step) -> Way:
    return Way(steps=steps, status="completed", leaves_for="success_url")


def cancelled(*steps: str | Step) -> Way:
    return Way(steps=steps, status="failed", leaves_for="cancel_url")


def left(*steps: str | Step) -> Way:
    return Way(steps=steps, status="pending", leaves_for="cancel_url")


def failed(*steps: str | Step, reason: str) -> Way:
    return Way(steps=steps, status="failed", reads=("not_completed", reason))


def by_number(method: str, prefix: str) -> dict[str, Way]:
    """The four test numbers of a method, each chosen by a click."""

    def fill_in(last: int) -> tuple[str, ...]:
        return f"method-{method}", f"number-{prefix}0000000{last}", "pay"

    return {
        f"{method} number that completes": paid(*fill_in(1)),
        f"{method} number without balance": failed(*fill_in(2), reason="insufficient"),
        f"{method} number that times out": failed(*fill_in(3), lets_pass(30), reason="timed_out"),
        f"{method} number that cancels": cancelled(*fill_in(4)),
    }


def on_handset() -> dict[str, Way]:
    """Every answer of the simulated phone, half of them with each method."""
    telebirr = ("method-telebirr", types("0911223344"), "pay")
    mpesa = ("method-mpesa", types("+251 711 223344"), "pay")
    return {
        "approved with a key": paid(*telebirr, "answer-approve"),
        "approved on the screen": paid(*mpesa, presses_on_screen("menu_approve")),
        "cancelled with a key": cancelled(*mpesa, "answer-cancel"),
        "cancelled on the screen": cancelled(*telebirr, presses_on_screen("cancel")),
        "wrong PIN": failed(*telebirr, "answer-wrong_pin", reason="wrong_pin"),
        "insufficient balance": failed(
            *mpesa, "answer-insufficient_balance", reason="insufficient"
        ),
        "ignored for too long": failed(*mpesa, "answer-ignore", lets_pass(30), reason="timed_out"),
        "ignored, then asked again": paid(
            *telebirr, "answer-ignore", "show-menu", "answer-approve"
        ),
    }


def at_bank() -> dict[str, Way]:
    def asked(bank: str) -> tuple[str, ...]:
        return "method-bank_transfer", f"bank-{bank}_test"

    return {
        "bank approves": paid(*asked("walia"), "answer-approve"),
        "bank finds no balance": failed(
            *asked("gelada"), "answer-insufficient_balance", reason="insufficient"
        ),
        "bank declines": failed(*asked("semien"), "answer-decline", reason="declined"),
        "cancelled at the bank": cancelled(*asked("walia"), "answer-cancel"),
        "bank left and reopened": paid(
            *asked("gelada"), "leave-bank", "open-bank", "answer-approve"
        ),
        "bank out of order": failed(*asked("fidel"), reason="provider_error"),
    }


WAYS = {
    **by_number("telebirr", "09"),
    **by_number("mpesa", "07"),
    **on_handset(),
    **at_bank(),
    "cancel button on the choice": left("cancel"),
    "cancel button on a form": left("method-telebirr", "cancel"),
    "cancel button at the banks": left("method-bank_transfer", "cancel"),
    "another method after all": paid(
        "method-mpesa", "other-method", "method-telebirr", "number-0900000001", "pay"
    ),
}
GONE = [
    (name, way, device)
    for devices in (PHONES, DESKTOPS)
    for (name, way), device in zip(WAYS.items(), cycle(devices), strict=False)
]


@pytest.mark.parametrize(
    ("way", "device"),
    [pytest.param(way, device, id=f"{name}, {device}") for name, way, device in GONE],
)
async def test_every_way_leads_where_it_should(open_tab: OpenTab, way: Way, device: Device) -> None:
    async with open_tab(device) as customer:
        payment = await customer.merchant.create()
        await customer.open(payment)
        await walk(customer, way.steps)
        if way.leaves_for is None:
            await customer.reads(*way.reads)
        else:
            await customer.leaves_for(getattr(customer.merchant.shop, way.leaves_for))
        assert await customer.merchant.status(payment) == way.status


async def walk(customer: Tab, steps: tuple[str | Step, ...]) -> None:
    for step in steps:
        if isinstance(step, str):
            await customer.click(step)
        else:
            await step(customer)


@pytest.mark.parametrize(
    ("device", "statuses", "code", "reads", "back"),
    [
        (PHONE, ("expired",), 410, ("expired", "expired_body"), "cancel_url"),
        (DESKTOP, ("processing", "failed"), 200, ("not_completed", "provider_error"), "cancel_url"),
        (PHONE, ("processing", "completed"), 200, ("already_paid", None), "success_url"),
        (
            PHONE.without_script(),
            ("processing", "completed", "refunded"),
            200,
            ("refunded", None),
            "success_url",
        ),
    ],
    ids=["expired", "failed", "paid", "refunded"],
)
async def test_what_has_ended_says_so_and_leads_back(
    open_tab: OpenTab,
    device: Device,
    statuses: tuple[str, ...],
    code: int,
    reads: tuple[str, str | None],
    back: str,
) -> None:
    async with open_tab(device) as customer:
        payment = await customer.merchant.create()
        await customer.merchant.transition(payment, *statuses)
        assert await customer.open(payment) == code
        await customer.reads(*reads)
        await customer.click("back")
        await customer.leaves_for(getattr(customer.merchant.shop, back))


async def test_an_unknown_checkout_is_not_found(customer: Tab) -> None:
    payment = await customer.merchant.create()
    assert await customer.open(payment, "0") == 404
    await customer.reads("not_found")
