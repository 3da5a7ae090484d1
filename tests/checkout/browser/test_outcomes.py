"""Every way that a payment can go, by click: on phone and desktop, with scripts and without."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import cycle

import pytest

from tests.checkout.browser.tabs import DESKTOP, PHONE, Device, OpenTab, Tab
from tests.depth import usually

Step = Callable[[Tab], Awaitable[None]]

# A phone, and a desktop that has nothing in common with it: what is gone on both of a pair is gone
# on either width, in either language, with scripts and without.
PAIRS = (
    (PHONE, DESKTOP.without_script().speaking("am")),
    (PHONE.without_script().speaking("am"), DESKTOP),
    (PHONE.speaking("am"), DESKTOP.without_script()),
)


@dataclass(frozen=True, kw_only=True)
class Start:
    """How a payment was paid, if it was, and at which of its pages the customer comes in."""

    paid_by: dict[str, str] = field(default_factory=dict)
    rest: str = ""


AT_CHOICE = Start()
ON_FORM = Start(rest="?method=telebirr")
AT_BANKS = Start(rest="?method=bank_transfer")
ASKED_BY_TELEBIRR = Start(paid_by={"method": "telebirr", "phone": "0911223344"}, rest="/wait")
ASKED_BY_MPESA = Start(paid_by={"method": "mpesa", "phone": "0711223344"}, rest="/wait")
AT_BANK = Start(paid_by={"method": "bank_transfer", "bank": "gelada_test"}, rest="/bank")


@dataclass(frozen=True, kw_only=True)
class Way:
    """What a customer does from a page on, and where it leads.

    It ends at the address of the shop that is named, or stays on a page that says so.
    """

    start: Start
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


def paid(*steps: str | Step, start: Start = AT_CHOICE) -> Way:
    return Way(start=start, steps=steps, status="completed", leaves_for="success_url")


def cancelled(*steps: str | Step, start: Start = AT_CHOICE) -> Way:
    return Way(start=start, steps=steps, status="failed", leaves_for="cancel_url")


def left(*steps: str | Step, start: Start = AT_CHOICE) -> Way:
    return Way(start=start, steps=steps, status="pending", leaves_for="cancel_url")


def failed(*steps: str | Step, reason: str, start: Start = AT_CHOICE) -> Way:
    return Way(start=start, steps=steps, status="failed", reads=("not_completed", reason))


def by_number() -> dict[str, tuple[Way, Way]]:
    """The four test numbers, each chosen by a click: of one method on each device of a pair."""

    def telebirr(last: int) -> tuple[str, ...]:
        return "method-telebirr", f"number-090000000{last}", "pay"

    def mpesa(last: int) -> tuple[str, ...]:
        return "method-mpesa", f"number-070000000{last}", "pay"

    times_out = lets_pass(30)
    return {
        "number that completes": (paid(*telebirr(1)), paid(*mpesa(1))),
        "number without balance": (
            failed(*mpesa(2), reason="insufficient"),
            failed(*telebirr(2), reason="insufficient"),
        ),
        "number that times out": (
            failed(*telebirr(3), times_out, reason="timed_out"),
            failed(*mpesa(3), times_out, reason="timed_out"),
        ),
        "number that cancels": (cancelled(*mpesa(4)), cancelled(*telebirr(4))),
    }


def by_handset() -> dict[str, tuple[Way, Way]]:
    """A number of their own, and an answer by key on one device, on the screen on the other."""
    telebirr = ("method-telebirr", types("0911223344"), "pay")
    mpesa = ("method-mpesa", types("+251 711 223344"), "pay")
    return {
        "approved on the phone": (
            paid(*telebirr, "answer-approve"),
            paid(*mpesa, presses_on_screen("menu_approve")),
        ),
        "cancelled on the phone": (
            cancelled(*mpesa, presses_on_screen("cancel")),
            cancelled(*telebirr, "answer-cancel"),
        ),
    }


def on_handset() -> dict[str, Way]:
    """Every other answer of the simulated phone, half of them with each method."""
    return {
        "wrong PIN": failed("answer-wrong_pin", reason="wrong_pin", start=ASKED_BY_TELEBIRR),
        "insufficient balance": failed(
            "answer-insufficient_balance", reason="insufficient", start=ASKED_BY_MPESA
        ),
        "ignored for too long": failed(
            "answer-ignore", lets_pass(30), reason="timed_out", start=ASKED_BY_MPESA
        ),
        "ignored, then asked again": paid(
            "answer-ignore", "show-menu", "answer-approve", start=ASKED_BY_TELEBIRR
        ),
    }


def at_bank() -> dict[str, Way]:
    def asked(bank: str) -> tuple[str, ...]:
        return "method-bank_transfer", f"bank-{bank}_test"

    return {
        "bank approves": paid(*asked("walia"), "answer-approve"),
        "bank out of order": failed(*asked("fidel"), reason="provider_error"),
        "bank finds no balance": failed(
            "answer-insufficient_balance", reason="insufficient", start=AT_BANK
        ),
        "bank declines": failed("answer-decline", reason="declined", start=AT_BANK),
        "cancelled at the bank": cancelled("answer-cancel", start=AT_BANK),
        "bank left and reopened": paid("leave-bank", "open-bank", "answer-approve", start=AT_BANK),
    }


WAYS = {
    **on_handset(),
    **at_bank(),
    "cancel button on the choice": left("cancel"),
    "cancel button on a form": left("cancel", start=ON_FORM),
    "cancel button at the banks": left("cancel", start=AT_BANKS),
    "another method after all": paid(
        "method-mpesa", "other-method", "method-telebirr", "number-0900000001", "pay"
    ),
}
GONE_ONCE_EACH = {**by_number(), **by_handset()}
GONE_ON_BOTH = {name: (way, way) for name, way in WAYS.items()}
GONE = [
    (name, way, device)
    for (name, ways), devices in zip(
        {**GONE_ONCE_EACH, **GONE_ON_BOTH}.items(), cycle(PAIRS), strict=False
    )
    for way, device in zip(ways, devices, strict=True)
]
# A paid flow with scripts, and one without.
SAMPLE = [gone for gone in GONE if gone[0] == "number that completes"]


@pytest.mark.parametrize(
    ("way", "device"),
    [
        pytest.param(way, device, id=f"{name}, {device}")
        for name, way, device in usually(SAMPLE, deep=GONE)
    ],
)
@pytest.mark.deep
async def test_every_way_leads_where_it_should(open_tab: OpenTab, way: Way, device: Device) -> None:
    async with open_tab(device) as customer:
        payment = await customer.merchant.create()
        if way.start.paid_by:
            await customer.merchant.pay(payment, **way.start.paid_by)
        await customer.open(payment, way.start.rest)
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


@pytest.mark.slow
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


@pytest.mark.slow
async def test_an_unknown_checkout_is_not_found(customer: Tab) -> None:
    payment = await customer.merchant.create()
    assert await customer.open(payment, "0") == 404
    await customer.reads("not_found")
