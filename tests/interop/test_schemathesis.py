"""Schemathesis with many examples, over both documents."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.depth import DEPTH
from tests.server.openapi.conftest import printed
from tests.server.openapi.navigation import of_these_calls
from tests.server.openapi.schemathesis_runs import PHASES, patient_server, run_schemathesis
from tests.world import TEST_KEY

# The rules of faults are full of conditions, which random values seldom meet, and the expressions
# of durations have the digits of their limits, so that random durations take time.
CONTROL = ("--seed=1", "--suppress-health-check=filter_too_much,too_slow")

# The coverage of these two takes as long as that of all others; the plan "rules and waits" has
# random values of both.
RULES = ("add_fault", "put_scenario")
WITHOUT_RULES = () if DEPTH > 1 else tuple(f"--exclude-operation-id={name}" for name in RULES)


@dataclass(frozen=True, kw_only=True)
class Plan:
    document: str
    options: tuple[str, ...]
    phases: tuple[str, ...] = PHASES
    calls: tuple[str, ...] = ()


PLANS = {
    "the contract": Plan(document="v1", options=("--seed=2", f"--max-examples={25 * DEPTH}")),
    "the control API": Plan(
        document="control",
        options=(*CONTROL, *WITHOUT_RULES, "--max-examples=3"),
        phases=("examples", "coverage"),
    ),
    # Durations and numbers have many forms.
    "rules and waits": Plan(
        document="control",
        options=(*CONTROL, f"--max-examples={15 * DEPTH}"),
        phases=("examples", "fuzzing"),
        calls=(*RULES, "wait_for_payment"),
    ),
    "with a key": Plan(
        document="control",
        options=(
            *CONTROL,
            f"--max-examples={3 * DEPTH}",
            f"--header=Authorization: Bearer {TEST_KEY}",
        ),
        phases=("fuzzing",),
    ),
}


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_nothing_is_found(plan: Plan, tmp_path: Path) -> None:
    changed = of_these_calls(json.loads(printed("control")), plan.calls) if plan.calls else None
    options = (*plan.options, f"--phases={','.join(plan.phases)}")
    with patient_server(tmp_path) as server:
        run = run_schemathesis(server, plan.document, *options, directory=tmp_path, changed=changed)
    run.assert_no_findings(*plan.phases)


def test_nothing_is_found_by_following_links(tmp_path: Path) -> None:
    with patient_server(tmp_path) as server:
        options = (*CONTROL, "--phases=stateful", f"--max-examples={15 * DEPTH}")
        run = run_schemathesis(server, "control", *options, directory=tmp_path)
    assert [run.report["failures"], run.report["errors"]] == [[], []], run.output
    assert run.report["exit_code"] == 0, run.output
