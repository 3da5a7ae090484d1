"""The table of the zoo, and replays of histories in which no other shop fails."""

from pathlib import Path

import pytest

from emulator.scenarios.webhook_form_file import load_webhook_form
from emulator.tools.explore.anomalies import ANOMALY_BY_NAME, ANOMALY_KINDS
from emulator.tools.explore.histories import build_history
from emulator.tools.explore.integration_file import read_integration
from emulator.tools.explore.steps import Capabilities, Outcome
from emulator.tools.explore.verdicts import ADVICE, Verdict
from tests.tools.explore.zoo.exploration import replay
from tests.tools.explore.zoo.integration import write_integration
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
PROGRAMS = {PYTHON: "*shop.py", NODE: "shop.mjs", PHP: "shop.php"}


def test_each_shop_has_one_bug_of_its_program_and_a_source() -> None:
    assert len(SHOPS) == len(WRONG_SHOPS) + len(CORRECT_SHOPS)
    assert (len(WRONG_SHOPS) >= 24, len(CORRECT_SHOPS) >= 6) == (True, True)
    programs = {
        language: "".join(file.read_text() for file in ZOO.glob(pattern))
        for language, pattern in PROGRAMS.items()
    }
    for shop in WRONG_SHOPS:
        assert shop.bug in programs[shop.language], shop.name
        assert shop.verdict in VERDICTS, shop.name
        assert shop.only in ("", shop.history.partition(", ")[2].partition(" ")[0]), shop.name
        assert shop.size == 1 or not (shop.only or shop.bug in HANDLER_BUGS), shop.name
        is_own = shop.only or shop.is_money or shop.form != "standard"
        assert is_own or shop.source.count("/") == 3, shop.name


def test_each_kind_of_anomaly_and_each_verdict_has_a_shop_that_only_it_shows() -> None:
    assert {shop.only for shop in WRONG_SHOPS if shop.only} == {k.name for k in ANOMALY_KINDS}
    assert {shop.verdict for shop in WRONG_SHOPS if shop.has_one_verdict} == VERDICTS


def test_explore_has_the_first_failing_history_of_each_shop(tmp_path: Path) -> None:
    can = dict[tuple[str, str], Capabilities]()
    for shop in WRONG_SHOPS:
        if (shop.ways, shop.form) not in can:
            file = read_integration(write_integration(shop, tmp_path, port=3000))
            can[shop.ways, shop.form] = Capabilities(file.keys, load_webhook_form(shop.form))
        outcome, *anomalies = shop.history.split(", ")
        known = [ANOMALY_BY_NAME[name] for name in anomalies]
        history = build_history(Outcome(outcome), known, can[shop.ways, shop.form])
        assert history is not None, shop.name
        assert history.title == shop.history


@pytest.mark.parametrize("bug", HANDLER_BUGS)
def test_each_bug_of_a_failing_handler_has_shops_in_two_languages(bug: str) -> None:
    """`test_found_bugs` finds each in a history of one anomaly."""
    assert len({shop.language for shop in WRONG_SHOPS if shop.bug == bug and shop.source}) >= 2


def test_each_verdict_has_two_or_three_lines_about_what_to_do() -> None:
    assert [id_ for id_ in VERDICTS if len(ADVICE[id_]) not in (2, 3)] == []


@pytest.mark.deep
def test_a_replay_compares_the_end_with_that_of_the_usual_order(tmp_path: Path) -> None:
    shop = SHOPS["points-need-processing"]
    anomalies = ("lost payment.created", "swapped payment.processing", "stale")
    finding = replay(shop, tmp_path, "paid", *anomalies)
    assert (finding.code, finding.verdict) == (1, "confluence"), finding.output


@pytest.mark.deep
def test_a_shop_that_stores_each_change_can_be_killed(tmp_path: Path) -> None:
    finding = replay(SHOPS["survives"], tmp_path, "paid", "killed payment.completed")
    assert finding.code == 0, finding.output
