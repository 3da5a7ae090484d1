"""The pages in each state of a payment: text, links, redirects, and what they never show."""

import re

import pytest

from emulator.domain.payment import Reason, Status
from tests.server.checkout.reading import Page
from tests.server.checkout.visiting import CANCEL_URL, SUCCESS_URL, customer, customer_of
from tests.world import LIVE_KEY, METHODS, World

LEAVES = ("", "/wait", "/cancelled", "?method=telebirr", "?method=mpesa", "?method=bank_transfer")
FAILED = "Payment not completed"

# The state; then the page of the checkout when it is opened and after the submit: name, HTTP
# status, refresh, and the address of its link back; then the heading and the reason when opened.
Shown = tuple[str, int, str | None, str | None]
PAID: Shown = ("result-completed", 200, None, SUCCESS_URL)
NOT_PAID: Shown = ("result-failed", 200, None, CANCEL_URL)
EXPIRED: Shown = ("result-expired", 410, None, CANCEL_URL)
REFUNDED: Shown = ("result-refunded", 200, None, SUCCESS_URL)
LEAVES_PAID: Shown = ("leaving", 200, f"0;url={SUCCESS_URL}", SUCCESS_URL)
LEAVES_CANCELLED: Shown = ("leaving", 200, f"0;url={CANCEL_URL}", CANCEL_URL)
CHOICE: Shown = ("choose", 200, None, None)
SENTENCES = {
    Reason.INSUFFICIENT_BALANCE: "Insufficient balance. No money left your account.",
    Reason.TIMEOUT: "The request timed out.",
    Reason.WRONG_PIN: "The PIN was not correct.",
    Reason.BANK_DECLINED: "The bank declined the payment.",
    Reason.LIMIT_EXCEEDED: "The amount is over your limit. No money left your account.",
    Reason.PROVIDER_ERROR: "The payment service is not available at the moment.",
}
STATES = [
    (Status.PENDING, None, CHOICE, CHOICE, "Choose a payment method", None),
    (Status.COMPLETED, None, PAID, LEAVES_PAID, "This payment has already been made", None),
    (
        *(Status.FAILED, Reason.USER_CANCELLED, NOT_PAID, LEAVES_CANCELLED),
        *(FAILED, "You cancelled the payment on your phone."),
    ),
    *(
        (Status.FAILED, reason, NOT_PAID, NOT_PAID, FAILED, sentence)
        for reason, sentence in SENTENCES.items()
    ),
    (Status.EXPIRED, None, EXPIRED, EXPIRED, "This payment link has expired", None),
    (Status.REFUNDED, None, REFUNDED, REFUNDED, "This payment was refunded", None),
]


def test_every_reason_has_its_sentence() -> None:
    assert {*SENTENCES, Reason.USER_CANCELLED} == set(Reason)


def shown(page: Page) -> Shown:
    back = page.find("back")
    link = back and back.attributes["href"]
    return page.name, page.response.status_code, page.refresh, link


@pytest.mark.clause("1.5")
async def test_every_state_has_its_page_when_opened_and_after_the_submit(emulator: World) -> None:
    for status, reason, opened, after_submit, heading, sentence in STATES:
        visitor = await customer_of(emulator, status, reason=reason)
        page = await visitor.open()
        assert (shown(page), page.heading) == (opened, heading), (status, reason)
        reference = "reference" if page.name.startswith("result") else "order-reference"
        assert page.text(reference) == visitor.payment_id[-8:]
        if sentence is not None:
            assert page.text("reason") == sentence
        assert shown(await visitor.open("/wait")) == after_submit, (status, reason)


@pytest.mark.parametrize("language", ["en", "am"])
async def test_a_result_page_says_that_no_money_left_the_account_where_this_is_certain(
    emulator: World, language: str
) -> None:
    sentence = {"en": "No money left your account.", "am": "ከመለያዎ ምንም ገንዘብ አልወጣም።"}[language]
    may_still_be_paid = {Reason.TIMEOUT, Reason.PROVIDER_ERROR}
    for reason in Reason:
        for method in METHODS:
            visitor = await customer_of(emulator, Status.FAILED, reason=reason, method=method)
            text = (await visitor.open(f"?lang={language}")).response.text
            assert text.count(sentence) == (reason not in may_still_be_paid), (reason, method)
    for status in (Status.COMPLETED, Status.EXPIRED, Status.REFUNDED):
        visitor = await customer_of(emulator, status)
        assert sentence not in (await visitor.open(f"?lang={language}")).response.text


async def test_a_cancel_at_the_bank_does_not_mention_a_phone(emulator: World) -> None:
    visitor = await customer_of(
        emulator, Status.FAILED, reason=Reason.USER_CANCELLED, method="bank_transfer"
    )
    page = await visitor.open()
    assert page.heading == "Payment cancelled"
    assert page.find("reason") is None


async def test_the_page_of_a_payment_in_processing_waits(emulator: World) -> None:
    for method in METHODS:
        visitor = await customer_of(emulator, Status.PROCESSING, method=method)
        for leaf in ("", "/wait"):
            page = await visitor.open(leaf)
            assert (page.name, page.refresh) == ("waiting", None), (method, leaf)
            assert page.refresh_without_script is not None
            assert page.refresh_without_script.startswith("1;url=../")
            assert page.refresh_without_script.endswith(f"{visitor.path}/wait")


@pytest.mark.clause("2.1.8", "8.4")
async def test_the_page_expires_at_the_instant_of_the_payment(emulator: World) -> None:
    visitor = await customer(emulator, expires_in=60)
    await visitor.advance(59_999)
    assert (await visitor.open()).name == "choose"
    await visitor.advance(1)
    assert (await visitor.open()).response.status_code == 410
    assert await visitor.statuses() == ["pending", "expired"]


@pytest.mark.clause("4.1.5")
async def test_methods_are_offered_in_the_order_of_the_payment(emulator: World) -> None:
    methods = ["bank_transfer", "mpesa", "telebirr"]
    page = await (await customer(emulator, methods=methods)).open()
    assert [button.attributes["value"] for button in page.all("button")[:-1]] == methods


async def test_a_single_method_goes_straight_to_its_form_and_one_not_offered_is_not_shown(
    emulator: World,
) -> None:
    for methods, query, name in (
        (["telebirr"], "", "method-form"),
        (["mpesa"], "", "method-form"),
        (["bank_transfer"], "", "bank-choice"),
        (["telebirr", "mpesa"], "?method=bank_transfer", "choose"),
    ):
        page = await (await customer(emulator, methods=methods)).open(query)
        assert (page.name, page.find("other-method")) == (name, None), (methods, query)


@pytest.mark.clause("2.1.7")
async def test_an_unknown_checkout_is_a_page_with_404(emulator: World) -> None:
    visitor = await customer(emulator)
    token = visitor.payment_id.removeprefix("pay_")
    for path in ("unknown", "0000000123456789", "no-token", "%F0x", token):
        for accept in ("text/html", "application/json"):
            response = await emulator.pages.get(f"/c/{path}", headers={"accept": accept})
            assert response.status_code == 404, (path, accept)
            assert "We could not find this payment" in response.text


@pytest.mark.parametrize("status", Status)
async def test_every_page_is_a_simulation_in_both_languages_without_secrets_and_inline_scripts(
    emulator: World, status: Status
) -> None:
    visitor = await customer_of(emulator, status, metadata={"order": "confidential"})
    for leaf in LEAVES:
        page = await visitor.open(leaf)
        assert page.text("test-banner") == "Test mode. No real money moves."
        assert page.text("simulation") == "This page is a simulation."
        for secret in (visitor.payment_id.removeprefix("pay_"), "confidential", "_demo_key"):
            assert secret not in page.response.text
        assert page.all("style") == []
        assert {script.text for script in page.all("script")} <= {""}
        for element in page.elements:
            assert "style" not in element.attributes
            assert not any(name.startswith("on") for name in element.attributes)
        # No page has a field for a PIN.
        assert {field.attributes["type"] for field in page.all("input")} <= {"hidden", "tel"}
        robots = [m.attributes for m in page.all("meta") if m.attributes.get("name") == "robots"]
        assert [meta["content"] for meta in robots] == ["noindex"]
        page = await visitor.open(f"{leaf}{'&' if '?' in leaf else '?'}lang=am")
        assert page.text("test-banner") == "የሙከራ ሁነታ። እውነተኛ ገንዘብ አይንቀሳቀስም።"
        assert page.text("simulation") == "ይህ ገጽ ማስመሰያ ነው።"
        assert re.search(r"[\u1200-\u137f]", page.heading)


@pytest.mark.clause("5.3")
async def test_a_page_of_live_mode_and_one_without_a_payment_are_simulations_too(
    emulator: World,
) -> None:
    visitor = await customer(emulator)
    live = await customer(emulator, LIVE_KEY)
    html = {"accept": "text/html"}
    for response, status, banner in (
        (await emulator.pages.get(live.path), 200, "live"),
        (await emulator.pages.get("/c/unknown"), 404, "simulation"),
        (await emulator.pages.get("/nothing", headers=html), 404, "simulation"),
        (await emulator.pages.post(visitor.path, data={"method": "telebirr"}), 403, "simulation"),
        (await emulator.pages.post(visitor.path, json={}), 400, "simulation"),
    ):
        assert response.status_code == status
        page = Page(response)
        mode = "Live mode. " if banner == "live" else ""
        assert page.text(f"{banner}-banner") == f"{mode}No real money moves."
        assert page.text("simulation") == "This page is a simulation."
        assert page.find("test-banner") is None
