"""Pages load few bytes, all from the checkout itself, and letters for Amharic."""

import pytest
from playwright.async_api import expect

from tests.server.checkout.browser.states import ASKED, STATES
from tests.server.checkout.browser.tabs import PHONE, SCHEMES, SCREENSHOTS, Device, OpenTab, Tab

MAX_BYTES = 60_000
MAX_PICTURE_BYTES = 200_000

# Elements whose words stand directly in them, not in an element further down.
WORDS = "h1, h2, .banner span, .total, .eyebrow, label, .choice"


@pytest.mark.parametrize("name", ["choose", "phone", "waiting", "bank"])
async def test_an_amharic_page_is_light_with_all_its_letters(open_tab: OpenTab, name: str) -> None:
    async with open_tab(PHONE.speaking("am")) as customer:
        await STATES[name].reach(customer)
        await customer.page.evaluate("document.fonts.ready")
        loaded = {
            answer.url: len(await answer.body())
            for answer in customer.record.responses
            if "/status?" not in answer.url
        }
        assert sum(loaded.values()) < MAX_BYTES, loaded
        fonts = [url for url in loaded if url.endswith(".woff2")]
        # What only names need is not loaded for the words of the page.
        assert len(fonts) == 2, fonts
        assert all("-words-" in url for url in fonts), fonts
        assert await letters_of_other_fonts(customer) == {}


async def letters_of_other_fonts(customer: Tab) -> dict[str, int]:
    """How many Ethiopic letters are drawn with a font that the page has not sent, by their text."""
    session = await customer.page.context.new_cdp_session(customer.page)
    for domain in ("DOM", "CSS"):
        await session.send(f"{domain}.enable")
    root = (await session.send("DOM.getDocument"))["root"]["nodeId"]
    elements = await customer.page.locator(WORDS).all()
    found = await session.send("DOM.querySelectorAll", {"nodeId": root, "selector": WORDS})
    assert len(found["nodeIds"]) == len(elements) > 3
    lacking = {}
    for element, node in zip(elements, found["nodeIds"], strict=True):
        text = await element.inner_text()
        drawn = await session.send("CSS.getPlatformFontsForNode", {"nodeId": node})
        ours = sum(font["glyphCount"] for font in drawn["fonts"] if font["isCustomFont"])
        lacking[text] = sum("\u1200" <= letter <= "\u137f" for letter in text) - ours
    return {text: letters for text, letters in lacking.items() if letters}


async def test_the_waiting_dots_respect_reduced_motion(customer: Tab) -> None:
    await customer.begin(paid_by=ASKED)
    dot = customer.page.locator(".pulse i").first
    await expect(dot).to_have_css("animation-name", "none")
    await customer.page.emulate_media(reduced_motion="no-preference")
    await expect(dot).to_have_css("animation-name", "pulse")


async def test_the_dark_scheme_is_dark(open_tab: OpenTab) -> None:
    ground = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)"
    grounds = []
    async with open_tab() as customer:
        await customer.begin()
        for scheme in SCHEMES:
            await customer.page.emulate_media(color_scheme=scheme)
            grounds.append(await customer.page.evaluate(ground))
    light, dark = grounds
    assert max(dark) < 64 < 192 < min(light)


async def test_the_page_and_the_phone_beside_it_are_pictured(open_tab: OpenTab) -> None:
    async with open_tab(Device(width=1280, height=800, scale=1.5)) as customer:
        await customer.begin(paid_by=ASKED, amount=123_450)
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        picture = await customer.page.screenshot(path=SCREENSHOTS / "readme.png")
        assert len(picture) < MAX_PICTURE_BYTES
