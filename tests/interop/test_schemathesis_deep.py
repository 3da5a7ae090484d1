"""As `tests/openapi/test_schemathesis.py`, for longer; and what is wrong would be found."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.openapi.navigation import Json
from tests.openapi.schemathesis_runs import PHASES, patient_server, run_schemathesis


def test_nothing_is_found_wrong_with_the_contract(tmp_path: Path) -> None:
    with patient_server(tmp_path) as server:
        run = run_schemathesis(server, "v1", "--max-examples=100", "--seed=2", directory=tmp_path)
    run.assert_no_findings(*PHASES)


def _create_payment(document: Json) -> Json:
    return dict(document["components"]["schemas"]["CreatePayment"])


def _allow_little_amounts(document: Json) -> None:
    _create_payment(document)["properties"]["amount"]["minimum"] = 1


def _forbid_large_amounts(document: Json) -> None:
    _create_payment(document)["properties"]["amount"]["maximum"] = 1_000_000


def _promise_another_field(document: Json) -> None:
    payment = document["components"]["schemas"]["Payment"]
    payment["properties"]["reason"] = {"type": "string"}
    payment["required"].append("reason")


def _forget_a_status(document: Json) -> None:
    del document["paths"]["/v1/payments"]["post"]["responses"]["400"]


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        (_allow_little_amounts, "RejectedPositiveData"),
        (_forbid_large_amounts, "AcceptedNegativeData"),
        (_promise_another_field, "JsonSchemaError"),
        (_forget_a_status, "UndefinedStatusCode"),
    ],
)
def test_a_mistake_of_the_document_is_found(
    tmp_path: Path, change: Callable[[Json], None], finding: str
) -> None:
    with patient_server(tmp_path) as server:
        document = json.loads(server.request("GET", "/_emulator/openapi/v1.json").body)
        change(document)
        options = ("--phases=examples,coverage,fuzzing", "--max-examples=10", "--seed=1")
        run = run_schemathesis(server, "v1", *options, directory=tmp_path, changed=document)
    assert finding in {failure["type"] for failure in run.report["failures"]}, run.output
