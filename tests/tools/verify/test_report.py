"""A comparison as lines of a terminal, as JSON and as one HTML file that fits every screen."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from emulator.domain.clauses import CLAUSES, SECTIONS, Basis
from emulator.domain.instants import parse_instant
from emulator.reporting import MAX_COLUMNS, PLAIN, Paint, folded, marked
from emulator.tools.verify.comparison import Comparison
from emulator.tools.verify.findings import ClauseResult, Verdict
from emulator.tools.verify.report import (
    comparison_html,
    comparison_json,
    comparison_lines,
    incompleteness,
    summary_line,
)
from tests.tools.replay.report_page import (
    Page,
    check_contrast,
    check_page,
    needs_chromium,
    problems_on_screens,
)

HOLDS = tuple(
    ClauseResult(clause=clause, verdict=Verdict.HOLDS, seen="as it should be", basis=clause.basis)
    for clause in CLAUSES
)
# The first contradicts the contract, the others an assumption.
DRIFTS: dict[str, dict[str, Any]] = {
    "4.1.4": {"verdict": Verdict.DRIFT, "seen": '`currency` "USD": 201', "basis": Basis.STATED},
    "4.3.11": {"verdict": Verdict.DRIFT, "seen": "oldest first", "basis": Basis.ASSUMED},
    "2.1.12": {"verdict": Verdict.DRIFT, "seen": "`created_at`: `1`", "basis": Basis.ASSUMED},
}
UNSEEN: dict[str, dict[str, Any]] = {
    "6.2": {"verdict": Verdict.UNSEEN, "seen": "a check needs an address"}
}
REFUSAL = "429 was returned again after a wait of 60 s in total"
LEFT_OUT: dict[str, dict[str, Any]] = {
    "4.2.1": {"verdict": Verdict.UNSEEN, "seen": REFUSAL, "is_rate_limited": True},
    "4.3.1": {"verdict": Verdict.UNSEEN, "seen": REFUSAL, "is_rate_limited": True},
    # Another check has seen it.
    "7.7": {"is_rate_limited": True},
}
ACCEPTED: dict[str, dict[str, Any]] = {"4.3.11": {**DRIFTS["4.3.11"], "is_accepted": True}}


def comparison(
    changes: dict[str, dict[str, Any]] | None = None, *, refusal: str | None = None
) -> Comparison:
    """A comparison in which all clauses hold, except for the changes."""
    of_clause = changes or {}
    return Comparison(
        base_url="https://sandbox.example",
        key="test_de…key",
        other_key=None,
        began_at=parse_instant("2026-01-02T03:04:05Z"),
        results=tuple(replace(one, **of_clause.get(one.clause.number, {})) for one in HOLDS),
        requests=80,
        payments=12,
        refusal=refusal,
    )


COUNT = len(CLAUSES)


def lines(changes: dict[str, dict[str, object]] | None = None) -> list[str]:
    return comparison_lines(comparison(changes), PLAIN)


def test_every_clause_is_printed_below_its_section() -> None:
    printed = lines()
    assert printed[0] == (
        "Comparison of https://sandbox.example with the contract (key test_de…key)"
    )
    titles = [line for line in printed if re.match(r"\d", line) and "clauses" not in line]
    assert titles == [f"{number}  {title}" for number, title in SECTIONS.items()]
    found = [match[1] for line in printed if (match := re.match(r"  holds     (\S+) ", line))]
    assert found == [clause.number for clause in CLAUSES]
    assert printed[-1].startswith(f"{COUNT} clauses: {COUNT} hold, 0 drift, 0 unseen; 80 requests")


def test_a_table_of_the_sections_is_first() -> None:
    printed = lines(DRIFTS | UNSEEN)
    first, *rows = printed[2 : printed.index("Drifts") - 1]
    assert first == "Sections                          holds   drift  unseen"
    assert [row[2:31].split(" ", 1)[0] for row in rows] == list(SECTIONS)
    count = sum(clause.number.startswith("4.1.") for clause in CLAUSES)
    assert rows[6] == f"  4.1  Create a payment              {count - 1}       1       0"
    address = "a check needs an address: 6.2"
    assert rows[11] == f"  6    Events                         4       0       1  {address}"


def test_the_drifts_follow_the_table() -> None:
    printed = lines(DRIFTS | UNSEEN)
    drifts = printed.index("Drifts")
    assert printed[drifts : printed.index("1  What the service does")] == [
        "Drifts",
        "  DRIFT     2.1.12  `created_at`: `1` (our assumption: UTC and milliseconds)",
        '  DRIFT     4.1.4   `currency` "USD": 201',
        "  DRIFT     4.3.11  oldest first (our assumption: Newest first; at equal times the payment"
        " created later comes first)",
        "",
    ]
    assert printed[-1] == (
        f"{COUNT} clauses: {COUNT - 4} hold, 3 drift (2 from our assumptions), 1 unseen;"
        " 80 requests, 12 payments created"
    )
    assert "Drifts" not in lines(UNSEEN)


def test_an_accepted_drift_is_printed_as_accepted() -> None:
    printed = lines(ACCEPTED)
    assert [line.split()[:2] for line in printed if "accepted  " in line] == [
        ["accepted", "4.3.11"],
        ["accepted", "4.3.11"],
    ]
    assert summary_line(comparison(ACCEPTED)).startswith(
        f"{COUNT} clauses: {COUNT - 1} hold, 1 drift (1 from our assumptions, 1 accepted), 0 unseen"
    )


def test_clauses_that_are_left_out_are_counted() -> None:
    it = comparison(LEFT_OUT | UNSEEN, refusal=REFUSAL)
    assert comparison_lines(it, PLAIN)[-1] == (
        f"{COUNT} clauses: {COUNT - 3} hold, 0 drift, 3 unseen (2 not checked, because the"
        " service refused requests with 429); 80 requests, 12 payments created"
    )
    assert incompleteness(it) == (
        "the comparison is not complete: because of the rate limit"
        f" 2 of {COUNT} clauses were not checked;"
        " 429 was returned again after a wait of 60 s in total"
    )
    assert incompleteness(comparison(DRIFTS | UNSEEN)) is None


def test_what_was_seen_is_below_what_the_contract_says_in_lines_that_fit() -> None:
    printed = lines(DRIFTS)
    clause = next(clause for clause in CLAUSES if clause.number == "4.3.11")
    says = printed.index(f"  DRIFT     4.3.11  {clause.says}")
    assert printed[says + 1].startswith(f"{'':20}→ oldest first (our assumption: Newest first; ")
    assert max(map(len, "\n".join(map(folded, printed)).split("\n"))) <= MAX_COLUMNS


def test_verdicts_and_titles_have_colours() -> None:
    printed = "\n".join(comparison_lines(comparison(DRIFTS | UNSEEN), Paint(is_on=True)))
    assert "\x1b[32mholds\x1b[0m" in printed
    assert "\x1b[31mDRIFT\x1b[0m     4.1.4" in printed
    assert "\x1b[33mDRIFT\x1b[0m     4.3.11" in printed
    assert "\x1b[1mSections  " in printed
    assert "\x1b[1m4.1  Create a payment\x1b[0m" in printed
    assert "\x1b" not in "\n".join(lines(DRIFTS))


def test_the_json_has_a_stable_shape() -> None:
    document = json.loads(comparison_json(comparison(DRIFTS | UNSEEN)))
    clauses = document.pop("clauses")
    assert document == {
        "format": 1,
        "began_at": "2026-01-02T03:04:05.000Z",
        "base_url": "https://sandbox.example",
        "key": "test_de…key",
        "other_key": None,
        "has_drifted": True,
        "is_complete": True,
        "refusal": None,
        "counts": {
            "clauses": COUNT,
            "holds": COUNT - 4,
            "drift": 3,
            "accepted": 0,
            "unseen": 1,
            "rate_limited": 0,
            "requests": 80,
            "payments": 12,
        },
    }
    assert [one["number"] for one in clauses] == [clause.number for clause in CLAUSES]
    [order] = [one for one in clauses if one["number"] == "4.3.11"]
    assert order == {
        "number": "4.3.11",
        "section": "4.3",
        "says": "Ordering of results: not shown",
        "here": "Newest first; at equal times the payment created later comes first",
        "basis": "assumed",
        "assumed": None,
        "verdict": "drift",
        "drift_of": "assumed",
        "is_accepted": False,
        "is_rate_limited": False,
        "seen": "oldest first",
    }
    of_drifts = {one["number"]: one["drift_of"] for one in clauses if one["drift_of"]}
    assert of_drifts == {"2.1.12": "assumed", "4.1.4": "stated", "4.3.11": "assumed"}


def test_the_json_contains_accepted_drifts() -> None:
    document = json.loads(comparison_json(comparison(ACCEPTED)))
    assert document["has_drifted"] is False
    assert (document["counts"]["drift"], document["counts"]["accepted"]) == (1, 1)


def test_the_json_contains_the_reason_of_an_incomplete_comparison() -> None:
    document = json.loads(comparison_json(comparison(LEFT_OUT | UNSEEN, refusal=REFUSAL)))
    assert (document["has_drifted"], document["is_complete"]) == (False, False)
    assert document["refusal"] == REFUSAL
    assert (document["counts"]["unseen"], document["counts"]["rate_limited"]) == (3, 2)
    limited = {
        one["number"]: one["verdict"] for one in document["clauses"] if one["is_rate_limited"]
    }
    assert limited == {"4.2.1": "unseen", "4.3.1": "unseen", "7.7": "holds"}


def page(it: Comparison | None = None) -> Page:
    return Page(comparison_html(it or comparison(DRIFTS | UNSEEN)).decode())


def test_it_is_one_well_formed_page_that_loads_nothing() -> None:
    check_page(comparison_html(comparison(DRIFTS | UNSEEN)).decode())


def test_it_contains_every_clause_and_its_finding() -> None:
    it = page()
    assert {*it.values("li", "id")} >= {f"clause-{clause.number}" for clause in CLAUSES}
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
    links = page().values("a", "href")
    sections, links = links[: len(SECTIONS)], links[len(SECTIONS) :]
    assert sections == [f"#section-{number}" for number in SECTIONS]
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
    assert f"Verify report {chip}" in it.text
    assert "2 not checked, because the service refused requests with 429" in it.text
    assert (
        f"The comparison is not complete: because of the rate limit 2 of {len(CLAUSES)}" in it.text
    )
    assert "not complete" not in page(comparison(drifts)).text


def test_all_clauses_but_the_drifts_are_folded() -> None:
    assert "Unseen clauses 1" in page().text
    assert len(page().all("details")) == 1 + len(page(comparison()).all("details"))
    html = comparison_html(comparison(DRIFTS | UNSEEN)).decode()
    shown = re.sub("(?s)<details>.*?</details>", "", html)
    assert re.findall('id="clause-(.*?)"', shown) == ["2.1.12", "4.1.4", "4.3.11"]


def test_text_of_a_service_is_escaped() -> None:
    script = "<script>alert(1)</script>"
    it = page(comparison({"4.1.4": {**DRIFTS["4.1.4"], "seen": f"`{script}` {script}"}}))
    assert it.all("script") == []
    assert it.text.count(script) == 4
    assert marked("`<b>` & c") == "<code>&lt;b&gt;</code> &amp; c"


def test_the_contrast_of_text_is_sufficient() -> None:
    check_contrast("verify", grounds=("ground", "card"))


@pytest.mark.deep
@needs_chromium
async def test_in_a_browser_it_fits_and_is_accessible(tmp_path: Path) -> None:
    whole = comparison(DRIFTS | UNSEEN | {"4.3.12": {**DRIFTS["4.3.11"], "is_accepted": True}})
    # The sections are alike: axe would take as many times as long for all of them.
    some = [one for one in whole.results if one.clause.section in {"2.1", "4.1", "4.3", "6"}]
    file = tmp_path / "report.html"
    file.write_bytes(comparison_html(replace(whole, results=tuple(some), refusal=REFUSAL)))
    assert await problems_on_screens(file, "verify") == []
