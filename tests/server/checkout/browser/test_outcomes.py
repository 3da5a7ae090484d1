"""Ways through a payment by clicks: on phone and desktop, with scripts and without."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import cycle

import pytest

from tests.depth import usually
from tests.server.checkout.browser.tabs import DESKTOP, PHONE, Device, OpenTab, Tab

Step = str | Callable[[Tab], Awaitable[None]]

# The devices of a pair have nothing in common, so that each way is tested on either width, in
# either language, with scripts and without.
PAIRS = (
    (PHONE, DESKTOP.without_script().speaking("am")),
    (PHONE.without_script().speaking("am"), DESKTOP),
    (PHONE.speaking("am"), DESKTOP.without_script()),
)


@dataclass(frozen=True, kw_only=True)
class Way:
    """The page that the customer opens, the clicks from there, and the page at the end.

    The last page is an address of the shop, or shows a reason.
    """

    steps: tuple[Step, ...]
    status: str
    opens: str = ""
    leaves_for: str | None = None
    reason: str = ""


def types(phone: str) -> Step:
    async def step(customer: Tab) -> None:
        await customer.type_phone(phone)

    return step


def clicks_on_screen(key: str) -> Step:
    """Clicks the text of the phone's menu instead of the key."""

    async def step(customer: Tab) -> None:
        screen = customer.page.get_by_test_id("handset-screen")
        await screen.get_by_text(customer.says(key)).click()

    return step


async def waits_30_s(customer: Tab) -> None:
    await customer.merchant.advance(30)


def paid(*steps: Step) -> Way:
    return Way(steps=steps, status="completed", leaves_for="success_url")


def cancelled(*steps: Step) -> Way:
    return Way(steps=steps, status="failed", leaves_for="cancel_url")


def failed(*steps: Step, reason: str) -> Way:
    return Way(steps=steps, status="failed", reason=reason)


def number_of(method: str, number: str) -> tuple[Step, ...]:
    return f"method-{method}", f"number-{number}", "pay"


TELEBIRR = ("method-telebirr", types("0911223344"), "pay")
MPESA = ("method-mpesa", types("+251 711 223344"), "pay")
WALIA = ("method-bank_transfer", "bank-walia_test")
# Each outcome of an answer, without a browser: tests/server/checkout/test_answers.py.
WAYS = {
    "number that completes": paid(*number_of("telebirr", "0900000001")),
    "number that times out": failed(
        *number_of("telebirr", "0900000003"), waits_30_s, reason="timed_out"
    ),
    "number that cancels": cancelled(*number_of("mpesa", "0700000004")),
    "approved on the screen": paid(*MPESA, clicks_on_screen("menu_approve")),
    "cancelled on the screen": cancelled(*MPESA, clicks_on_screen("cancel")),
    "wrong PIN": failed(*TELEBIRR, "answer-wrong_pin", reason="wrong_pin"),
    "ignored, then shown again": paid(*TELEBIRR, "answer-ignore", "show-menu", "answer-approve"),
    "bank declines": failed(*WALIA, "answer-decline", reason="declined"),
    "bank left and reopened": paid(*WALIA, "leave-bank", "open-bank", "answer-approve"),
    "cancel button on a form": Way(
        opens="?method=telebirr", steps=("cancel",), status="pending", leaves_for="cancel_url"
    ),
    "another method after all": paid(
        "method-mpesa", "other-method", *number_of("telebirr", "0900000001")
    ),
}
ALL = [
    pytest.param(way, device, id=f"{name}, {device}")
    for (name, way), devices in zip(WAYS.items(), cycle(PAIRS), strict=False)
    for device in devices
]


# In a sample, one flow with scripts and one without.
@pytest.mark.sampled
@pytest.mark.parametrize(("way", "device"), usually(ALL[:2], deep=ALL))
async def test_every_way_leads_where_it_should(open_tab: OpenTab, way: Way, device: Device) -> None:
    async with open_tab(device) as customer:
        payment = await customer.begin(way.opens)
        for step in way.steps:
            if isinstance(step, str):
                await customer.click(step)
            else:
                await step(customer)
        if way.leaves_for is None:
            await customer.reads("not_completed", way.reason)
        else:
            await customer.leaves_for(getattr(customer.merchant.shop, way.leaves_for))
        assert await customer.merchant.status(payment) == way.status
