"""Valid requests to the control API are accepted and invalid ones are refused.

This module tests a few calls of different kinds; `tests/interop` tests all of them.
"""

import json
from collections.abc import Collection
from pathlib import Path

import pytest

from tests.openapi.conftest import printed
from tests.openapi.navigation import Json, objects
from tests.openapi.schemathesis_runs import patient_server, run_schemathesis

PHASES = ("examples", "fuzzing", "stateful")
# Calls that create, remove, read and change resources.
CALLS = {
    "create_account",
    "advance_clock",
    "pay_payment",
    "list_deliveries",
    "save_snapshot",
    "delete_snapshot",
}


@pytest.mark.deep
def test_nothing_is_found_wrong_with_a_call_of_each_kind(tmp_path: Path) -> None:
    document = of_these_calls(json.loads(printed("control")), CALLS)
    options = ("--max-examples=2", "--seed=1", f"--phases={','.join(PHASES)}")
    with patient_server(tmp_path) as server:
        run = run_schemathesis(server, "control", *options, directory=tmp_path, changed=document)
    run.assert_no_findings(*PHASES)


def of_these_calls(document: Json, calls: Collection[str]) -> Json:
    """The document without all others, and without what leads to them."""
    for item in document["paths"].values():
        for method in [method for method, call in item.items() if call["operationId"] not in calls]:
            del item[method]
    for found in objects(document["paths"]):
        links = found.get("links", {})
        for name in [name for name in links if name not in calls]:
            del links[name]
    return document
