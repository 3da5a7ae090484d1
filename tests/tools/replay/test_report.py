"""The HTML report is one well-formed file that loads nothing."""

from pathlib import Path
from typing import Any

import pytest

from emulator.scenarios.runner.results import CaseResult, Mismatch, Trace
from emulator.tools.replay.report import MAX_BODY_CHARACTERS, MAX_SHOWN, pretty, report
from tests.tools.replay.report_page import (
    Page,
    check_contrast,
    check_page,
    needs_chromium,
    problems_on_screens,
)
from tests.tools.replay.sample_results import (
    HERE,
    LATER,
    ORDER,
    event,
    failed,
    failure,
    played,
    request,
    result,
    step,
    webhook,
)

TRACE = Trace(
    events=(event("created"), event("processing"), event("failed", at=LATER, reason="timeout")),
    webhooks=(webhook("created"), webhook("failed", step=2, at=LATER, is_genuine=False)),
    requests=(
        request(warnings=("unknown-parameter:colour",)),
        request(status=None, response_body="", fault={"then": {"drop": True}}),
        request(status=500, fault={"then": {"status": 500, "point": "after_commit"}}),
    ),
)


def html(*results: CaseResult) -> str:
    return report(results, skipped=0).decode()


def detailed(name: str = "mine", **changes: Any) -> CaseResult:
    values: dict[str, Any] = {
        "steps": (
            played(1, step=step("create: {as: order}"), text="create: {as: order}", payment=ORDER),
            played(2, at=LATER),
        ),
        "trace": TRACE,
        "names": {"order": ORDER},
    }
    return result(name, **values | changes)


def test_it_is_one_well_formed_page_that_loads_nothing() -> None:
    check_page(html(detailed(), failed("bad")))


def test_the_contrast_of_text_is_sufficient() -> None:
    pairs = [("card", "good"), ("tint", "bad")]
    check_contrast("replay", grounds=("ground", "card", "tint"), pairs=pairs)


def test_it_contains_everything_that_happened() -> None:
    text = Page(html(detailed())).text
    for what in (
        *("mine", "passed", "create: {as: order}", "advance: 1s"),
        *("payment.created", "payment.failed", "timeout", ORDER),
        *("unknown-parameter:colour", "drop", "status 500, point after_commit", "no response"),
        *("genuine", "forged", "signature: v1,c2lnbmF0dXJl", '"amount": 10000'),
        *("Coverage", "pending → processing", "tamper timestamp"),
    ):
        assert what in text, what


def test_a_failure_shows_both_sides() -> None:
    mismatch = Mismatch(
        place=HERE, subject="events", expected=["a", "b"], seen=["a", "c"], note="Note it."
    )
    page = Page(html(failed(why=failure("events: not as expected", mismatches=(mismatch,)))))
    assert "events: not as expected" in page.text
    assert "Note it." in page.text
    rows = page.values("tr", "class")
    assert rows.count("expected") == rows.count("actual") == 1
    assert "went-wrong" in rows


def test_text_from_outside_is_escaped() -> None:
    script = "<script>alert(1)</script>"
    page = Page(
        html(
            detailed(
                trace=Trace(
                    requests=(request(request_body=script, path=f"/v1/{script}"),),
                    webhooks=(webhook("created", body=script, id=script),),
                )
            )
        )
    )
    assert page.all("script") == []
    assert script in page.text


def test_each_case_has_a_diagram() -> None:
    pages = Page(html(detailed(), failed("bad")))
    assert pages.values("ol", "aria-label") == ["What happened in bad", "What happened in mine"]


def test_failed_cases_are_first_and_have_links() -> None:
    assert Page(html(detailed())).all("nav") == []
    several = Page(html(detailed(), failed("bad"), result("other")))
    assert several.values("a", "href") == ["#case-bad"]
    assert several.values("article", "id") == ["case-bad", "case-mine", "case-other"]


def test_passed_cases_are_folded_if_there_are_several_cases() -> None:
    # One more is for the coverage.
    assert len(Page(html(result())).all("details")) == 1
    assert len(Page(html(result(), failed("bad"))).all("details")) == 2
    assert len(Page(html(result(), result("other"))).all("details")) == 3


@pytest.mark.deep
def test_of_many_cases_the_first_have_details() -> None:
    page = html(*(detailed(f"case-{number}") for number in range(MAX_SHOWN + 2)))
    assert page.count("<h3>What happened</h3>") == MAX_SHOWN
    assert page.count(f"Only the first {MAX_SHOWN} cases have a diagram") == 2


def test_a_webhook_has_its_payment_and_its_copy() -> None:
    trace = Trace(webhooks=(webhook("created"), webhook("failed"), webhook("failed")))
    text = Page(html(detailed(trace=trace))).text
    assert f"payment.created of order {ORDER} 2026-01-01" in text
    assert f"payment.failed of order {ORDER} , copy 1 of 2 2026-01-01" in text
    assert f"payment.failed of order {ORDER} , copy 2 of 2 2026-01-01" in text


def test_it_contains_no_duration() -> None:
    assert html(detailed(duration_ms=1.0)) == html(detailed(duration_ms=98_765.4))


def test_long_tables_are_cut() -> None:
    text = Page(html(detailed(trace=Trace(requests=(request(),) * (MAX_SHOWN + 1))))).text
    assert f"The first {MAX_SHOWN} of {MAX_SHOWN + 1} are shown." in text
    assert text.count("POST /v1/payments") == MAX_SHOWN


def test_bodies_are_indented_and_cut() -> None:
    assert pretty('{"a":{"b":"ብር"}}') == '{\n  "a": {\n    "b": "ብር"\n  }\n}'
    assert pretty("half a bo") == "half a bo"
    assert pretty("x" * (MAX_BODY_CHARACTERS + 1)).endswith("… and more")


def test_a_long_mismatch_is_cut() -> None:
    entries = [f"entry {number}." for number in range(MAX_SHOWN)]
    mismatch = Mismatch(place=HERE, subject="events", expected=entries, seen=[])
    text = Page(html(failed("bad", failure(mismatches=(mismatch,))))).text
    # The first line of a diff is the place of its first part.
    assert f"The first {MAX_SHOWN} of {MAX_SHOWN + 1} are shown." in text
    assert entries[-2] in text
    assert entries[-1] not in text


@pytest.mark.deep
@needs_chromium
async def test_in_a_browser_it_fits_and_is_accessible(tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(html(detailed(), failed("bad"), result("other")), encoding="utf-8")
    assert await problems_on_screens(file, "replay") == []
