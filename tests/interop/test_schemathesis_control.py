"""Every call of the control API, asked for as long as it takes to come upon what is rare."""

import json
from pathlib import Path

from tests.openapi.conftest import printed
from tests.openapi.schemathesis_runs import PHASES, patient_server, run_schemathesis
from tests.openapi.test_schemathesis_control import of_these_calls
from tests.world import TEST_KEY

# The rules of faults are full of conditions, which random ones seldom meet.
OPTIONS = ("--seed=1", "--suppress-health-check=filter_too_much")


def test_nothing_is_found_wrong_with_any_call(tmp_path: Path) -> None:
    with patient_server(tmp_path) as server:
        options = (*OPTIONS, "--max-examples=6")
        run = run_schemathesis(server, "control", *options, directory=tmp_path)
    run.assert_no_findings(*PHASES)


def test_nothing_is_found_wrong_with_the_calls_that_take_rules(tmp_path: Path) -> None:
    """And with a wait: durations and numbers have many forms, so these calls get more examples."""
    phases = ("examples", "fuzzing")
    calls = ("add_fault", "put_scenario", "wait_for_payment")
    document = of_these_calls(json.loads(printed("control")), calls)
    with patient_server(tmp_path) as server:
        options = (*OPTIONS, "--max-examples=80", f"--phases={','.join(phases)}")
        run = run_schemathesis(server, "control", *options, directory=tmp_path, changed=document)
    run.assert_no_findings(*phases)


def test_nothing_is_found_wrong_where_a_key_decides(tmp_path: Path) -> None:
    phases = ("examples", "fuzzing")
    key = f"--header=Authorization: Bearer {TEST_KEY}"
    with patient_server(tmp_path) as server:
        options = (*OPTIONS, "--max-examples=5", f"--phases={','.join(phases)}", key)
        run = run_schemathesis(server, "control", *options, directory=tmp_path)
    run.assert_no_findings(*phases)


def test_nothing_is_found_wrong_with_what_calls_lead_to(tmp_path: Path) -> None:
    """By links, each with what the call before it has answered, half a minute long at most."""
    with patient_server(tmp_path) as server:
        options = (*OPTIONS, "--phases=stateful", "--max-examples=100", "--max-time=30")
        run = run_schemathesis(server, "control", *options, directory=tmp_path)
    assert [run.report["failures"], run.report["errors"]] == [[], []], run.output
    assert run.report["exit_code"] == 0, run.output
