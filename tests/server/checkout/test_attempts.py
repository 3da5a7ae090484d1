"""The pages after failed attempts, failing cancellations, and redirects before the completion."""

from typing import Any

import pytest

from tests.server.checkout.visiting import CANCEL_URL, SUCCESS_URL, Customer, customer
from tests.world import World

NO_BALANCE = "0900000002"
ASKED = "0911223344"
LEAVES = f"0;url={SUCCESS_URL}"


async def ruled(emulator: World, then: dict[str, Any], **order: Any) -> Customer:
    """The customer of a payment with a checkout rule."""
    body = {"version": 1, "name": "page", "checkout": [{"when": {}, "then": then}]}
    await emulator.done("PUT", "/scenarios/page", body)
    return await customer(emulator, **order)


@pytest.mark.parametrize("methods", [["telebirr", "mpesa"], ["telebirr"]])
async def test_the_page_says_why_an_attempt_failed_and_offers_the_methods(
    emulator: World, methods: list[str]
) -> None:
    buyer = await ruled(emulator, {"attempts": 3}, methods=methods)
    for answer, sentence in (("wrong_pin", "PIN was not correct"), ("cancel", "You cancelled")):
        page = await buyer.pay("telebirr", phone=ASKED)
        page = await buyer.answer(page, answer)
        assert page.response.url.path == buyer.path
        assert sentence in page.get("failure").text
        assert page.get("failure").text.endswith("You can pay again.")
        assert (page.find("method-mpesa") is None) is (methods == ["telebirr"])
    page = await buyer.pay("telebirr", phone=NO_BALANCE)
    assert (page.name, page.find("failure")) == ("result-failed", None)


async def test_another_tab_shows_the_state_after_a_failed_attempt(emulator: World) -> None:
    buyer = await ruled(emulator, {"attempts": 2})
    tab = await buyer.pay("telebirr", phone=ASKED)
    await buyer.answer(await buyer.open("/wait"), "wrong_pin")
    # The tab that still waits: its answer changes nothing, and a reload offers the methods.
    for page in (await buyer.answer(tab, "approve"), await buyer.open("/wait")):
        assert page.response.url.path == buyer.path
        assert page.find("failure") is not None
    assert (await buyer.pay("telebirr", phone=NO_BALANCE)).name == "result-failed"


async def test_the_cancel_button_that_fails_the_payment_returns_to_the_merchant(
    emulator: World,
) -> None:
    buyer = await ruled(emulator, {"cancel": "fails"})
    first = await buyer.open()
    page = await buyer.submit(first.form("/cancel"), first)
    assert page.refresh == f"0;url={CANCEL_URL}"
    # A second press shows the present state, which redirects nobody.
    page = await buyer.submit(first.form("/cancel"), first)
    assert page.refresh is None
    assert page.name == "result-failed"
    assert await buyer.outcome() == ("failed", "user_cancelled")
    *_, cancelled = (await emulator.shown(f"/payments/{buyer.payment_id}"))["timeline"]
    assert cancelled["cause"] == {"by": "customer"}
    other = await ruled(emulator, {"cancel": "fails"})
    await emulator.done("POST", f"/payments/{other.payment_id}/cancel")
    *_, cancelled = (await emulator.shown(f"/payments/{other.payment_id}"))["timeline"]
    assert cancelled["cause"] == {"by": "control"}


async def test_the_page_redirects_before_the_payment_has_completed(emulator: World) -> None:
    buyer = await ruled(emulator, {"redirect": "before_completed"})
    waiting = await buyer.pay("telebirr", phone=ASKED)
    assert (waiting.name, waiting.refresh) == ("waiting", None)
    page = await buyer.answer(waiting, "approve")
    assert (page.refresh, page.find("paid")) == (LEAVES, None)
    assert (await buyer.statuses())[-1] == "processing"
    # A page that is newly opened never redirects by itself.
    opened = await buyer.open()
    assert opened.refresh is None
    status = await emulator.pages.get(f"{buyer.path}/status")
    assert status.json()["status"] == "leaving"
    assert 'data-status="leaving"' in opened.response.text
    await emulator.advance(2)
    assert (await buyer.statuses())[-1] == "completed"
    assert (await buyer.open("/wait")).refresh == LEAVES
    # A bank returns the customer as early.
    buyer = await ruled(emulator, {"redirect": "before_completed", "delay": "1h"})
    page = await buyer.answer(await buyer.pay("bank_transfer", bank="walia_test"), "approve")
    assert page.refresh == (await buyer.open("/bank")).refresh == LEAVES
