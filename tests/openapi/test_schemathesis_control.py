"""Whatever the document of the control API allows is accepted, and what it forbids is refused.

Here it is asked of a few calls of different kinds; of all of them, and at length, by
`tests/interop`.
"""

import json
from collections.abc import Collection
from pathlib import Path

import pytest

from tests.openapi.conftest import printed
from tests.openapi.navigation import Json, objects
from tests.openapi.schemathesis_runs import patient_server, run_schemathesis

PHASES = ("examples", "fuzzing", "stateful")
# Made and removed, looked at and changed; by an identifier and by a name.
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
        for verb in [verb for verb, call in item.items() if call["operationId"] not in calls]:
            del item[verb]
    for found in objects(document["paths"]):
        links = found.get("links", {})
        for name in [name for name in links if name not in calls]:
            del links[name]
    return document
