"""Valid requests to `/v1` are accepted and invalid ones are refused, as its document says."""

from pathlib import Path

from tests.openapi.schemathesis_runs import PHASES, patient_server, run_schemathesis


def test_nothing_is_found_wrong_with_the_contract(tmp_path: Path) -> None:
    with patient_server(tmp_path) as server:
        run = run_schemathesis(server, "v1", "--max-examples=4", "--seed=1", directory=tmp_path)
    run.assert_no_findings(*PHASES)
