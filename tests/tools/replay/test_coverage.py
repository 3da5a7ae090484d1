"""What a run has exercised, counted over all its cases."""

from emulator.domain.transitions import TRANSITIONS
from emulator.reporting import Paint
from emulator.tools.replay.console import coverage_lines
from emulator.tools.replay.coverage import NAMES, Coverage, coverage_of
from emulator.tools.replay.results import Trace
from tests.tools.replay.sample_results import OTHER, event, request


def exercised(*traces: Trace) -> dict[str, frozenset[str]]:
    return {group.title: group.exercised for group in coverage_of(traces).groups}


def test_each_transition_and_the_creation_have_a_name() -> None:
    assert len(NAMES["Transitions"]) == len(TRANSITIONS) + 1
    assert NAMES["Transitions"][0] == "(none) → pending"


def test_each_name_is_unique_in_its_group() -> None:
    assert all(len(set(names)) == len(names) for names in NAMES.values())
    assert coverage_of([]).total == sum(map(len, NAMES.values()))


def test_transitions_are_those_of_each_payment_on_its_own() -> None:
    trace = Trace(
        events=(
            event("created"),
            event("created", OTHER),
            event("processing"),
            event("expired", OTHER),
            event("failed", reason="timeout"),
        )
    )
    found = exercised(trace)
    assert found["Transitions"] == {
        "(none) → pending",
        "pending → processing",
        "pending → expired",
        "processing → failed",
    }
    assert found["Reasons"] == {"timeout"}


def test_faults_are_told_by_where_they_struck() -> None:
    faults = [
        {"status": 500, "point": "after_commit"},
        {"status": 429, "retry_after": 1},
        {"latency": "50ms", "drop": True},
        {"truncate": True},
        {"truncate": True, "status": 500},
    ]
    trace = Trace(requests=tuple(request(fault={"then": then}) for then in faults))
    assert exercised(trace)["Faults"] == {
        *("status after_commit", "status before_commit", "latency before_commit"),
        *("drop before_commit", "truncate after_commit", "truncate before_commit"),
    }


def test_requests_without_a_fault_exercise_none() -> None:
    assert exercised(Trace(requests=(request(),)))["Faults"] == frozenset()


def test_webhook_faults_are_named_by_their_keys() -> None:
    trace = Trace(webhook_faults=({"copies": 2, "delay": "10s"}, {"tamper": "body"}))
    assert exercised(trace)["Webhooks"] == {"copies", "delay", "tamper body"}


def test_cases_are_counted_together() -> None:
    one = Trace(events=(event("created"),))
    another = Trace(events=(event("created"), event("expired")))
    coverage = coverage_of([one, another])
    assert coverage.count == 2
    assert coverage.percent == 100 * 2 / coverage.total


def test_what_is_not_all_is_never_told_as_all() -> None:
    assert Coverage(groups=coverage_of([]).groups).percent_text == "0.0 %"
    nearly = coverage_of([Trace(events=(event("created"),))])
    assert nearly.percent_text == f"{1000 // nearly.total / 10:.1f} %"


def test_the_table_marks_what_was_exercised() -> None:
    lines = coverage_lines(coverage_of([Trace(events=(event("created"),))]), Paint(is_on=False))
    assert lines[0].startswith("Coverage: 1 of ")
    assert any("✓ (none) → pending" in line for line in lines)
    assert any("  pending → processing" in line and "✓" not in line for line in lines)
    assert all(any(name in line for line in lines) for name in NAMES["Webhooks"])
    assert max(map(len, lines)) <= 80
