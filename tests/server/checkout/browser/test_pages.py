"""Every page in both languages fits every screen and is accessible."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import cycle
from typing import TypeVar

import pytest
import pytest_asyncio
from playwright.async_api import ViewportSize, expect

from tests.server.checkout.browser.axe import axe_findings, bring_axe, text_on_decorations
from tests.server.checkout.browser.boxes import small_controls
from tests.server.checkout.browser.states import STATES
from tests.server.checkout.browser.tabs import (
    LANGUAGES,
    PHONE,
    SCHEMES,
    SCREENSHOTS,
    Scheme,
    Tab,
    Windows,
)
from tests.server.checkout.browsing import Emulator

T = TypeVar("T")
Look = tuple[str, int, Scheme]

HEIGHTS = {360: 740, 320: 640, 768: 1024, 1280: 900}
# Where axe examines a state: in either language, in light and in dark. The widths take turns, so
# that every two of these meet in every two states.
LOOKS: tuple[set[Look], ...] = (
    {("en", 360, "light"), ("en", 1280, "dark"), ("am", 1280, "light"), ("am", 360, "dark")},
    {("en", 1280, "light"), ("en", 360, "dark"), ("am", 360, "light"), ("am", 1280, "dark")},
)
LOOKS_FOR_AXE = dict(zip(STATES, cycle(LOOKS), strict=False))
# Of each state, for people to look at.
PICTURES: dict[Look, str] = {
    ("en", 360, "light"): "phone",
    ("en", 360, "dark"): "phone-dark",
    ("am", 360, "light"): "phone-am",
    ("en", 768, "light"): "tablet",
    ("en", 1280, "light"): "desktop",
}

# On how many lines the text of an element stands.
LINES = """element => {
  const range = document.createRange();
  range.selectNodeContents(element);
  return new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size;
}"""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """A state, open in a tab for each language."""

    name: str
    customers: list[Tab]

    async def each(self, look: Callable[[Tab], Awaitable[T]]) -> dict[str, T]:
        """The findings by language."""
        found = await asyncio.gather(*(look(customer) for customer in self.customers))
        languages = [customer.device.language for customer in self.customers]
        return dict(zip(languages, found, strict=True))


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def customers(windows: Windows, server: Emulator) -> AsyncIterator[list[Tab]]:
    """A customer for each language, who goes from state to state, and turns and resizes a tab."""
    merchant = await server.merchant("Abeba Coffee")
    async with AsyncExitStack() as stack:
        tabs = [windows.tab(merchant, PHONE.speaking(language)) for language in LANGUAGES]
        yield [await stack.enter_async_context(tab) for tab in tabs]


@pytest_asyncio.fixture(scope="module", loop_scope="package", params=STATES)
async def seen(request: pytest.FixtureRequest, customers: list[Tab]) -> AsyncIterator[Seen]:
    seen = Seen(name=request.param, customers=customers)

    async def reach(customer: Tab) -> None:
        await resize(customer, PHONE.width)
        await STATES[seen.name].reach(customer)
        await bring_axe(customer.page)

    await seen.each(reach)
    yield seen
    for customer in customers:
        await customer.page.unroute_all()


async def resize(customer: Tab, width: int) -> None:
    size: ViewportSize = {"width": width, "height": HEIGHTS[width]}
    if customer.page.viewport_size != size:
        await customer.page.set_viewport_size(size)


async def width_of(customer: Tab) -> int:
    return int(await customer.page.evaluate("document.documentElement.scrollWidth"))


# A notice over the page, whose lines have different elements below them. Where it is a part of the
# page, on wider screens, axe decides about the same colours.
UNDECIDED = "incomplete color-contrast .offline"


@pytest.mark.parametrize("width", list(HEIGHTS))
async def test_every_page_fits_is_accessible_and_has_large_controls(seen: Seen, width: int) -> None:
    async def look(customer: Tab) -> list[str]:
        await resize(customer, width)
        found = await text_on_decorations(customer.page) + await small_controls(customer.page)
        if await width_of(customer) != width:
            found.append("it scrolls sideways")
        for scheme in SCHEMES:
            one: Look = (customer.device.language, width, scheme)
            is_for_axe = one in LOOKS_FOR_AXE[seen.name]
            picture = PICTURES.get(one)
            if is_for_axe or picture:
                await customer.page.emulate_media(color_scheme=scheme)
            if is_for_axe:
                findings = await axe_findings(customer.page)
                found += [each for each in findings if not each.startswith(UNDECIDED)]
            if picture:
                path = SCREENSHOTS / f"{seen.name}-{picture}.png"
                await customer.page.screenshot(path=path, full_page=True)
        return found

    found = await seen.each(look)
    assert not any(found.values()), found


async def test_a_screen_reader_finds_its_way_and_reads_no_seconds(seen: Seen) -> None:
    is_waiting = STATES[seen.name].page == "waiting"
    has_timer = STATES[seen.name].page in ("waiting", "choose", "method-form", "bank-choice")

    async def look(customer: Tab) -> None:
        page = customer.page
        await expect(page.locator("html")).to_have_attribute("lang", customer.device.language)
        for landmark in ("banner", "main"):
            await expect(page.get_by_role(landmark)).to_have_count(1)
        await expect(page.get_by_role("heading", level=1)).to_have_count(1)
        await expect(page.get_by_role("main").get_by_role("heading", level=1)).to_have_count(1)
        await expect(page.get_by_role("timer")).to_have_count(int(has_timer))
        live = page.locator("[role=status], [role=alert], [aria-live]")
        await expect(live.locator("[role=timer]")).to_have_count(0)
        await expect(page.locator("[role=timer][aria-live]")).to_have_count(0)
        if is_waiting:
            await expect(page.get_by_role("status")).to_have_text(customer.says("waiting"))

    await seen.each(look)


@pytest.mark.parametrize(
    ("name", "link", "target"),
    [("phone", "to-test-numbers", "number-0900000001"), ("waiting", "to-handset", "answer-cancel")],
)
async def test_a_bar_at_phone_size_leads_to_the_next_step(
    customer: Tab, name: str, link: str, target: str
) -> None:
    await STATES[name].reach(customer)
    bar, shown = customer.page.get_by_test_id("shortcuts"), customer.page.get_by_test_id(target)
    box = await bar.bounding_box()
    assert box is not None
    assert box["y"] + box["height"] == PHONE.height
    await expect(shown).not_to_be_in_viewport(ratio=1)
    await customer.click(link)
    await expect(shown).to_be_in_viewport(ratio=1)
    await resize(customer, 768)
    await expect(bar).to_be_hidden()
    await expect(shown).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize("name", ["phone", "waiting"])
async def test_a_phone_number_is_never_broken_over_two_lines(customer: Tab, name: str) -> None:
    await STATES[name].reach(customer)
    for width in HEIGHTS:
        await resize(customer, width)
        for number in await customer.page.locator(".number, .numbers b").all():
            assert await number.evaluate(LINES) == 1, width
