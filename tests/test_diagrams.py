"""The layout of sequence diagrams: pauses, times since the begin, bars, and the limit."""

from emulator.diagrams import MAX_LINES, Line, Mark, TimedLine, sequence, with_bars
from emulator.domain.durations import span_text


def test_a_longer_pause_is_a_line_and_equal_times_are_shown_once() -> None:
    diagram = sequence([Line(at=at) for at in (0, 0, 4_000, 9_000, 1_809_000)])
    assert [line.since for line in diagram.lines] == [
        "+0 s", "", "+4 s", "+9 s", "+30 min 9 s",
    ]  # fmt: skip
    assert [line.gap for line in diagram.lines] == ["", "", "", "5 s later", "30 min later"]
    assert diagram.lines[-1].instant == "1970-01-01T00:30:09.000Z"


def test_bars_that_overlap_lie_side_by_side() -> None:
    begin, end = {"source": 2, "target": 3}, {"source": 3, "target": 2}
    diagram = sequence(
        [
            Line(**begin, begins="first"),
            Line(**begin, begins="second"),
            Line(**end, ends="first"),
            Line(**begin, begins="third"),
            Line(**end, ends="second"),
            Line(**end, ends="third"),
            Line(**end),
        ]
    )
    assert diagram.has_bars
    assert [[bar.place for bar in line.bars] for line in diagram.lines] == [
        [], [1], [1, 2], [2], [2, 1], [1], [],
    ]  # fmt: skip
    assert {bar.lane for line in diagram.lines for bar in line.bars} == {3}
    # The letter stands once in a bar, and in the lines that begin and end it.
    assert ["".join(bar.letter * bar.is_first for bar in line.bars) for line in diagram.lines] == [
        "", "A", "B", "", "A", "", "",
    ]  # fmt: skip
    owns = [line.own.letter if line.own else "" for line in diagram.lines]
    assert owns == ["A", "B", "A", "A", "B", "A", ""]


def test_a_request_is_a_bar_from_its_begin_to_its_end() -> None:
    parts = [
        TimedLine(Line(text="alone", at=0, target=3), 40, Mark("200")),
        TimedLine(Line(text="first", at=50, target=3), 90, Mark("200")),
        Line(text="meanwhile", at=60),
        TimedLine(Line(text="second", at=70, target=3), 95, Mark("500", is_failed=True)),
    ]
    drawn = sequence(with_bars(parts)).lines
    assert [(each.line.text, each.since, each.is_whole, len(each.bars)) for each in drawn] == [
        ("alone", "+0 s", True, 0),
        ("first", "+50 ms", False, 0),
        ("meanwhile", "+60 ms", False, 1),
        ("second", "+70 ms", False, 1),
        ("first", "+90 ms", False, 2),
        ("second", "+95 ms", False, 1),
    ]
    assert drawn[0].line.note == "after\u00a040\u00a0ms"
    assert drawn[-1].line.css == "arrow left lanes-2-3 failed"


def test_equal_marks_in_turn_are_counted() -> None:
    failed, good = Mark("500", is_failed=True), Mark("200")
    line = Line(marks=[failed, failed, good, failed])
    assert line.counted_marks == [(failed, 2), (good, 1), (failed, 1)]


def test_lines_beyond_the_limit_are_left_out() -> None:
    diagram = sequence([Line()] * (2 * MAX_LINES))
    assert len(diagram.lines) == MAX_LINES
    assert diagram.left_out == f"The first {MAX_LINES} of {2 * MAX_LINES} lines are drawn."
    assert sequence([]).left_out == ""


def test_spans_have_at_most_two_units() -> None:
    texts = {0: "0 s", 7: "7 ms", 1_500: "1.5 s", 30_000: "30 s", 90_000: "1 min 30 s"}
    texts |= {1_800_000: "30 min", 7_323_000: "2 h 2 min", 90_061_000: "1 d 1 h"}
    assert {span_ms: span_text(span_ms) for span_ms in texts} == texts
