"""What a run has exercised, counted over all its cases."""

from textwrap import dedent

import pytest

from emulator.domain.effects import RedirectMoment
from emulator.domain.payment import Status
from emulator.domain.transitions import TRANSITIONS, Edge
from emulator.reporting import Paint
from emulator.scenarios.runner.results import Trace
from emulator.tools.replay.console import coverage_lines
from emulator.tools.replay.coverage import NAMES, Coverage, coverage_of
from tests.tools.replay.player import Player
from tests.tools.replay.sample_results import event, request


def exercised(*traces: Trace) -> dict[str, frozenset[str]]:
    return {group.title: group.exercised for group in coverage_of(traces).groups}


def test_each_transition_and_the_creation_have_a_name() -> None:
    known = [edge for edge in TRANSITIONS.values() if edge is not Edge.UNUSUAL]
    assert len(NAMES["Transitions"]) == len(known) + 1
    assert NAMES["Transitions"][0] == "(none) → pending"


def test_each_name_is_unique_in_its_group() -> None:
    assert all(len(set(names)) == len(names) for names in NAMES.values())
    assert coverage_of([]).total == sum(map(len, NAMES.values()))


# The steps after the creation of two payments, with the rules of the file, and what they exercise.
PENDING_TWICE = """
- pay: {payment: order, phone: "0911223344"}
- answer: {payment: order, answer: wrong_pin}
"""
THREE_ATTEMPTS = "{when: {}, then: {attempts: 3}}"
CANCEL_FAILS = "{when: {}, then: {cancel: fails}}"
HISTORIES = {
    "each payment has its own statuses": (
        """
        - pay: {payment: order, phone: "0900000002"}
        - advance: 30m
        """,
        (),
        {"pending → processing", "processing → failed", "pending → expired"},
        {"insufficient_balance"},
    ),
    "a payment that ends pending": (
        PENDING_TWICE,
        (THREE_ATTEMPTS,),
        {"pending → processing", "processing → pending"},
        {"wrong_pin"},
    ),
    "a cancelled payment after a failed attempt": (
        f"{PENDING_TWICE}- cancel: order",
        (THREE_ATTEMPTS, CANCEL_FAILS),
        {"pending → processing", "processing → pending", "pending → failed"},
        {"wrong_pin", "user_cancelled"},
    ),
}


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("name", HISTORIES)
async def test_transitions_and_reasons_are_those_that_occurred(name: str, player: Player) -> None:
    steps, rules, transitions, reasons = HISTORIES[name]
    played = await player.passes(
        f"- create: {{as: order}}\n- create: {{as: other}}\n{dedent(steps).strip()}",
        "checkout:\n" + "".join(f"  - {rule}\n" for rule in rules) if rules else "",
    )
    found = exercised(played.trace)
    assert found["Transitions"] == {"(none) → pending", *transitions}
    assert found["Reasons"] == reasons


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("moment", RedirectMoment)
async def test_a_redirect_is_that_of_a_rule_that_has_applied(
    moment: RedirectMoment, player: Player
) -> None:
    rules = f"checkout:\n  - {{when: {{amount: 500}}, then: {{redirect: {moment}}}}}"
    paid = """
        - create: {{as: order, amount: {}}}
        - pay: {{payment: order, phone: "0900000001"}}
    """
    applied = await player.passes(dedent(paid).format(500), rules)
    assert exercised(applied.trace)["Redirects"] == {moment}
    other = await player.passes(dedent(paid).format(600), rules)
    assert exercised(other.trace)["Redirects"] == frozenset()


def test_faults_are_named_by_their_keys() -> None:
    faults = [{"status": 429, "retry_after": 1}, {"latency": "50ms", "drop": True}]
    trace = Trace(requests=tuple(request(fault={"then": then}) for then in faults))
    assert exercised(trace)["Faults"] == {"status", "latency", "drop"}


def test_requests_without_a_fault_exercise_none() -> None:
    assert exercised(Trace(requests=(request(),)))["Faults"] == frozenset()


def test_webhook_faults_are_named_by_their_keys() -> None:
    trace = Trace(webhook_faults=({"copies": 2, "delay": "10s"}, {"tamper": "body"}))
    assert exercised(trace)["Webhooks"] == {"copies", "delay", "tamper body"}


def test_cases_are_counted_together() -> None:
    one = Trace(events=(event("created"),))
    another = Trace(transitions=((Status.PENDING, Status.EXPIRED),))
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
