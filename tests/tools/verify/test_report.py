"""The HTML report is one well-formed file that loads nothing and fits every screen."""

from dataclasses import replace
from pathlib import Path

import pytest

from emulator.domain.clauses import CLAUSES, SECTIONS
from emulator.reporting import marked
from emulator.tools.verify.comparison import Comparison
from emulator.tools.verify.report import comparison_html
from tests.tools.replay.report_page import (
    Page,
    check_contrast,
    check_page,
    needs_chromium,
    problems_on_screens,
)
from tests.tools.verify.sample_comparisons import (
    ACCEPTED,
    DRIFTS,
    LEFT_OUT,
    REFUSAL,
    UNSEEN,
    comparison,
)


def page(it: Comparison | None = None) -> Page:
    return Page(comparison_html(it or comparison(DRIFTS | UNSEEN)).decode())


def test_it_is_one_well_formed_page_that_loads_nothing() -> None:
    check_page(comparison_html(comparison(DRIFTS | UNSEEN)).decode())


def test_it_contains_every_clause_and_its_finding() -> None:
    it = page()
    places = {attributes.get("id") for attributes in it.all("li")}
    assert places >= {f"clause-{clause.number}" for clause in CLAUSES}
    for title in SECTIONS.values():
        assert title in it.text
    for what in (
        *("https://sandbox.example", "test_de…key", "2026-01-02 03:04 UTC"),
        *("as it should be", "a check needs an address", '"USD": 201', "oldest first"),
        *("Our assumption: Newest first", "Our assumption: UTC and milliseconds"),
        *("3 drift (2 from our assumptions), 1 unseen", "80 requests, 12 payments created"),
    ):
        assert what in it.text, what
    assert "`" not in it.text


def test_drifts_are_first_and_link_to_their_clauses() -> None:
    links = [attributes["href"] for attributes in page().all("a")]
    assert links == ["#clause-2.1.12", "#clause-4.1.4", "#clause-4.3.11"]
    for clean in (comparison(), comparison(ACCEPTED)):
        assert page(clean).all("nav") == []


@pytest.mark.parametrize(
    ("drifts", "told"), [({}, ("Not complete", "not complete")), (DRIFTS, ("Drift", "drift"))]
)
def test_an_incomplete_comparison_is_marked_at_the_top(
    drifts: dict[str, dict[str, object]], told: tuple[str, str]
) -> None:
    it = page(comparison(LEFT_OUT | drifts, refusal=REFUSAL))
    title, chip = told
    assert f"{title} · Verify report" in it.text
    assert f"Verify report {chip}" in " ".join(it.text.split())
    assert "2 not checked, because the service refused requests with 429" in it.text
    assert (
        f"The comparison is not complete: because of the rate limit 2 of {len(CLAUSES)}" in it.text
    )
    assert "not complete" not in page(comparison(drifts)).text


def test_unseen_clauses_are_folded() -> None:
    assert "Unseen clauses 1" in page().text
    assert len(page().all("details")) == 1
    assert page(comparison()).all("details") == []


def test_text_of_a_service_is_escaped() -> None:
    script = "<script>alert(1)</script>"
    it = page(comparison({"4.1.4": {**DRIFTS["4.1.4"], "seen": f"`{script}` {script}"}}))
    assert it.all("script") == []
    assert it.text.count(script) == 4
    assert marked("`<b>` & c") == "<code>&lt;b&gt;</code> &amp; c"


def test_the_contrast_of_text_is_sufficient() -> None:
    check_contrast("verify", grounds=("page", "card"))


@pytest.mark.deep
@needs_chromium
async def test_in_a_browser_it_fits_and_is_accessible(tmp_path: Path) -> None:
    whole = comparison(DRIFTS | UNSEEN | {"4.3.12": {**DRIFTS["4.3.11"], "is_accepted": True}})
    # The sections are alike: axe would take as many times as long for all of them.
    some = [one for one in whole.results if one.clause.section in {"2.1", "4.1", "4.3", "6"}]
    file = tmp_path / "report.html"
    file.write_bytes(comparison_html(replace(whole, results=tuple(some), refusal=REFUSAL)))
    assert await problems_on_screens(file, "verify") == []
