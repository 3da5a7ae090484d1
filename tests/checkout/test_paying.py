"""What the customer does: submits once, answers at the bank, cancels, comes back."""

import asyncio

import pytest

from emulator.domain.payment import Status
from emulator.engine.payments.customer import PhoneAnswer
from emulator.settings import Settings
from tests.checkout.reading import Page
from tests.checkout.visiting import CANCEL_URL, SUCCESS_URL, customer
from tests.world import LIVE_KEY, World, world


@pytest.mark.clause("1.7")
@pytest.mark.parametrize(
    ("method", "phone"),
    [
        ("telebirr", "0900000001"),
        ("telebirr", "900000001"),
        ("telebirr", "+251 900 000 001"),
        ("telebirr", "00251-900-000-001"),
        ("mpesa", "0700000001"),
    ],
)
async def test_an_approved_payment_takes_the_customer_to_the_success_url(
    emulator: World, method: str, phone: str
) -> None:
    visitor = await customer(emulator)
    page = await visitor.pay(method, phone=phone)
    assert page.heading == "Payment successful"
    assert page.refresh == f"0;url={SUCCESS_URL}"
    payment = (await visitor.detail()).payment
    assert (payment.status, payment.method) == (Status.COMPLETED, method)


@pytest.mark.clause("1.8")
async def test_a_payment_without_balance_stays_on_its_result(emulator: World) -> None:
    visitor = await customer(emulator)
    page = await visitor.pay("telebirr", phone="0900000002")
    assert page.name == "result-failed"
    assert page.refresh is None
    assert page.get("back").attributes["href"] == CANCEL_URL


@pytest.mark.clause("1.8")
async def test_a_cancel_on_the_phone_takes_the_customer_to_the_cancel_url(
    emulator: World,
) -> None:
    visitor = await customer(emulator)
    page = await visitor.pay("telebirr", phone="0900000004")
    assert page.heading == "Payment cancelled"
    assert page.refresh == f"0;url={CANCEL_URL}"


async def test_the_waiting_page_counts_down_on_the_account_clock(emulator: World) -> None:
    visitor = await customer(emulator)
    page = await visitor.pay("telebirr", phone="0900000003")
    assert page.text("time-left") == "Time left: 0:30"
    await visitor.advance(29_001)
    assert (await visitor.open("/wait")).text("time-left") == "Time left: 0:01"
    await visitor.advance(999)
    page = await visitor.open("/wait")
    assert page.text("reason") == "The request timed out."


async def test_the_waiting_page_masks_the_number_and_keeps_it_over_its_refresh(
    emulator: World,
) -> None:
    visitor = await customer(emulator)
    page = await visitor.pay("telebirr", phone="0911223344")
    for _ in range(2):
        assert "+251 9•• ••• •44" in page.response.text
        assert "911223344" not in page.response.text
        assert page.refresh_without_script is not None
        address = page.response.url.join(page.refresh_without_script.partition("url=")[2])
        page = Page(await emulator.pages.get(address))


async def test_the_page_of_a_waiting_customer_leaves_once_the_phone_has_answered(
    emulator: World,
) -> None:
    visitor = await customer(emulator)
    page = await visitor.pay("telebirr", phone="0911223344")
    assert page.name == "waiting"
    await emulator.running.engine.customer.answer(
        visitor.owner, visitor.payment_id, PhoneAnswer.APPROVE
    )
    assert (await visitor.open("/wait")).refresh == f"0;url={SUCCESS_URL}"
    assert (await visitor.open()).refresh is None


@pytest.mark.parametrize(
    ("method", "phone", "sentence"),
    [
        ("telebirr", "", "Enter a valid phone number"),
        ("telebirr", "   ", "Enter a valid phone number"),
        ("telebirr", "12345", "Enter a valid phone number"),
        ("telebirr", "09000000012", "Enter a valid phone number"),
        ("telebirr", "٠٩٠٠٠٠٠٠٠١", "Enter a valid phone number"),
        ("telebirr", "+1 202 555 0100", "Enter a valid phone number"),
        ("telebirr", "+254 700 000 001", "Enter a valid phone number"),
        ("telebirr", "0700000001", "telebirr needs a number that starts with 09"),
        ("mpesa", "0900000001", "M-Pesa needs a number that starts with 07"),
        ("mpesa", '"><script>', "Enter a valid phone number"),
    ],
)
async def test_a_wrong_number_is_told_beside_it_and_changes_nothing(
    emulator: World, method: str, phone: str, sentence: str
) -> None:
    visitor = await customer(emulator)
    form_page = await visitor.open(f"?method={method}")
    page = await visitor.submit(form_page.form("pay-form"), form_page, phone=phone)
    assert page.response.status_code == 200
    assert page.text("phone-error") == sentence
    field = page.get("phone").attributes
    assert field["value"] == phone
    assert field["aria-invalid"] == "true"
    assert "autofocus" in field
    assert page.get("phone-error").attributes["id"] in field["aria-describedby"].split()
    assert await visitor.statuses() == ["pending"]
    again = await visitor.submit(
        page.form("pay-form"), page, phone={"telebirr": "0900000001"}.get(method, "0700000001")
    )
    assert again.heading == "Payment successful"


async def test_a_wrong_number_of_a_single_method_is_told_in_its_form(emulator: World) -> None:
    visitor = await customer(emulator, methods=["mpesa"])
    page = await visitor.pay("mpesa", phone="0900000001")
    assert page.text("phone-error") == "M-Pesa needs a number that starts with 07"


async def test_what_is_wrong_is_told_in_the_other_language_too(emulator: World) -> None:
    visitor = await customer(emulator)
    page = await visitor.pay("telebirr", phone="0700000001")
    address = page.response.url.join(page.get("language-am").attributes["href"])
    page = Page(await emulator.pages.get(address))
    assert page.text("phone-error") == "ለቴሌብር በ09 የሚጀምር ቁጥር ያስፈልጋል"
    assert page.get("phone").attributes["value"] == "0700000001"


async def test_of_a_wrong_number_the_first_32_characters_are_kept(emulator: World) -> None:
    visitor = await customer(emulator)
    page = await visitor.pay("telebirr", phone="1" * 1000)
    assert page.response.url.params["phone"] == "1" * 32
    page = await visitor.open(f"?method=telebirr&problem=phone_invalid&phone={'2' * 1000}")
    assert page.get("phone").attributes["value"] == "2" * 32


@pytest.mark.parametrize(
    "query",
    [
        "problem=&phone=1",
        "problem=forbidden&phone=1",
        "problem=phone_need_07&phone=1",
        "problem=%00&phone=1",
    ],
)
async def test_a_form_tells_of_no_problem_but_those_of_its_own_method(
    emulator: World, query: str
) -> None:
    page = await (await customer(emulator)).open(f"?method=telebirr&{query}")
    assert page.name == "method-form"
    assert page.find("phone-error") is None
    field = page.get("phone").attributes
    assert field["value"] == "1"
    assert "autofocus" not in field


@pytest.mark.parametrize(
    ("method", "name"), [("bank_transfer", "bank-choice"), ("cash", "choose"), ("", "choose")]
)
async def test_a_problem_of_a_phone_is_told_of_no_other_page(
    emulator: World, method: str, name: str
) -> None:
    visitor = await customer(emulator)
    page = await visitor.open(f"?method={method}&problem=phone_invalid&phone=1")
    assert page.name == name
    assert page.find("phone-error") is None


@pytest.mark.clause("1.4")
async def test_twenty_submits_at_once_are_one_payment(emulator: World) -> None:
    visitor = await customer(emulator)
    page = await visitor.open("?method=telebirr")
    form = page.form("pay-form")
    responses = await asyncio.gather(
        *(visitor.post(form, page, phone=f"09112233{n:02}") for n in range(20))
    )
    assert [response.status_code for response in responses] == [303] * 20
    assert await visitor.statuses() == ["pending", "processing"]
    pages = [await visitor.follow(response) for response in responses]
    assert {page.name for page in pages} == {"waiting"}
    # Only the number of the submit that won is told, and to everybody.
    assert len({page.get("asked").text for page in pages}) == 1


async def test_a_second_tab_that_submits_another_method_sees_the_first(emulator: World) -> None:
    visitor = await customer(emulator)
    second_tab = await visitor.open("?method=bank_transfer")
    await visitor.pay("telebirr", phone="0911223344")
    page = await visitor.submit(second_tab.form("pay-form"), second_tab, bank="walia_test")
    assert page.name == "waiting"
    assert (await visitor.detail()).payment.method == "telebirr"


async def test_even_a_wrong_number_shows_the_present_state_after_the_submit(
    emulator: World,
) -> None:
    visitor = await customer(emulator)
    second_tab = await visitor.open("?method=telebirr")
    await visitor.pay("telebirr", phone="0911223344")
    page = await visitor.submit(second_tab.form("pay-form"), second_tab, phone="1")
    assert page.name == "waiting"


async def test_a_submit_after_the_expiry_shows_that_it_has_expired(emulator: World) -> None:
    visitor = await customer(emulator, expires_in=60)
    page = await visitor.open("?method=telebirr")
    await visitor.advance(60_000)
    shown = await visitor.submit(page.form("pay-form"), page, phone="0900000001")
    assert shown.response.status_code == 410
    assert await visitor.statuses() == ["pending", "expired"]


async def test_a_reload_and_the_way_back_show_the_present_state(emulator: World) -> None:
    visitor = await customer(emulator)
    await visitor.pay("telebirr", phone="0900000001")
    for leaf in ("", "?method=telebirr"):
        page = await visitor.open(leaf)
        assert page.name == "result-completed"
        assert page.refresh is None


@pytest.mark.clause("1.6")
async def test_a_submit_of_the_method_alone_goes_to_its_form(emulator: World) -> None:
    visitor = await customer(emulator)
    page = await visitor.open("?method=telebirr")
    form = page.form("pay-form")
    del form.fields["phone"]
    for method, name in (("mpesa", "method-form"), ("bank_transfer", "bank-choice")):
        shown = await visitor.submit(form, page, method=method)
        assert shown.name == name
        assert shown.get("pay-form").fields["method"] == method
    assert await visitor.statuses() == ["pending"]


@pytest.mark.parametrize(
    "fields",
    [
        {"method": "bank_transfer", "bank": "real_bank"},
        {"method": "bank_transfer", "bank": "walia_test", "phone": "0900000001"},
        {"method": "telebirr", "phone": "0900000001", "bank": "walia_test"},
        {"method": "cash", "phone": "0900000001"},
        {"method": ""},
        {"method": "mpesa", "phone": "0700000001"},
        {"method": "mpesa", "phone": "1"},
    ],
)
async def test_what_no_form_of_ours_sends_is_refused_in_a_page(
    emulator: World, fields: dict[str, str]
) -> None:
    visitor = await customer(emulator, methods=["telebirr", "bank_transfer"])
    page = await visitor.open("?method=telebirr")
    form = page.form("pay-form")
    del form.fields["phone"]
    response = await visitor.post(form, page, None, **fields)
    assert response.status_code == 400
    assert Page(response).get("back-to-payment").attributes["href"].endswith(visitor.path)
    assert await visitor.statuses() == ["pending"]


@pytest.mark.clause("1.8")
async def test_the_cancel_button_leaves_the_payment_pending(emulator: World) -> None:
    visitor = await customer(emulator)
    for leaf in ("", "?method=telebirr", "?method=bank_transfer"):
        page = await visitor.open(leaf)
        shown = await visitor.submit(page.form("/cancel"), page)
        assert shown.heading == "Payment cancelled"
        assert shown.refresh == f"0;url={CANCEL_URL}"
        assert shown.get("back").attributes["href"] == CANCEL_URL
    assert await visitor.statuses() == ["pending"]


async def test_a_cancel_after_the_submit_shows_the_present_state(emulator: World) -> None:
    visitor = await customer(emulator)
    page = await visitor.open()
    await visitor.pay("telebirr", phone="0911223344")
    assert (await visitor.submit(page.form("/cancel"), page)).name == "waiting"
    assert (await visitor.open("/cancelled")).name == "waiting"
    assert await visitor.statuses() == ["pending", "processing"]


async def test_test_numbers_are_numbers_like_any_other_in_live_mode(emulator: World) -> None:
    visitor = await customer(emulator, LIVE_KEY)
    page = await visitor.pay("telebirr", phone="0900000001")
    assert page.name == "waiting"
    assert page.find("live-banner") is not None


async def test_a_method_that_only_the_settings_know_can_be_paid_with() -> None:
    async with world(Settings(methods=("telebirr", "cash_point"), seed=1)) as emulator:
        visitor = await customer(emulator, methods=["telebirr", "cash_point"])
        assert (await visitor.open()).text("method-cash_point") == "cash_point"
        page = await visitor.pay("cash_point")
        assert page.heading == "Your payment is being processed"
