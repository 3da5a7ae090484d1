"""The report: one file, well-formed, which shows all, loads nothing and fits every screen."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
from playwright.async_api import Browser

from emulator.domain.clauses import CLAUSES, SECTIONS
from emulator.verify.comparison import Comparison
from emulator.verify.report import comparison_html, marked
from tests.checkout.browser.axe import axe_findings, bring_axe
from tests.checkout.browsing import CHROMIUM, REPOSITORY, running_chromium
from tests.replay.test_report import Page, colours_of, contrast
from tests.verify.made import ACCEPTED, DRIFTS, LEFT_OUT, REFUSAL, UNSEEN, comparison

PICTURES = REPOSITORY / "artifacts" / "verify"
# Where a browser looks at it: how wide, and in the light or in the dark.
LOOKS: tuple[tuple[int, Literal["light", "dark"]], ...] = ((320, "dark"), (1280, "light"))

needs_chromium = pytest.mark.skipif(
    CHROMIUM is None and not os.environ.get("CI"), reason="there is no chromium on this machine"
)


def page(it: Comparison | None = None) -> Page:
    return Page(comparison_html(it or comparison(DRIFTS | UNSEEN)).decode())


def test_it_is_one_well_formed_page() -> None:
    it = page()
    assert len(it.all("h1")) == 1
    assert it.all("html") == [{"lang": "en"}]
    ids = [attributes["id"] for _, attributes in it.elements if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_it_loads_and_runs_nothing() -> None:
    it = page()
    tags = {tag for tag, _ in it.elements}
    assert tags & {"script", "img", "link", "iframe", "object"} == set()
    for _, attributes in it.elements:
        assert not attributes.keys() & {"src", "onclick", "onload", "style"}
        assert (attributes.get("href") or "#").startswith("#")
    text = comparison_html(comparison()).decode()
    assert "url(" not in text
    assert "@import" not in text


def test_every_clause_and_what_was_seen_of_it_is_in_it() -> None:
    it = page()
    places = {attributes.get("id") for attributes in it.all("li")}
    assert places >= {f"clause-{clause.number}" for clause in CLAUSES}
    for title in SECTIONS.values():
        assert title in it.text
    for what in (
        *("https://sandbox.example", "test_de…key", "2026-01-02 03:04 UTC"),
        *("as it should be", "it takes an address", '"USD": 201', "oldest first"),
        *("Assumed here: Newest first", "Assumed here: UTC and milliseconds"),
        *("3 drift (2 of what is assumed), 1 unseen", "80 requests, 12 payments created"),
    ):
        assert what in it.text, what
    assert "`" not in it.text


def test_what_drifts_stands_first_and_leads_to_its_clause() -> None:
    links = [attributes["href"] for attributes in page().all("a")]
    assert links == ["#clause-2.1.12", "#clause-4.1.4", "#clause-4.3.11"]
    for clean in (comparison(), comparison(ACCEPTED)):
        assert page(clean).all("nav") == []


@pytest.mark.parametrize(
    ("drifts", "told"), [({}, ("Not complete", "not complete")), (DRIFTS, ("Drift", "drift"))]
)
def test_what_is_not_complete_says_so_above_all(
    drifts: dict[str, dict[str, object]], told: tuple[str, str]
) -> None:
    it = page(comparison(LEFT_OUT | drifts, refusal=REFUSAL))
    title, chip = told
    assert f"{title} · Verify report" in it.text
    assert f"Verify report {chip}" in " ".join(it.text.split())
    assert "2 not looked at, since the service refused with 429: rate limit" in it.text
    assert (
        f"The comparison is not complete: because of the rate limit 2 of {len(CLAUSES)}" in it.text
    )
    assert "not complete" not in page(comparison(drifts)).text


def test_what_a_service_has_written_is_text_and_no_markup() -> None:
    script = "<script>alert(1)</script>"
    it = page(comparison({"4.1.4": {**DRIFTS["4.1.4"], "seen": f"`{script}` {script}"}}))
    assert it.all("script") == []
    assert it.text.count(script) == 4
    assert marked("`<b>` & c") == "<code>&lt;b&gt;</code> &amp; c"


def test_each_text_stands_out_from_what_it_stands_on() -> None:
    """WCAG 2.2 AA asks for 4.5, in the light and in the dark."""
    for colours in colours_of("verify"):
        pairs = [(name, f"{name}-ink") for name in colours if f"{name}-ink" in colours]
        pairs += [
            (ground, text) for ground in ("page", "card") for text in ("ink", "muted", "link")
        ]
        for ground, text in pairs:
            assert contrast(colours[ground], colours[text]) >= 4.5, (ground, text)


@needs_chromium
async def test_in_a_browser_it_fits_and_everybody_can_use_it(tmp_path: Path) -> None:
    whole = comparison(DRIFTS | UNSEEN | {"4.3.12": {**DRIFTS["4.3.11"], "is_accepted": True}})
    # The sections are alike: axe would take as many times as long for all of them.
    some = [one for one in whole.results if one.clause.section in {"2.1", "4.1", "4.3", "6"}]
    file = tmp_path / "report.html"
    file.write_bytes(comparison_html(replace(whole, results=tuple(some), refusal=REFUSAL)))
    async with running_chromium() as browser:
        for width, scheme in LOOKS:
            assert await found_wrong(browser, file, width, scheme) == []


async def found_wrong(
    browser: Browser, file: Path, width: int, scheme: Literal["light", "dark"]
) -> list[str]:
    context = await browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme
    )
    tab = await context.new_page()
    told: list[str] = []
    tab.on("console", lambda message: told.append(message.text))
    await tab.goto(file.as_uri())
    await bring_axe(tab)
    told += await axe_findings(tab)
    widest = await tab.evaluate("document.documentElement.scrollWidth")
    if widest > width:
        told.append(f"{widest} wide on {width}")
    PICTURES.mkdir(parents=True, exist_ok=True)
    await tab.screenshot(path=PICTURES / f"{width}-{scheme}.png")
    await context.close()
    return told
