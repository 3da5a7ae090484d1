"""Schemathesis with many examples, over both documents; and it finds mistakes in a document."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.server.openapi.conftest import printed
from tests.server.openapi.navigation import Json, of_these_calls
from tests.server.openapi.schemathesis_runs import PHASES, patient_server, run_schemathesis
from tests.world import TEST_KEY

# The rules of faults are full of conditions, which random values seldom meet.
CONTROL = ("--seed=1", "--suppress-health-check=filter_too_much")


@dataclass(frozen=True, kw_only=True)
class Plan:
    document: str
    options: tuple[str, ...]
    phases: tuple[str, ...] = PHASES
    calls: tuple[str, ...] = ()


PLANS = {
    "the contract": Plan(document="v1", options=("--seed=2", "--max-examples=100")),
    "the control API": Plan(document="control", options=(*CONTROL, "--max-examples=6")),
    # Durations and numbers have many forms.
    "rules and waits": Plan(
        document="control",
        options=(*CONTROL, "--max-examples=80"),
        phases=("examples", "fuzzing"),
        calls=("add_fault", "put_scenario", "wait_for_payment"),
    ),
    "with a key": Plan(
        document="control",
        options=(*CONTROL, "--max-examples=5", f"--header=Authorization: Bearer {TEST_KEY}"),
        phases=("examples", "fuzzing"),
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
        options = (*CONTROL, "--phases=stateful", "--max-examples=100", "--max-time=30")
        run = run_schemathesis(server, "control", *options, directory=tmp_path)
    assert [run.report["failures"], run.report["errors"]] == [[], []], run.output
    assert run.report["exit_code"] == 0, run.output


def _create_payment(document: Json) -> Json:
    return dict(document["components"]["schemas"]["CreatePayment"])


def _allow_small_amounts(document: Json) -> None:
    _create_payment(document)["properties"]["amount"]["minimum"] = 1


def _forbid_large_amounts(document: Json) -> None:
    _create_payment(document)["properties"]["amount"]["maximum"] = 1_000_000


def _require_another_field(document: Json) -> None:
    payment = document["components"]["schemas"]["Payment"]
    payment["properties"]["reason"] = {"type": "string"}
    payment["required"].append("reason")


def _omit_a_status(document: Json) -> None:
    del document["paths"]["/v1/payments"]["post"]["responses"]["400"]


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        (_allow_small_amounts, "RejectedPositiveData"),
        (_forbid_large_amounts, "AcceptedNegativeData"),
        (_require_another_field, "JsonSchemaError"),
        (_omit_a_status, "UndefinedStatusCode"),
    ],
)
def test_a_mistake_in_the_document_is_found(
    tmp_path: Path, change: Callable[[Json], None], finding: str
) -> None:
    with patient_server(tmp_path) as server:
        document = json.loads(server.request("GET", "/_emulator/openapi/v1.json").body)
        change(document)
        options = ("--phases=examples,coverage,fuzzing", "--max-examples=10", "--seed=1")
        run = run_schemathesis(server, "v1", *options, directory=tmp_path, changed=document)
    assert finding in {failure["type"] for failure in run.report["failures"]}, run.output
