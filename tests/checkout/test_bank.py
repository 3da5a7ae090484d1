"""A bank transfer: the choice of a bank, and the bank's simulated page."""

import pytest

from emulator.domain.payment import Reason, Status
from tests.checkout.reading import Page
from tests.checkout.visiting import CANCEL_URL, SUCCESS_URL, customer
from tests.world import World


@pytest.mark.clause("1.6")
@pytest.mark.parametrize(
    ("answer", "status", "reason", "leaves_to"),
    [
        ("approve", Status.COMPLETED, None, SUCCESS_URL),
        ("insufficient_balance", Status.FAILED, Reason.INSUFFICIENT_BALANCE, None),
        ("decline", Status.FAILED, Reason.BANK_DECLINED, None),
        ("cancel", Status.FAILED, Reason.USER_CANCELLED, CANCEL_URL),
    ],
)
async def test_the_bank_page_decides_the_payment(
    emulator: World, answer: str, status: Status, reason: Reason | None, leaves_to: str | None
) -> None:
    visitor = await customer(emulator)
    bank = await visitor.pay("bank_transfer", bank="walia_test")
    assert bank.name == "bank"
    assert bank.text("bank-name") == "Walia Test Bank"
    assert bank.get(f"answer-{answer}").attributes["value"] == answer
    page = await visitor.submit(bank.form("answer-form"), bank, answer=answer)
    assert page.refresh == (leaves_to and f"0;url={leaves_to}")
    payment = (await visitor.detail()).payment
    assert (payment.status, payment.reason) == (status, reason)


async def test_a_bank_page_can_be_left_and_reopened(emulator: World) -> None:
    visitor = await customer(emulator)
    await visitor.pay("bank_transfer", bank="gelada_test")
    page = await visitor.open()
    assert page.name == "bank"
    page = await visitor.submit(page.form("answer-form"), page, answer="approve")
    assert page.refresh == f"0;url={SUCCESS_URL}"


async def test_the_bank_page_redirects_to_the_present_state_when_no_bank_waits(
    emulator: World,
) -> None:
    visitor = await customer(emulator)
    assert (await visitor.open("/bank")).name == "choose"
    bank = await visitor.pay("bank_transfer", bank="walia_test")
    await visitor.submit(bank.form("answer-form"), bank, answer="approve")
    assert (await visitor.open("/bank")).refresh == f"0;url={SUCCESS_URL}"


async def test_an_answer_that_comes_second_shows_the_present_state(emulator: World) -> None:
    visitor = await customer(emulator)
    bank = await visitor.pay("bank_transfer", bank="walia_test")
    form = bank.form("answer-form")
    await visitor.submit(form, bank, answer="decline")
    page = await visitor.submit(form, bank, answer="approve")
    assert page.text("reason") == "The bank declined the payment."


@pytest.mark.parametrize("answer", ["", "yes", "APPROVE"])
async def test_an_answer_that_does_not_exist_is_refused_in_a_page(
    emulator: World, answer: str
) -> None:
    visitor = await customer(emulator)
    bank = await visitor.pay("bank_transfer", bank="walia_test")
    response = await visitor.post(bank.form("answer-form"), bank, answer=answer)
    assert response.status_code == 400
    assert Page(response).name == "problem"
    assert await visitor.statuses() == ["pending", "processing"]


async def test_an_answer_that_is_none_of_a_bank_shows_the_bank_again(emulator: World) -> None:
    visitor = await customer(emulator)
    bank = await visitor.pay("bank_transfer", bank="walia_test")
    page = await visitor.submit(bank.form("answer-form"), bank, answer="wrong_pin")
    assert page.text("bank-name") == "Walia Test Bank"


async def test_the_bank_that_is_out_of_order_fails_with_the_submit(emulator: World) -> None:
    visitor = await customer(emulator)
    page = await visitor.pay("bank_transfer", bank="fidel_test")
    assert page.text("reason") == "The payment service is not available at the moment."
