"""The simulated phone beside the page: what it shows, and that its answers are the customer's."""

import pytest

from emulator.domain.payment import Reason, Status
from tests.checkout.reading import Page
from tests.checkout.visiting import CANCEL_URL, SUCCESS_URL, Customer, customer, customer_of
from tests.world import World, world


async def asked(emulator: World) -> tuple[Customer, Page]:
    """A customer whose phone asks."""
    visitor = await customer(emulator)
    return visitor, await visitor.pay("telebirr", phone="0911223344")


def shown(page: Page) -> str:
    return page.get("handset").attributes["data-handset"]


@pytest.mark.parametrize("leaf", ["", "?method=telebirr", "?method=mpesa"])
async def test_before_the_submit_the_phone_lies_there_idle(emulator: World, leaf: str) -> None:
    page = await (await customer(emulator)).open(leaf)
    assert shown(page) == "idle"
    assert page.text("handset-screen") == "The payment request will appear here."
    assert page.find("answer-approve") is None


@pytest.mark.clause("1.6")
async def test_the_phone_asks_as_a_menu_of_the_operator_would(emulator: World) -> None:
    _, page = await asked(emulator)
    assert shown(page) == "asking"
    screen = page.text("handset-screen")
    assert " ".join(screen.split()) == "Demo Merchant ETB 150.00 1 Approve 0 Cancel"


async def test_a_choice_of_the_menu_is_the_name_of_its_key(emulator: World) -> None:
    _, page = await asked(emulator)
    labels = {label.attributes["for"]: label.text for label in page.all("label")}
    for testid, name in (("answer-approve", "1 Approve"), ("answer-cancel", "0 Cancel")):
        assert labels[page.get(testid).attributes["id"]] == name


@pytest.mark.parametrize(
    ("answer", "status", "reason", "leaves_to"),
    [
        ("approve", Status.COMPLETED, None, SUCCESS_URL),
        ("cancel", Status.FAILED, Reason.USER_CANCELLED, CANCEL_URL),
        ("wrong_pin", Status.FAILED, Reason.WRONG_PIN, None),
        ("insufficient_balance", Status.FAILED, Reason.INSUFFICIENT_BALANCE, None),
    ],
)
async def test_an_answer_on_the_phone_decides_the_payment(
    emulator: World, answer: str, status: Status, reason: Reason | None, leaves_to: str | None
) -> None:
    visitor, page = await asked(emulator)
    button = page.get(f"answer-{answer}").attributes
    assert (button["name"], button["value"]) == ("answer", answer)
    page = await visitor.submit(page.form("handset-form"), page, answer=answer)
    assert page.refresh == (leaves_to and f"0;url={leaves_to}")
    payment = (await visitor.detail()).payment
    assert (payment.status, payment.reason) == (status, reason)


async def test_an_ignored_request_can_be_shown_again_and_runs_out(emulator: World) -> None:
    visitor, page = await asked(emulator)
    ignored = page.response.url.join(page.get("answer-ignore").attributes["href"])
    page = Page(await emulator.pages.get(ignored))
    assert shown(page) == "ignored"
    assert page.find("answer-approve") is None
    # It stays put away while the page looks again, in either way.
    assert "menu=closed" in page.all("main")[0].attributes["data-here"]
    assert "menu=closed" in (page.refresh_without_script or "")
    again = page.response.url.join(page.get("show-menu").attributes["href"])
    assert shown(Page(await emulator.pages.get(again))) == "asking"
    await visitor.advance(30_000)
    page = Page(await emulator.pages.get(ignored))
    assert page.text("reason") == "The request timed out."


async def test_where_a_scenario_answers_the_phone_does_not_ask(emulator: World) -> None:
    visitor = await customer(emulator)
    page = await visitor.pay("telebirr", phone="0900000003")
    assert shown(page) == "scripted"
    assert page.find("answer-approve") is page.find("answer-wrong_pin") is None


async def test_without_scripts_a_page_with_buttons_is_left_alone_for_longer() -> None:
    for hidden, every_s in ((False, "5;"), (True, "1;")):
        async with world(no_handset=hidden) as emulator:
            _, page = await asked(emulator)
            assert page.refresh is None
            assert (page.refresh_without_script or "").startswith(every_s)


async def test_a_bank_transfer_has_no_phone(emulator: World) -> None:
    visitor = await customer(emulator, methods=["bank_transfer"])
    for page in (await visitor.open(), await visitor.pay("bank_transfer", bank="walia_test")):
        assert page.find("handset") is None


@pytest.mark.parametrize("status", [Status.COMPLETED, Status.FAILED, Status.EXPIRED])
async def test_once_all_is_over_the_phone_is_gone(emulator: World, status: Status) -> None:
    visitor = await customer_of(emulator, status)
    for leaf in ("", "/wait"):
        assert (await visitor.open(leaf)).find("beside") is None


async def test_the_phone_can_be_hidden_and_the_control_api_answers() -> None:
    async with world(no_handset=True) as emulator:
        visitor = await customer(emulator)
        assert (await visitor.open()).find("beside") is None
        form = await visitor.open("?method=telebirr")
        assert form.find("handset") is None
        assert form.find("test-numbers") is not None
        page = await visitor.submit(form.form("pay-form"), form, phone="0911223344")
        assert page.find("handset") is page.find("beside") is None
        path = f"/payments/{visitor.payment_id}/answer"
        assert (await emulator.control("POST", path, {"answer": "approve"})).status_code == 200
        assert (await visitor.open("/wait")).refresh == f"0;url={SUCCESS_URL}"


async def test_the_phone_speaks_the_language_of_the_page(emulator: World) -> None:
    visitor, _ = await asked(emulator)
    page = await visitor.open("/wait?lang=am")
    assert "1 ያጽድቁ" in page.text("handset-screen")
    assert "ብር\u00a0150.00" in page.text("handset-screen")
    for form in ("handset-form",):
        assert "lang=am" in page.form(form).attributes["action"]
