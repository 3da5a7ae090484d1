"""Each page in each state of a payment: what it says, where it leads, whether it leaves."""

import pytest

from emulator.domain.payment import Reason, Status
from tests.checkout.reading import Page
from tests.checkout.visiting import CANCEL_URL, SUCCESS_URL, customer, customer_of
from tests.world import LIVE_KEY, World

LEAVES_PAID = f"0;url={SUCCESS_URL}"
LEAVES_CANCELLED = f"0;url={CANCEL_URL}"

# status, reason: then for the checkout opened afresh and for the customer who has submitted:
# the page's name, its HTTP status, what it does by itself, and where its link leads.
STATES = [
    (Status.PENDING, None, ("choose", 200, None, None), ("choose", 200, None, None)),
    (
        Status.COMPLETED,
        None,
        ("result-completed", 200, None, SUCCESS_URL),
        ("leaving", 200, LEAVES_PAID, SUCCESS_URL),
    ),
    (
        Status.FAILED,
        Reason.USER_CANCELLED,
        ("result-failed", 200, None, CANCEL_URL),
        ("leaving", 200, LEAVES_CANCELLED, CANCEL_URL),
    ),
    *(
        (
            Status.FAILED,
            reason,
            ("result-failed", 200, None, CANCEL_URL),
            ("result-failed", 200, None, CANCEL_URL),
        )
        for reason in Reason
        if reason is not Reason.USER_CANCELLED
    ),
    (
        Status.EXPIRED,
        None,
        ("result-expired", 410, None, CANCEL_URL),
        ("result-expired", 410, None, CANCEL_URL),
    ),
    (
        Status.REFUNDED,
        None,
        ("result-refunded", 200, None, SUCCESS_URL),
        ("result-refunded", 200, None, SUCCESS_URL),
    ),
]


@pytest.mark.clause("1.5")
@pytest.mark.parametrize(("status", "reason", "afresh", "after_submit"), STATES)
@pytest.mark.parametrize("leaf", ["", "/wait"])
async def test_every_state_has_its_page_opened_afresh_and_after_the_submit(
    emulator: World,
    status: Status,
    reason: Reason | None,
    afresh: tuple[str, int, str | None, str | None],
    after_submit: tuple[str, int, str | None, str | None],
    leaf: str,
) -> None:
    visitor = await customer_of(emulator, status, reason=reason)
    page = await visitor.open(leaf)
    back = page.find("back")
    link = back and back.attributes["href"]
    expected = after_submit if leaf else afresh
    assert (page.name, page.response.status_code, page.refresh, link) == expected


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        (Reason.INSUFFICIENT_BALANCE, "Insufficient balance. No money left your account."),
        (Reason.USER_CANCELLED, "You cancelled the payment on your phone."),
        (Reason.TIMEOUT, "The request timed out."),
        (Reason.WRONG_PIN, "The PIN was not correct."),
        (Reason.BANK_DECLINED, "The bank declined the payment."),
        (Reason.LIMIT_EXCEEDED, "The amount is over your limit. No money left your account."),
        (Reason.PROVIDER_ERROR, "The payment service is not available at the moment."),
    ],
)
async def test_a_failed_payment_says_why(emulator: World, reason: Reason, sentence: str) -> None:
    visitor = await customer_of(emulator, Status.FAILED, reason=reason)
    page = await visitor.open()
    assert page.heading == "Payment not completed"
    assert page.text("reason") == sentence


async def test_a_cancel_at_the_bank_does_not_speak_of_a_phone(emulator: World) -> None:
    visitor = await customer_of(
        emulator, Status.FAILED, reason=Reason.USER_CANCELLED, method="bank_transfer"
    )
    page = await visitor.open()
    assert page.heading == "Payment cancelled"
    assert page.find("reason") is None


@pytest.mark.parametrize(
    ("status", "heading"),
    [
        (Status.COMPLETED, "This payment has already been made"),
        (Status.EXPIRED, "This payment link has expired"),
        (Status.REFUNDED, "This payment was refunded"),
    ],
)
async def test_an_ended_payment_opened_afresh_says_so(
    emulator: World, status: Status, heading: str
) -> None:
    assert (await (await customer_of(emulator, status)).open()).heading == heading


@pytest.mark.parametrize("leaf", ["", "/wait"])
@pytest.mark.parametrize("method", ["telebirr", "mpesa", "bank_transfer"])
async def test_a_payment_in_processing_is_waited_for(
    emulator: World, method: str, leaf: str
) -> None:
    visitor = await customer_of(emulator, Status.PROCESSING, method=method)
    page = await visitor.open(leaf)
    assert page.name == "waiting"
    assert page.refresh is None
    assert page.refresh_without_script is not None
    assert page.refresh_without_script.startswith("1;url=../")
    assert page.refresh_without_script.endswith(f"{visitor.path}/wait")


@pytest.mark.clause("2.1.8", "8.4")
async def test_the_payment_expires_for_the_page_at_its_own_instant(emulator: World) -> None:
    visitor = await customer(emulator, expires_in=60)
    await visitor.advance(59_999)
    assert (await visitor.open()).name == "choose"
    await visitor.advance(1)
    assert (await visitor.open()).response.status_code == 410
    assert await visitor.statuses() == ["pending", "expired"]


@pytest.mark.clause("4.1.5")
async def test_methods_are_offered_in_the_order_of_the_payment(emulator: World) -> None:
    visitor = await customer(emulator, methods=["bank_transfer", "mpesa", "telebirr"])
    page = await visitor.open()
    offered = [button.attributes["value"] for button in page.all("button")[:-1]]
    assert offered == ["bank_transfer", "mpesa", "telebirr"]


@pytest.mark.parametrize(
    ("method", "name"),
    [("telebirr", "method-form"), ("mpesa", "method-form"), ("bank_transfer", "bank-choice")],
)
async def test_a_single_method_goes_straight_to_its_form(
    emulator: World, method: str, name: str
) -> None:
    page = await (await customer(emulator, methods=[method])).open()
    assert page.name == name
    assert page.find("other-method") is None


async def test_a_method_that_is_not_offered_is_not_shown(emulator: World) -> None:
    visitor = await customer(emulator, methods=["telebirr", "mpesa"])
    assert (await visitor.open("?method=bank_transfer")).name == "choose"


@pytest.mark.parametrize("path", ["/c/unknown", "/c/0000000123456789", "/c/no-token", "/c/%F0x"])
async def test_an_unknown_checkout_is_a_page_with_404(emulator: World, path: str) -> None:
    for response in (
        await emulator.pages.get(path),
        await emulator.pages.get(path, headers={"accept": "application/json"}),
    ):
        assert response.status_code == 404
        assert "We could not find this payment" in response.text


@pytest.mark.clause("2.1.7")
async def test_the_payment_id_is_no_way_to_its_checkout(emulator: World) -> None:
    visitor = await customer(emulator)
    token = visitor.payment_id.removeprefix("pay_")
    assert (await emulator.pages.get(f"/c/{token}")).status_code == 404


@pytest.mark.parametrize("status", Status)
async def test_every_page_says_that_it_is_a_simulation(emulator: World, status: Status) -> None:
    visitor = await customer_of(emulator, status)
    for leaf in ("", "/wait", "/cancelled", "?method=telebirr", "?method=bank_transfer"):
        page = await visitor.open(leaf)
        assert page.text("test-banner") == "Test mode. No real money moves."
        assert page.text("simulation") == "This page is a simulation."


@pytest.mark.clause("5.3")
async def test_live_mode_says_that_it_is_a_simulation_too(emulator: World) -> None:
    visitor = await customer(emulator, LIVE_KEY)
    page = await visitor.open()
    assert page.text("live-banner") == "Simulation. No real money moves, in live mode either."
    assert page.text("simulation") == "This page is a simulation."
    assert page.find("test-banner") is None


async def test_a_page_without_a_payment_says_that_it_is_a_simulation(emulator: World) -> None:
    visitor = await customer(emulator)
    accepts = {"accept": "text/html"}
    for response in (
        await emulator.pages.get("/c/unknown"),
        await emulator.pages.get("/nothing", headers=accepts),
        await emulator.pages.post(visitor.path, data={"method": "telebirr"}),
        await emulator.pages.post(visitor.path, json={}),
    ):
        assert response.status_code in (400, 403, 404)
        page = Page(response)
        assert page.text("simulation-banner") == "Simulation. No real money moves."
        assert page.text("simulation") == "This page is a simulation."


@pytest.mark.parametrize("status", Status)
async def test_no_page_tells_the_payment_id_or_the_metadata(
    emulator: World, status: Status
) -> None:
    visitor = await customer_of(emulator, status, metadata={"order": "confidential"})
    for leaf in ("", "/wait", "?method=telebirr", "?method=bank_transfer", "/cancelled"):
        html = (await visitor.open(leaf)).response.text
        assert visitor.payment_id not in html
        assert visitor.payment_id.removeprefix("pay_") not in html
        assert "confidential" not in html
        assert "_demo_key" not in html


async def test_no_search_engine_lists_a_checkout(emulator: World) -> None:
    page = await (await customer(emulator)).open()
    robots = [m for m in page.all("meta") if m.attributes.get("name") == "robots"]
    assert [meta.attributes["content"] for meta in robots] == ["noindex"]


async def test_no_page_asks_for_a_pin(emulator: World) -> None:
    visitor = await customer(emulator)
    for leaf in ("", "?method=telebirr", "?method=mpesa", "?method=bank_transfer"):
        for element in (await visitor.open(leaf)).all("input"):
            assert element.attributes["type"] in ("hidden", "tel")
