"""The printed comparison and the JSON document."""

import json
import re

import pytest

from emulator.domain.clauses import CLAUSES, SECTIONS
from emulator.reporting import Paint
from emulator.tools.verify.report import (
    comparison_json,
    comparison_lines,
    incompleteness,
    summary_line,
)
from tests.tools.verify.sample_comparisons import (
    ACCEPTED,
    DRIFTS,
    LEFT_OUT,
    REFUSAL,
    UNSEEN,
    comparison,
)

PLAIN = Paint(is_on=False)
COUNT = len(CLAUSES)


def lines(changes: dict[str, dict[str, object]] | None = None, width: int = 100) -> list[str]:
    return comparison_lines(comparison(changes), PLAIN, width)


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


def test_drifts_are_first_and_unseen_clauses_are_last() -> None:
    printed = lines(DRIFTS | UNSEEN)
    assert printed[1 : printed.index("1  What the service does")] == [
        "",
        "Drifts",
        "  DRIFT     2.1.12  `created_at`: `1` (our assumption: UTC and milliseconds)",
        '  DRIFT     4.1.4   `currency` "USD": 201',
        "  DRIFT     4.3.11  oldest first (our assumption: Newest first; at equal times the payment"
        " created",
        "                    later comes first)",
        "",
    ]
    assert printed[-5:] == [
        "",
        "Unseen clauses",
        "  a check needs an address: 6.2",
        "",
        f"{COUNT} clauses: {COUNT - 4} hold, 3 drift (2 from our assumptions), 1 unseen;"
        " 80 requests, 12 payments created",
    ]
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
    assert comparison_lines(it, PLAIN, 100)[-1] == (
        f"{COUNT} clauses: {COUNT - 3} hold, 0 drift, 3 unseen (2 not checked, because the"
        " service refused requests with 429); 80 requests, 12 payments created"
    )
    assert incompleteness(it) == (
        "the comparison is not complete: because of the rate limit"
        f" 2 of {COUNT} clauses were not checked;"
        " 429 was returned again after a wait of 60 s in total"
    )
    assert incompleteness(comparison(DRIFTS | UNSEEN)) is None


@pytest.mark.parametrize("width", [20, 40, 75, 76, 80, 100, 200])
def test_lines_fit_the_width(width: int) -> None:
    printed = lines(DRIFTS, width)
    widest = max(len(line) for line in printed[1:-1])
    assert widest <= max(width, 36)
    text = " ".join(" ".join(printed).split())
    assert ("→ oldest first" in text) is (width < 76)


def test_verdicts_and_titles_have_colours() -> None:
    printed = "\n".join(comparison_lines(comparison(DRIFTS | UNSEEN), Paint(is_on=True), 100))
    assert "\x1b[32mholds\x1b[0m" in printed
    assert "\x1b[31mDRIFT\x1b[0m     4.1.4" in printed
    assert "\x1b[33mDRIFT\x1b[0m     4.3.11" in printed
    assert "\x1b[1mUnseen clauses\x1b[0m" in printed
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
