"""The customer's answers: on the simulated phone beside the pages, and on the page of the bank."""

import pytest

from emulator.domain.payment import Reason, Status
from tests.server.checkout.reading import Page
from tests.server.checkout.visiting import CANCEL_URL, SUCCESS_URL, Customer, customer, customer_of
from tests.world import World, world


async def on_phone(emulator: World) -> tuple[Customer, Page]:
    """A customer whose phone shows the request."""
    visitor = await customer(emulator)
    return visitor, await visitor.pay("telebirr", phone="0911223344")


async def at_bank(emulator: World) -> tuple[Customer, Page]:
    visitor = await customer(emulator)
    page = await visitor.pay("bank_transfer", bank="walia_test")
    assert (page.name, page.text("bank-name")) == ("bank", "Walia Test Bank")
    return visitor, page


def screen(page: Page) -> str:
    return page.get("handset").attributes["data-handset"]


BALANCE = (Status.FAILED, Reason.INSUFFICIENT_BALANCE)
CANCELLED = (Status.FAILED, Reason.USER_CANCELLED)


COMPLETED = (Status.COMPLETED, None)
ANSWERS = [
    (on_phone, "approve", COMPLETED, SUCCESS_URL),
    (on_phone, "insufficient_balance", BALANCE, None),
    (on_phone, "wrong_pin", (Status.FAILED, Reason.WRONG_PIN), None),
    (on_phone, "cancel", CANCELLED, CANCEL_URL),
    (at_bank, "approve", COMPLETED, SUCCESS_URL),
    (at_bank, "insufficient_balance", BALANCE, None),
    (at_bank, "decline", (Status.FAILED, Reason.BANK_DECLINED), None),
    (at_bank, "cancel", CANCELLED, CANCEL_URL),
]


@pytest.mark.clause("1.6")
async def test_an_answer_decides_the_payment(emulator: World) -> None:
    for start, answer, outcome, leaves_for in ANSWERS:
        visitor, page = await start(emulator)
        assert page.get(f"answer-{answer}").attributes["value"] == answer
        page = await visitor.answer(page, answer)
        assert page.refresh == (leaves_for and f"0;url={leaves_for}"), (start, answer)
        assert await visitor.outcome() == outcome, (start, answer)


async def test_before_the_submit_the_phone_is_idle(emulator: World) -> None:
    visitor = await customer(emulator)
    for leaf in ("", "?method=telebirr", "?method=mpesa"):
        page = await visitor.open(leaf)
        assert screen(page) == "idle", leaf
        assert page.text("handset-screen") == "03:00 The payment request will appear here."
        assert page.find("answer-approve") is None


@pytest.mark.clause("1.6")
async def test_the_phone_shows_a_menu_whose_choices_label_its_keys(emulator: World) -> None:
    _, page = await on_phone(emulator)
    assert screen(page) == "asking"
    text = " ".join(page.text("handset-screen").split())
    assert text == "03:00 Demo Merchant ETB 150.00 1 Approve 0 Cancel"
    labels = {label.attributes["for"]: label.text for label in page.all("label")}
    for testid, name in (("answer-approve", "1 Approve"), ("answer-cancel", "0 Cancel")):
        assert labels[page.get(testid).attributes["id"]] == name


async def test_the_phone_has_the_language_of_the_page(emulator: World) -> None:
    visitor, _ = await on_phone(emulator)
    page = await visitor.open("/wait?lang=am")
    assert "1 ያጽድቁ" in page.text("handset-screen")
    assert "ብር\u00a0150.00" in page.text("handset-screen")
    assert "lang=am" in page.form("handset-form").attributes["action"]


async def test_an_ignored_request_can_be_shown_again_and_times_out(emulator: World) -> None:
    visitor, page = await on_phone(emulator)
    page = await visitor.click(page, "answer-ignore")
    ignored = page.response.url
    assert screen(page) == "ignored"
    assert page.find("answer-approve") is None
    # It stays closed when the page refreshes itself, with scripts or without.
    assert "menu=closed" in page.all("main")[0].attributes["data-here"]
    assert "menu=closed" in (page.refresh_without_script or "")
    assert screen(await visitor.click(page, "show-menu")) == "asking"
    await visitor.advance(30_000)
    assert Page(await emulator.pages.get(ignored)).text("reason") == "The request timed out."


async def test_the_phone_does_not_ask_where_a_scenario_answers(emulator: World) -> None:
    visitor = await customer(emulator)
    page = await visitor.pay("telebirr", phone="0900000003")
    assert screen(page) == "scripted"
    assert page.find("answer-approve") is page.find("answer-wrong_pin") is None


async def test_without_scripts_a_page_with_buttons_refreshes_itself_later() -> None:
    for is_hidden, refresh in ((False, "5"), (True, "1;url=")):
        async with world(no_handset=is_hidden) as emulator:
            visitor, page = await on_phone(emulator)
            opened = await visitor.open()
        assert page.refresh is opened.refresh is None
        assert (page.refresh_without_script or "").startswith(refresh)
        # A page at another address than its own moves there, where it redirects at the end.
        assert (opened.refresh_without_script or "").endswith("/wait")


async def test_a_bank_transfer_and_an_unpaid_payment_have_no_phone(emulator: World) -> None:
    visitor = await customer(emulator, methods=["bank_transfer"])
    for page in (await visitor.open(), await visitor.pay("bank_transfer", bank="walia_test")):
        assert page.find("handset") is None
    for status in (Status.FAILED, Status.EXPIRED):
        visitor = await customer_of(emulator, status)
        for leaf in ("", "/wait"):
            assert (await visitor.open(leaf)).find("beside") is None, (status, leaf)


async def test_the_phone_has_a_message_of_a_paid_payment(emulator: World) -> None:
    visitor = await customer_of(emulator, Status.COMPLETED)
    for leaf in ("", "/wait"):
        text = (await visitor.open(leaf)).text("handset-screen")
        assert text.startswith("03:00 You paid ETB\u00a0150.00 to Demo Merchant")
    visitor = await customer_of(emulator, Status.COMPLETED, method="bank_transfer")
    assert (await visitor.open()).find("beside") is None


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


async def test_the_answers_of_the_bank_are_not_part_of_its_page(emulator: World) -> None:
    _, page = await at_bank(emulator)
    for form, answers in (
        ("answer-form", ["Approve payment", "Cancel"]),
        ("bank-answers", ["Decline", "Insufficient balance"]),
    ):
        assert all(answer in page.text(form) for answer in answers), form
        assert all(answer in page.text("beside") for answer in answers) == (form == "bank-answers")


async def test_the_bank_page_can_be_reopened_while_the_bank_waits(emulator: World) -> None:
    visitor = await customer(emulator)
    assert (await visitor.open("/bank")).name == "choose"
    await visitor.pay("bank_transfer", bank="walia_test")
    page = await visitor.answer(await visitor.open(), "approve")
    assert page.refresh == (await visitor.open("/bank")).refresh == f"0;url={SUCCESS_URL}"


async def test_unknown_and_second_answers_and_those_of_a_phone_change_nothing(
    emulator: World,
) -> None:
    visitor, bank = await at_bank(emulator)
    for answer in ("", "yes", "APPROVE"):
        response = await visitor.post(bank.form("answer-form"), bank, answer=answer)
        assert response.status_code == 400, answer
        assert Page(response).name == "problem"
    assert (await visitor.answer(bank, "wrong_pin")).text("bank-name") == "Walia Test Bank"
    assert await visitor.statuses() == ["pending", "processing"]
    await visitor.answer(bank, "decline")
    page = await visitor.answer(bank, "approve")
    assert page.text("reason") == "The bank declined the payment."
