"""The printed lines and the JUnit file of a run, in the order of the files."""

from collections.abc import Iterable, Sequence
from xml.etree import ElementTree

import pytest

from emulator.reporting import Paint
from emulator.scenarios.runner.case_runner import step_text
from emulator.scenarios.runner.results import CaseResult, Mismatch, Trace
from emulator.tools.replay.console import (
    MAX_FAILURE_LINES,
    Printer,
    failure_lines,
    note_lines,
    summary_line,
)
from emulator.tools.replay.report import junit
from tests.tools.replay.sample_results import HERE, failed, failure, result, step

PLAIN = Paint(is_on=False)

STEPS = """\
  ok      advance: 1s  → 0 effects
  FAILED  advance: 1s  → 0 effects

  cases/{name}.yaml:7:5: create was refused: 400 invalid_amount
"""


def printed(
    results: Sequence[CaseResult], *, shows_steps: bool, progress: list[str] | None = None
) -> list[str]:
    """What is written when these cases are played; the texts of the progress are added."""
    parts: list[str] = []
    show = [].append if progress is None else progress.append

    def write(lines: Iterable[str]) -> None:
        parts.append("".join(f"{line}\n" for line in lines))

    printer = Printer(write, PLAIN, shows_steps=shows_steps, show=show)
    for ended in results:
        for each in ended.steps:
            printer.step_played(ended.case, each)
        printer.case_ended(ended)
    printer.print_failures()
    return parts


def test_with_steps_each_step_has_a_line_and_a_failure_follows() -> None:
    names = ("first", "second")
    cases = [f"{name}  cases/{name}.yaml\n" + STEPS.format(name=name) for name in names]
    parts = printed([failed(name) for name in names], shows_steps=True)
    assert "".join(parts) == "\n".join(cases)


def test_without_steps_each_case_has_a_line_and_failures_are_printed_at_the_end() -> None:
    assert "".join(printed([failed("bad"), result("good")], shows_steps=False)) == (
        "FAILED  bad  2 steps\nok      good  1 step\n\nbad  cases/bad.yaml\n"
        + STEPS.format(name="bad")
    )


def test_the_progress_is_shown_until_the_end_of_a_case() -> None:
    progress: list[str] = []
    parts = printed([result("one")], shows_steps=False, progress=progress)
    assert progress == ["one  step 1 of 1", ""]
    assert parts == ["ok      one  1 step\n"]


def test_a_single_mismatch_is_reported_at_its_place() -> None:
    mismatch = Mismatch(
        place=HERE, subject="status", expected="completed", seen="failed", note="So it is."
    )
    why = failure("status of order: not as expected", mismatches=(mismatch,))
    assert failure_lines(result(), why, PLAIN) == [
        "  cases/mine.yaml:7:5: status of order: not as expected (- expected, + actual)",
        "    -completed",
        "    +failed",
        "      So it is.",
    ]


def test_several_mismatches_have_a_maximum_number_of_lines() -> None:
    many = [f"entry {number}" for number in range(100)]
    mismatch = Mismatch(place=HERE, subject="events", expected=many, seen=[])
    lines = failure_lines(result(), failure(mismatches=(mismatch, mismatch)), PLAIN)
    assert lines[2] == "  cases/mine.yaml:7:5: events"
    assert len(lines) == MAX_FAILURE_LINES
    assert lines[-1].endswith("more lines")


def test_colours_depend_on_the_paint() -> None:
    assert Paint(is_on=True)("red", "FAILED") == "\x1b[31mFAILED\x1b[0m"
    assert Paint(is_on=True)("dim", "") == ""
    assert PLAIN("red", "FAILED") == "FAILED"


def test_the_summary_counts_cases_steps_and_skipped_files() -> None:
    assert summary_line([result()], 0) == "1 case: 1 passed, 0 failed, 1 step"
    assert summary_line([result(), failed()], 2) == (
        "2 cases: 1 passed, 1 failed, 3 steps (2 files without a script skipped)"
    )


def test_notes_name_kept_accounts_and_incomplete_traces() -> None:
    large = result("large", trace=Trace(is_cut=True))
    kept, cut = note_lines([result(), result("bad", kept_account="acct_1"), large])
    assert kept == "The account acct_1 of 'bad' was kept."
    assert cut.startswith("The trace of 'large' has only the last 1,000 requests")


@pytest.mark.parametrize(
    "script",
    [
        "create: {as: third, amount: 15000, methods: [telebirr, mpesa]}",
        "create: {amount: \"15000\", currency: null, metadata: {'on': 'true'}}",
        *(f"create: {{metadata: {{note: {'a' * 200}}}}}", "retrieve: order"),
        *("retrieve: {id: pay_nobody}", "list: {limit: 2, status: pending, after: order}"),
        'pay: {payment: order, method: telebirr, phone: "+251900000001"}',
        "pay: {payment: order, method: bank_transfer, bank: walia_test}",
        *("answer: {payment: order, answer: approve}", "cancel: order"),
        "transition: {payment: order, status: failed, reason: timeout, unusual: true}",
        *("advance: 30s", "advance: next"),
        "fault: {when: {request: create_payment, nth: 2}, then: {drop: true, point: after_commit}}",
        "expect: {payment: order, status: failed, events: [payment.created], reason: null}",
        "expect: {success_url: \"https://shop.example/ok?a=1\", code: 'no'}",
    ],
)
def test_the_text_of_a_step_is_its_yaml(script: str) -> None:
    assert step_text(step(script)) == script


def junit_file(*results: CaseResult) -> ElementTree.Element:
    return ElementTree.fromstring(junit(results, duration_ms=1_234.5))  # noqa: S314 - our own file


def test_the_junit_file_has_a_test_case_for_each_case() -> None:
    suites = junit_file(result("one", duration_ms=250.0), failed("two"))
    [suite] = suites
    counts = {"tests": "2", "failures": "1", "errors": "0", "time": "1.234"}
    assert suites.attrib == counts
    assert suite.attrib == {"name": "replay", **counts}
    assert [test_case.attrib for test_case in suite] == [
        {"name": "one", "classname": "cases/one.yaml", "time": "0.250"},
        {"name": "two", "classname": "cases/two.yaml", "time": "0.000"},
    ]


def test_the_failure_in_the_junit_file_has_the_printed_lines() -> None:
    [[passed, bad]] = junit_file(result(), failed())
    assert list(passed) == []
    [element] = bad
    assert element.tag == "failure"
    assert element.attrib["message"] == "create was refused: 400 invalid_amount"
    assert element.text == STEPS.format(name="mine").rstrip("\n")


def test_characters_that_xml_cannot_represent_are_replaced() -> None:
    [[bad]] = junit_file(failed(why=failure("a null \0, an escape \x1b[31m, <tags> & ብር")))
    assert bad[0].attrib["message"] == "a null \ufffd, an escape \ufffd[31m, <tags> & ብር"
