"""The customer's submits: payment forms, refused numbers, cancels, and a second tab."""

import asyncio

import pytest

from emulator.domain.payment import Status
from emulator.settings import Settings
from tests.server.checkout.reading import Page
from tests.server.checkout.visiting import CANCEL_URL, SUCCESS_URL, customer
from tests.world import LIVE_KEY, World, world

INVALID = "Enter a valid phone number"
NEEDS_09 = "This number belongs to M-Pesa. telebirr needs a number that starts with 09"
NEEDS_07 = "This number belongs to telebirr. M-Pesa needs a number that starts with 07"


ACCEPTED_NUMBERS = (
    *("0900000001", "900000001", "+251 900 000 001", "00251-900-000-001"),
    "0700000001",
)


@pytest.mark.clause("1.7")
async def test_an_approved_payment_takes_the_customer_to_the_success_url(emulator: World) -> None:
    for phone in ACCEPTED_NUMBERS:
        method = "mpesa" if phone.startswith("07") else "telebirr"
        visitor = await customer(emulator)
        page = await visitor.pay(method, phone=phone)
        assert page.heading == "Payment successful", phone
        assert page.refresh == f"0;url={SUCCESS_URL}", phone
        payment = (await visitor.detail()).payment
        assert (payment.status, payment.method) == (Status.COMPLETED, method)


@pytest.mark.clause("1.8")
async def test_only_a_cancelled_payment_takes_the_customer_to_the_cancel_url(
    emulator: World,
) -> None:
    for phone, shown in (
        ("0900000002", ("Payment not completed", None)),
        ("0900000004", ("Payment cancelled", f"0;url={CANCEL_URL}")),
    ):
        page = await (await customer(emulator)).pay("telebirr", phone=phone)
        assert (page.heading, page.refresh) == shown
        assert page.get("back").attributes["href"] == CANCEL_URL


async def test_the_waiting_page_counts_down_on_the_account_clock(emulator: World) -> None:
    visitor = await customer(emulator)
    page = await visitor.pay("telebirr", phone="0900000003")
    assert page.text("time-left") == "Time left: 0:30"
    await visitor.advance(29_001)
    assert (await visitor.open("/wait")).text("time-left") == "Time left: 0:01"
    await visitor.advance(999)
    assert (await visitor.open("/wait")).text("reason") == "The request timed out."


async def test_the_waiting_page_masks_the_number_after_a_refresh_too(emulator: World) -> None:
    visitor = await customer(emulator)
    page = await visitor.pay("telebirr", phone="0911223344")
    for _ in range(2):
        assert "+251 9•• ••• •44" in page.response.text
        assert "911223344" not in page.response.text
        assert page.refresh_without_script is not None
        address = page.response.url.join(page.refresh_without_script.partition("url=")[2])
        page = Page(await emulator.pages.get(address))


WRONG_NUMBERS = [
    *(
        ("telebirr", phone, INVALID)
        for phone in [
            *("", "   ", "12345", "09000000012", "٠٩٠٠٠٠٠٠٠١"),
            *("+1 202 555 0100", "+254 700 000 001"),
        ]
    ),
    ("telebirr", "0700000001", NEEDS_09),
    ("mpesa", "0900000001", NEEDS_07),
    ("mpesa", '"><script>', INVALID),
]


async def test_the_form_explains_a_wrong_number_and_the_payment_stays_pending(
    emulator: World,
) -> None:
    visitor = await customer(emulator)
    for method, phone, sentence in WRONG_NUMBERS:
        page = await visitor.pay(method, phone=phone)
        assert page.response.status_code == 200, phone
        assert page.text("phone-error") == sentence, phone
        field = page.get("phone").attributes
        assert field["value"] == phone
        assert field["aria-invalid"] == "true"
        assert "autofocus" in field
        assert page.get("phone-error").attributes["id"] in field["aria-describedby"].split()
    assert await visitor.statuses() == ["pending"]
    page = await visitor.submit(page.form("pay-form"), page, phone="0700000001")
    assert page.heading == "Payment successful"


async def test_the_form_explains_a_wrong_number_in_the_other_language(emulator: World) -> None:
    visitor = await customer(emulator, methods=["telebirr"])
    page = await visitor.pay("telebirr", phone="0700000001")
    assert page.text("phone-error") == NEEDS_09
    page = await visitor.click(page, "language-am")
    assert page.text("phone-error") == "ይህ የኤም-ፔሳ ቁጥር ነው። ለቴሌብር በ09 የሚጀምር ቁጥር ያስፈልጋል"
    assert page.get("phone").attributes["value"] == "0700000001"


async def test_the_form_keeps_32_characters_of_a_wrong_number(emulator: World) -> None:
    visitor = await customer(emulator)
    page = await visitor.pay("telebirr", phone="1" * 1000)
    assert page.response.url.params["phone"] == f"{'1' * 31}…"
    page = await visitor.open(f"?method=telebirr&phone={'2' * 1000}")
    assert page.get("phone").attributes["value"] == f"{'2' * 31}…"


NUMBERS_IN_ADDRESSES = {
    "method=telebirr&phone=1": ("method-form", True),
    "method=telebirr&phone=": ("method-form", True),
    "method=telebirr&phone=0911223344": ("method-form", False),
    "method=telebirr": ("method-form", False),
    "method=bank_transfer&phone=1": ("bank-choice", False),
    "method=cash&phone=1": ("choose", False),
    "method=&phone=1": ("choose", False),
}


async def test_the_form_of_a_phone_method_refuses_the_number_in_its_address(
    emulator: World,
) -> None:
    visitor = await customer(emulator)
    for query, (name, is_refused) in NUMBERS_IN_ADDRESSES.items():
        page = await visitor.open(f"?{query}")
        assert (page.name, page.find("phone-error") is not None) == (name, is_refused), query
        if name == "method-form":
            assert ("autofocus" in page.get("phone").attributes) is is_refused, query


async def test_a_number_with_more_behind_it_is_refused_also_where_its_form_cuts_it(
    emulator: World,
) -> None:
    visitor = await customer(emulator)
    page = await visitor.pay("telebirr", phone=f"0911223344{' ' * 30}1")
    assert (page.name, page.find("phone-error") is not None) == ("method-form", True)


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
    # All of them show the number of the submit that was first.
    assert len({page.get("asked").text for page in pages}) == 1


async def test_a_submit_of_a_second_tab_shows_the_present_state(emulator: World) -> None:
    visitor = await customer(emulator)
    leaves = ("", "?method=telebirr", "?method=bank_transfer")
    tabs = [await visitor.open(leaf) for leaf in leaves]
    await visitor.pay("telebirr", phone="0911223344")
    for tab, fields in zip(tabs, ({}, {"phone": "1"}, {"bank": "walia_test"}), strict=True):
        form = tab.form("pay-form") if fields else tab.form("/cancel")
        assert (await visitor.submit(form, tab, **fields)).name == "waiting", fields
    assert (await visitor.open("/cancelled")).name == "waiting"
    assert (await visitor.detail()).payment.method == "telebirr"
    assert await visitor.statuses() == ["pending", "processing"]


async def test_a_submit_after_the_expiry_shows_that_it_has_expired(emulator: World) -> None:
    visitor = await customer(emulator, expires_in=60)
    page = await visitor.open("?method=telebirr")
    await visitor.advance(60_000)
    shown = await visitor.submit(page.form("pay-form"), page, phone="0900000001")
    assert shown.response.status_code == 410
    assert await visitor.statuses() == ["pending", "expired"]


@pytest.mark.clause("1.6")
async def test_a_submit_of_the_method_alone_goes_to_its_form(emulator: World) -> None:
    visitor = await customer(emulator)
    page = await visitor.open("?method=telebirr")
    form = page.form("pay-form")
    del form.fields["phone"]
    for method, name in (("mpesa", "method-form"), ("bank_transfer", "bank-choice")):
        shown = await visitor.submit(form, page, method=method)
        assert (shown.name, shown.get("pay-form").fields["method"]) == (name, method)
    assert await visitor.statuses() == ["pending"]


REFUSED_FIELDS: list[dict[str, str]] = [
    {"method": "bank_transfer", "bank": "real_bank"},
    {"method": "bank_transfer", "bank": "walia_test", "phone": "0900000001"},
    {"method": "telebirr", "phone": "0900000001", "bank": "walia_test"},
    {"method": "cash", "phone": "0900000001"},
    {"method": ""},
    {"method": "mpesa", "phone": "0700000001"},
    {"method": "mpesa", "phone": "1"},
]


async def test_fields_that_no_form_sends_are_refused_with_a_page(emulator: World) -> None:
    visitor = await customer(emulator, methods=["telebirr", "bank_transfer"])
    page = await visitor.open("?method=telebirr")
    form = page.form("pay-form")
    del form.fields["phone"]
    for fields in REFUSED_FIELDS:
        response = await visitor.post(form, page, None, **fields)
        assert response.status_code == 400, fields
        assert Page(response).get("back-to-payment").attributes["href"].endswith(visitor.path)
    assert await visitor.statuses() == ["pending"]


@pytest.mark.clause("1.8", "3.3")
async def test_the_cancel_button_leaves_the_payment_pending(emulator: World) -> None:
    visitor = await customer(emulator)
    for leaf in ("", "?method=telebirr", "?method=bank_transfer"):
        page = await visitor.open(leaf)
        shown = await visitor.submit(page.form("/cancel"), page)
        assert (shown.heading, shown.refresh) == ("Payment cancelled", f"0;url={CANCEL_URL}")
        assert shown.get("back").attributes["href"] == CANCEL_URL
    assert await visitor.statuses() == ["pending"]


async def test_live_mode_has_no_test_numbers(emulator: World) -> None:
    visitor = await customer(emulator, LIVE_KEY)
    form = await visitor.open("?method=telebirr")
    assert form.find("test-numbers") is None
    assert form.find("handset") is not None
    page = await visitor.pay("telebirr", phone="0900000001")
    assert page.name == "waiting"
    assert page.find("live-banner") is not None


async def test_a_method_that_only_the_settings_know_can_be_paid_with() -> None:
    async with world(Settings(methods=("telebirr", "cash_point"), seed=1)) as emulator:
        visitor = await customer(emulator, methods=["telebirr", "cash_point"])
        assert (await visitor.open()).text("method-cash_point") == "cash_point"
        assert (await visitor.pay("cash_point")).heading == "Your payment is being processed"
