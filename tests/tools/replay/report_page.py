"""Checks that the HTML reports share: well-formed, without resources, with sufficient contrast."""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import pytest
from playwright.async_api import Browser

from emulator.settings import data_directory
from tests.server.checkout.browser.axe import axe_findings, bring_axe
from tests.server.checkout.browsing import CHROMIUM, REPOSITORY, running_chromium
from tests.server.checkout.reading import Markup

# The width of the browser and its colour scheme.
SCREENS: tuple[tuple[int, Literal["light", "dark"]], ...] = (
    (320, "dark"),
    *((width, scheme) for width in (360, 960, 1280) for scheme in ("light", "dark")),
)
# A report of which nothing is unfolded, on a phone.
MAX_HEIGHT = 3_600

needs_chromium = pytest.mark.skipif(
    CHROMIUM is None and not os.environ.get("CI"), reason="there is no chromium on this machine"
)


class Page(Markup):
    @property
    def text(self) -> str:
        return " ".join(part.text for tag in ("title", "body") for part in self.all(tag))

    def values(self, tag: str, name: str) -> list[str]:
        """This attribute of each of these elements that has it."""
        found = (element.attributes.get(name) for element in self.all(tag))
        return [value for value in found if value is not None]


def check_page(html: str) -> Page:
    """Check that a page is well-formed, loads nothing and runs nothing."""
    page = Page(html)
    assert len(page.all("h1")) == 1
    assert [html.attributes for html in page.all("html")] == [{"lang": "en"}]
    ids = [each.attributes["id"] for each in page.elements if "id" in each.attributes]
    assert len(ids) == len(set(ids))
    tags = {each.tag for each in page.elements}
    assert not tags & {"script", "img", "link", "iframe", "object"}
    for each in page.elements:
        assert not each.attributes.keys() & {"src", "onclick", "onload", "style"}
        assert each.attributes.get("href", "#").startswith("#")
    assert "url(" not in html
    assert "@import" not in html
    return page


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def colours_of(report: str) -> tuple[dict[str, str], dict[str, str]]:
    """The colours of a report in the light and in the dark scheme."""
    light: dict[str, str] = {}
    dark: dict[str, str] = {}
    for file in ("tokens.css", f"{report}/report.css"):
        css = (data_directory("templates") / file).read_text(encoding="utf-8")
        blocks = re.findall(r":root \{(.*?)\}", css, re.DOTALL)
        for colours, block in zip((light, dark), blocks, strict=False):
            colours.update(re.findall(r"--([\w-]+): (#\w{6});", block))
    assert light.keys() == dark.keys()
    return light, dark


def check_contrast(
    report: str, *, grounds: Iterable[str], pairs: Iterable[tuple[str, str]] = ()
) -> None:
    """WCAG 2.2 AA requires 4.5 in the light and in the dark scheme."""
    for colours in colours_of(report):
        all_pairs = [
            *pairs,
            *((f"{name}-fill", name) for name in colours if f"{name}-fill" in colours),
            *((ground, text) for ground in grounds for text in ("ink", "soft-ink", "accent")),
        ]
        for ground, text in all_pairs:
            assert contrast(colours[ground], colours[text]) >= 4.5, (ground, text)


async def problems_on_screens(file: Path, name: str, *, max_height: int = MAX_HEIGHT) -> list[str]:
    """What axe and a browser report about a page, on each screen; every `details` is open."""
    async with running_chromium() as browser:
        found = [await _problems(browser, file, name, max_height, *screen) for screen in SCREENS]
    # axe cannot determine the background in pictures and in scrolled parts; see `check_contrast`.
    undecided = "incomplete color-contrast"
    return [line for lines in found for line in lines if not line.startswith(undecided)]


async def _problems(
    browser: Browser,
    file: Path,
    name: str,
    max_height: int,
    width: int,
    scheme: Literal["light", "dark"],
) -> list[str]:
    context = await browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme
    )
    tab = await context.new_page()
    problems: list[str] = []
    tab.on("console", lambda message: problems.append(message.text))
    await tab.goto(file.as_uri())
    height = await tab.evaluate("document.documentElement.scrollHeight")
    if height > max_height:
        problems.append(f"{height} high on {width}")
    await tab.evaluate("document.querySelectorAll('details').forEach(it => it.open = true)")
    await bring_axe(tab)
    problems += await axe_findings(tab)
    widest = await tab.evaluate("document.documentElement.scrollWidth")
    if widest > width:
        problems.append(f"{widest} wide on {width}")
    pictures = REPOSITORY / "artifacts" / name
    pictures.mkdir(parents=True, exist_ok=True)
    await tab.screenshot(path=pictures / f"{width}-{scheme}.png")
    await context.close()
    return problems
