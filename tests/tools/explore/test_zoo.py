"""The shops of the zoo, and those whose handler fails or is killed."""

import json
from pathlib import Path

import pytest

from emulator.tools.explore.anomalies import ANOMALY_KINDS
from emulator.tools.explore.judgement import Verdict
from emulator.tools.explore.report import GUIDE
from tests.cli.processes import REPOSITORY
from tests.tools.explore.zoo.__main__ import PAGE as FOUND_BUGS
from tests.tools.explore.zoo.__main__ import figures, read_runs
from tests.tools.explore.zoo.exploration import replay
from tests.tools.explore.zoo.table import (
    CORRECT_SHOPS,
    HANDLER_BUGS,
    NODE,
    PHP,
    PYTHON,
    SHOPS,
    WRONG_SHOPS,
)

VERDICTS = {verdict.id for verdict in Verdict}
ZOO = Path(__file__).parent / "zoo"
PROGRAMS = {PYTHON: "shop.py", NODE: "shop.mjs", PHP: "shop.php"}


def test_each_shop_has_one_bug_of_its_program_and_a_source() -> None:
    assert len(SHOPS) == len(WRONG_SHOPS) + len(CORRECT_SHOPS)
    assert (len(WRONG_SHOPS) >= 24, len(CORRECT_SHOPS) >= 6) == (True, True)
    programs = {language: (ZOO / name).read_text() for language, name in PROGRAMS.items()}
    for shop in WRONG_SHOPS:
        assert shop.bug in programs[shop.language], shop.name
        assert shop.verdict in VERDICTS, shop.name
        assert shop.only or shop.source.count("/") == 3, shop.name


def test_each_kind_of_anomaly_and_each_verdict_has_a_shop_that_only_it_shows() -> None:
    assert {shop.only for shop in WRONG_SHOPS if shop.only} == {k.name for k in ANOMALY_KINDS}
    assert {shop.verdict for shop in WRONG_SHOPS if shop.has_one_verdict} == VERDICTS


@pytest.mark.parametrize("bug", HANDLER_BUGS)
def test_each_bug_of_a_failing_handler_has_shops_in_two_languages(bug: str) -> None:
    """`test_found_bugs` finds each in a history of one anomaly."""
    assert len({shop.language for shop in WRONG_SHOPS if shop.bug == bug and shop.source}) >= 2


def test_the_guide_says_what_to_do_about_each_verdict() -> None:
    guide = (REPOSITORY / GUIDE).read_text(encoding="utf-8")
    _, _, sections = guide.partition("\n## What to do\n")
    assert [id_ for id_ in VERDICTS if f"\n### {id_}\n" not in sections] == []


def test_a_shop_is_found_wrong_that_cannot_bear_a_failure_of_its_handler(tmp_path: Path) -> None:
    shop = SHOPS["remembers-before-read"]
    finding = replay(shop, tmp_path, "paid", "read-500 payment.completed")
    assert (finding.code, finding.verdict) == (1, shop.verdict), finding.output


@pytest.mark.deep
def test_a_shop_that_reads_payments_from_the_list_is_found_wrong(tmp_path: Path) -> None:
    shop = SHOPS["remembers-before-list"]
    finding = replay(shop, tmp_path, "paid", "read-500 payment.completed")
    assert (finding.code, finding.verdict) == (1, shop.verdict), finding.output


@pytest.mark.deep
def test_a_replay_compares_the_end_with_that_of_the_usual_order(tmp_path: Path) -> None:
    shop = SHOPS["points-need-processing"]
    anomalies = ("lost payment.created", "swapped payment.processing", "stale")
    finding = replay(shop, tmp_path, "paid", *anomalies)
    assert (finding.code, finding.verdict) == (1, "confluence"), finding.output


def test_a_shop_that_stores_each_change_can_be_killed(tmp_path: Path) -> None:
    finding = replay(SHOPS["survives"], tmp_path, "paid", "killed payment.completed")
    assert finding.code == 0, finding.output


def test_the_table_of_found_bugs_has_each_shop() -> None:
    page = FOUND_BUGS.read_text(encoding="utf-8")
    for shop in WRONG_SHOPS:
        if not shop.source:
            continue
        assert f"| {shop.description} | {shop.language} | [{shop.source}]" in page, shop.name
        assert f"`{shop.verdict}`" in page


RUNS = [
    {"shop": "ships-on-both-paths", "number": n, "history": "paid", "seconds": n, "problems": []}
    for n in (1, 2, 3)
]


def test_the_figures_say_how_many_runs_each_shop_had(tmp_path: Path) -> None:
    file = tmp_path / "zoo.jsonl"
    correct = {"shop": "queue", "history": "", "seconds": 9, "problems": []}
    drawn = [{**correct, "number": number, "drawn": 1_000 * number} for number in (0, 1, 2)]
    file.write_text("".join(f"{json.dumps(run)}\n" for run in (*RUNS, *drawn)))
    text, problems = figures(read_runs(file))
    assert problems == []
    assert "| `fulfilled-twice` | paid | 3 | 2.0 |" in text
    assert text.endswith(
        "1 shops with a bug, 3 runs each; 1 correct shops, 2 seeds each; 3,000 random histories;"
        " the slowest bug took 3 s; 0 problems.\n"
    )


def test_two_first_failures_of_a_shop_and_a_wrong_verdict_are_problems() -> None:
    other = {**RUNS[0], "history": "failed"}
    wrong = {**RUNS[0], "problems": ["none failed"]}
    assert figures([*RUNS, other, wrong])[1] == [
        "ships-on-both-paths: none failed",
        "ships-on-both-paths: several first failures: ['failed', 'paid']",
    ]
