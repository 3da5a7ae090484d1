"""The checkout pages with the keyboard alone: every focused element is visible."""

import pytest
from playwright.async_api import expect

from tests.server.checkout.browser.states import ASKED, STATES
from tests.server.checkout.browser.tabs import OpenTab, Tab

MAX_STOPS = 40

# The test id of what has the focus, and how its outline stands out from what is behind it.
FOCUSED = """() => {
  const luminance = (colour) => {
    const [red, green, blue] = colour.match(/[\\d.]+/g).slice(0, 3).map((part) => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const focused = document.activeElement;
  const style = getComputedStyle(focused);
  let behind = focused.parentElement;
  while (/, 0\\)$/.test(getComputedStyle(behind).backgroundColor)) behind = behind.parentElement;
  const both = [style.outlineColor, getComputedStyle(behind).backgroundColor].map(luminance);
  const box = focused.getBoundingClientRect();
  return {
    testid: focused.dataset.testid ?? null,
    isOutlined: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
    contrast: (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05),
    isOnScreen: box.top >= 0 && box.bottom <= innerHeight && box.width > 0,
  };
}"""
FOCUSABLE = """() => [...document.querySelectorAll("a[href], button, input:not([type=hidden])")]
  .filter((element) => element.checkVisibility())
  .map((element) => element.dataset.testid ?? null)"""


async def assert_focus_is_seen(customer: Tab) -> str | None:
    """Returns the test id of the focused element."""
    focused = await customer.page.evaluate(FOCUSED)
    assert focused["isOutlined"], focused
    assert focused["isOnScreen"], focused
    assert focused["contrast"] >= 3, focused
    return focused["testid"] and str(focused["testid"])


async def tab_to(customer: Tab, testid: str) -> None:
    """Press Tab until an element has the focus; check each element on the way."""
    for _ in range(MAX_STOPS):
        await customer.press("Tab")
        if await assert_focus_is_seen(customer) == testid:
            return
    raise AssertionError(f"the keyboard does not reach {testid}")


# What the customer does with the keyboard: goes to an element and presses a key there, types, or
# checks that an element is shown.
Walk = tuple[tuple[str, str], ...]
WALKS: dict[str, tuple[dict[str, str], Walk, str]] = {
    "by phone": (
        {},
        (
            ("method-telebirr", "Enter"),
            *(("phone", "0911223344"), ("phone", "Enter")),
            ("answer-approve", "Enter"),
        ),
        "success_url",
    ),
    "with a test number": (
        {},
        (
            ("method-mpesa", "Enter"),
            ("number-0700000001", "Enter"),
            # The number is filled in, and the button has the focus.
            ("pay", "Enter"),
        ),
        "success_url",
    ),
    "at a bank": (
        {},
        (
            ("method-bank_transfer", "Enter"),
            ("bank-semien_test", "Enter"),
            *(("leave-bank", "Enter"), ("open-bank", "Enter")),
            ("answer-approve", "Space"),
        ),
        "success_url",
    ),
    "after ignoring the phone": (
        ASKED,
        (
            *(("answer-ignore", "Enter"), ("show-menu", "Enter")),
            *(("answer-wrong_pin", "Enter"), ("back", "Enter")),
        ),
        "cancel_url",
    ),
    "in another language": ({}, (("language-am", "Enter"), ("cancel", "Enter")), "cancel_url"),
}


@pytest.mark.parametrize(("paid_by", "walk", "leaves_for"), WALKS.values(), ids=WALKS)
async def test_the_keyboard_alone_is_enough(
    customer: Tab, paid_by: dict[str, str], walk: Walk, leaves_for: str
) -> None:
    await customer.begin(paid_by=paid_by)
    for testid, key in walk:
        element = customer.page.get_by_test_id(testid)
        await expect(element).to_be_visible()
        if key.isdigit():
            await tab_to(customer, testid)
            await customer.page.keyboard.type(key)
        elif testid in {"phone", "pay"}:
            await expect(element).to_be_focused()
            await assert_focus_is_seen(customer)
            await customer.press(key)
        else:
            await tab_to(customer, testid)
            await customer.press(key)
        if testid.startswith("language-"):
            # The page in the other language has the same elements.
            language = testid.removeprefix("language-")
            await expect(customer.page.locator("html")).to_have_attribute("lang", language)
    await customer.leaves_for(getattr(customer.merchant.shop, leaves_for))


@pytest.mark.parametrize("name", ["choose", "phone", "banks", "bank", "waiting"])
async def test_the_tabulator_stops_at_everything_in_the_order_of_the_page(
    customer: Tab, name: str
) -> None:
    await STATES[name].reach(customer)
    expected = await customer.page.evaluate(FOCUSABLE)
    stops = []
    for _ in expected:
        await customer.press("Tab")
        stops.append(await assert_focus_is_seen(customer))
        await customer.page.emulate_media(color_scheme="dark")
        await assert_focus_is_seen(customer)
        await customer.page.emulate_media(color_scheme="light")
    assert stops == expected
    assert None not in stops


@pytest.mark.parametrize("has_script", [True, False])
async def test_a_refused_number_has_the_focus_and_is_described(
    customer: Tab, open_tab: OpenTab, has_script: bool
) -> None:
    device = customer.device if has_script else customer.device.without_script()
    async with open_tab(device) as customer:
        await customer.open(await customer.merchant.create(methods=["mpesa"]))
        field = customer.page.get_by_label(customer.says("phone_number"))
        hint = customer.says("phone_hint_mpesa")
        await expect(field).to_have_accessible_description(hint)
        await field.fill("0911223344")
        await customer.press("Enter")
        error = f"This number belongs to telebirr. {customer.says('phone_need_mpesa')}"
        await expect(field).to_have_accessible_description(f"{error} {hint}")
        await expect(field).to_be_focused()
        await expect(field).to_have_value("0911223344")
        await expect(field).to_have_attribute("aria-invalid", "true")
        await assert_focus_is_seen(customer)
        alert = customer.page.get_by_role("alert")
        await expect(alert).to_have_text(error)
        # What is wrong can be put right where the focus is.
        await customer.press("Control+A")
        await customer.page.keyboard.type("0700000001")
        await customer.press("Enter")
        await customer.leaves_for(customer.merchant.shop.success_url)
