"""What a run prints: in the order of the files, whichever case is played when."""

from collections.abc import Sequence

from emulator.replay.console import (
    MAX_FAILURE_LINES,
    failure_lines,
    note_lines,
    summary_line,
)
from emulator.replay.diff import side_by_side
from emulator.replay.printing import Printer, steps_played
from emulator.replay.results import Case, Mismatch, Result, Trace
from emulator.reporting import Paint
from tests.replay.made import HERE, case, failed, failure, played, result

PLAIN = Paint(is_on=False)


def printed(
    cases: Sequence[Case], *, shows_steps: bool, width: int | None = None
) -> tuple[Printer, list[str]]:
    written: list[str] = []
    printer = Printer(cases, written.append, PLAIN, shows_steps=shows_steps, width=width)
    return printer, written


def told(printer: Printer, ended: Result) -> None:
    for step in ended.steps:
        printer.step_played(ended.case, step)
    printer.case_ended(ended)


def test_each_step_has_a_line_and_a_failure_follows_it() -> None:
    ended = failed()
    printer, written = printed([ended.case], shows_steps=True)
    told(printer, ended)
    printer.print_failures()
    assert "".join(written) == (
        "mine  cases/mine.yaml\n"
        "  ok      advance: 1s  → 0 effects\n"
        "  FAILED  advance: 1s  → 0 effects\n"
        "\n"
        "  cases/mine.yaml:7:5: create was refused: 400 invalid_amount\n"
    )


def test_each_case_has_a_line_and_the_failures_come_in_the_end() -> None:
    good, bad = result("good"), failed("bad")
    printer, written = printed([bad.case, good.case], shows_steps=False)
    told(printer, bad)
    told(printer, good)
    printer.print_failures()
    assert "".join(written) == (
        "FAILED  bad  2 steps\n"
        "ok      good  1 step\n"
        "\n"
        "bad  cases/bad.yaml\n"
        "  ok      advance: 1s  → 0 effects\n"
        "  FAILED  advance: 1s  → 0 effects\n"
        "\n"
        "  cases/bad.yaml:7:5: create was refused: 400 invalid_amount\n"
    )


def test_what_is_printed_does_not_depend_on_which_case_is_faster() -> None:
    results = [result("one"), failed("two"), result("three")]
    texts = set()
    for shows_steps in (True, False):
        for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
            printer, written = printed([one.case for one in results], shows_steps=shows_steps)
            for position in order:
                told(printer, results[position])
            printer.print_failures()
            texts.add("".join(written))
    assert len(texts) == 2


def test_a_case_that_is_first_in_order_is_told_of_while_it_is_played() -> None:
    one, two = result("one"), result("two")
    printer, written = printed([one.case, two.case], shows_steps=True)
    printer.step_played(two.case, two.steps[0])
    assert written == []
    printer.step_played(one.case, one.steps[0])
    assert "".join(written).startswith("one  cases/one.yaml\n  ok ")
    assert "two" not in "".join(written)


def test_on_a_terminal_the_line_of_a_case_changes_until_it_has_ended() -> None:
    one = result("one")
    printer, written = printed([one.case], shows_steps=False, width=24)
    told(printer, one)
    assert written == [
        "\r\x1b[K        one  step 1 of ",
        "\r\x1b[Kok      one  1 step\n",
    ]


def test_on_a_terminal_a_long_line_is_cut_but_for_that_of_the_failure() -> None:
    text = f"create: {{metadata: {{note: {'a' * 100}}}}}"
    ended = result(
        steps=(played(1, text=text, turns=(1,)), played(2, text=text, failure=failure())),
        failure=failure(),
    )
    for shows_steps in (True, False):
        lines = {}
        for width in (None, 60, 10):
            printer, written = printed([ended.case], shows_steps=shows_steps, width=width)
            told(printer, ended)
            printer.print_failures()
            lines[width] = [line for line in "".join(written).splitlines() if "create: {" in line]
        ok, failed_line = lines[None]
        assert ok == f"  ok        {text}  → 0 effects"
        assert failed_line == f"  FAILED  {text}  → 0 effects"
        cut = "  ok        create: {metadata: {note: aaaaaaaa…  → 0 effects"
        assert (len(cut), lines[60]) == (60, [cut, failed_line])
        assert lines[10] == ["  ok        create: {metada…  → 0 effects", failed_line]


def test_steps_that_are_repeated_are_counted_each_time() -> None:
    script = case(
        script="- repeat: {times: 3, steps: [{advance: 1s}, {advance: 2s}]}\n- advance: 1s"
    )
    assert steps_played(script.scenario.script) == 8


def test_of_what_is_repeated_the_first_time_is_shown_and_that_which_failed() -> None:
    steps = [
        played(1, text="repeat: {times: 3}", outcome=""),
        *(
            played(number, text=text, outcome="", turns=(turn,))
            for number, (turn, text) in enumerate(
                [(1, "a"), (1, "b"), (2, "a"), (2, "b"), (3, "a")], start=2
            )
        ),
        played(7, text="b", outcome="", turns=(3,), failure=failure()),
    ]
    ended = result(steps=tuple(steps), failure=failure())
    printer, written = printed([ended.case], shows_steps=True)
    told(printer, ended)
    assert "".join(written).splitlines()[1:7] == [
        "  ok      repeat: {times: 3}",
        "  ok        a",
        "  ok        b",
        "  ok        a  (time 3)",
        "  FAILED    b  (time 3)",
        "",
    ]


def test_one_mismatch_is_told_at_its_own_place() -> None:
    mismatch = Mismatch(
        place=HERE, subject="status", rows=side_by_side("completed", "failed"), note="So it is."
    )
    why = failure("status of order is not as expected", mismatches=(mismatch,))
    assert failure_lines(result(), why, PLAIN) == [
        "  cases/mine.yaml:7:5: status of order is not as expected",
        "      expected    seen",
        "    | completed   failed",
        "      So it is.",
    ]


def test_several_mismatches_are_told_one_after_the_other_and_not_without_end() -> None:
    many = [f"entry {number}" for number in range(100)]
    mismatch = Mismatch(place=HERE, subject="events", rows=side_by_side(many, []))
    lines = failure_lines(result(), failure(mismatches=(mismatch, mismatch)), PLAIN)
    assert lines[2] == "  cases/mine.yaml:7:5: events"
    assert len(lines) == MAX_FAILURE_LINES
    assert lines[-1].endswith("more lines")


def test_colours_are_there_only_where_they_are_wanted() -> None:
    assert Paint(is_on=True)("red", "FAILED") == "\x1b[31mFAILED\x1b[0m"
    assert Paint(is_on=True)("dim", "") == ""
    assert PLAIN("red", "FAILED") == "FAILED"


def test_the_summary_counts_cases_steps_and_what_was_passed_over() -> None:
    assert summary_line([result()], 0) == "1 case: 1 passed, 0 failed, 1 step"
    assert summary_line([result(), failed()], 2) == (
        "2 cases: 1 passed, 1 failed, 3 steps (2 files without a script skipped)"
    )


def test_accounts_that_were_kept_are_named() -> None:
    assert note_lines([result(), result("bad", kept_account="acct_1")]) == [
        "The account acct_1 of 'bad' was kept."
    ]


def test_what_the_coverage_cannot_know_is_told() -> None:
    [line] = note_lines([result("large", trace=Trace(is_cut=True))])
    assert line.startswith("Of 'large' the emulator tells the last 1,000 requests")
