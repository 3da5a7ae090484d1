"""What the tables say of a finding, by the run of the suite and what its tests did."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from emulator.scenarios.values import VariantKind
from emulator.tools.json_results import RehearsedVariant
from emulator.tools.rehearse.rehearsal import Traffic, rehearsed
from emulator.tools.rehearse.report import details
from emulator.tools.rehearse.suite import SuiteRun
from emulator.tools.rehearse.variants import Variant

ELSEWHERE = Path("/variants/own.yaml")
CHANGE = (
    "Change the shop, or your test if it calls the handler directly, until the tests pass with"
    " `rehearse --only own`."
)
ADD = "Add a test that fails with `rehearse --only own`."


def result(
    exit_code: int | None,
    *,
    kind: VariantKind = VariantKind.DISTURBANCE,
    failed_tests: Sequence[str] = (),
    own_scenarios: int = 0,
    file: Path = ELSEWHERE,
    last_lines: Sequence[str] = ("one", "two"),
) -> RehearsedVariant:
    run = SuiteRun(
        exit_code=exit_code,
        duration_ms=2_400,
        max_ms=2_000,
        last_lines=last_lines,
        failed_tests=failed_tests,
    )
    traffic = Traffic(api_requests=1, own_scenarios=own_scenarios)
    return rehearsed(Variant("own", kind, "", file), run, traffic)


@pytest.mark.parametrize(
    ("vary", "is_applicable"),
    [("charset", True), ("tie-order", False), ("tie-order,charset", True)],
)
def test_a_variant_that_no_message_had_is_not_applicable(vary: str, is_applicable: bool) -> None:
    variant = Variant("own", VariantKind.DISTURBANCE, "", vary=vary)
    run = SuiteRun(exit_code=0, duration_ms=1, max_ms=2, last_lines=(), failed_tests=())
    result = rehearsed(variant, run, Traffic(variants={"charset"}))
    assert result.is_applicable is is_applicable


DETAILS: dict[str, tuple[RehearsedVariant, list[str]]] = {
    "the last lines stand for tests without names": (
        result(1),
        ["exit code 1; the last lines of the output:", "  one", "  two", CHANGE],
    ),
    "a run without output has no last lines": (
        result(1, last_lines=()),
        ["exit code 1; no output", CHANGE],
    ),
    "a run that was ended has the tests that failed until then": (
        result(None, failed_tests=["a"]),
        [
            *("failed: a", "it did not end in time; the last lines of the output:"),
            *("  one", "  two", CHANGE),
        ],
    ),
    "the first five failed tests are named": (
        result(1, failed_tests="abcdefg"),
        [*(f"failed: {name}" for name in "abcde"), "and 2 more", CHANGE],
    ),
    "scenarios of tests are mentioned": (
        result(0, kind=VariantKind.FALSE_ANSWER, own_scenarios=2),
        ["the suite passed", "2 scenarios that the tests set had precedence", ADD],
    ),
}


@pytest.mark.parametrize(("finding", "lines"), DETAILS.values(), ids=DETAILS)
def test_a_finding_has_its_details_and_its_file(
    finding: RehearsedVariant, lines: list[str]
) -> None:
    assert [*details(finding)] == [*lines, "scenario: /variants/own.yaml"]


def test_the_path_begins_at_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    *_, line = details(result(0, file=tmp_path / "variants" / "own.yaml"))
    assert line == "scenario: variants/own.yaml"


@pytest.mark.parametrize(
    ("exit_code", "kind", "is_finding"),
    [
        (0, VariantKind.FALSE_ANSWER, True),
        (1, VariantKind.FALSE_ANSWER, False),
        (None, VariantKind.FALSE_ANSWER, False),
        (0, VariantKind.DISTURBANCE, False),
        (-9, VariantKind.DISTURBANCE, True),
        (None, VariantKind.DISTURBANCE, True),
    ],
)
def test_a_finding_is_an_unnoticed_false_answer_or_a_disturbance_that_fails(
    exit_code: int | None, kind: VariantKind, is_finding: bool
) -> None:
    assert result(exit_code, kind=kind).is_finding is is_finding
