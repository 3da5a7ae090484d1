"""Whatever the document of `/v1` allows is accepted, and whatever it forbids is refused."""

from pathlib import Path

from tests.openapi.asked import PHASES, ask_all, asked_for_long


def test_nothing_is_found_wrong_with_the_contract(tmp_path: Path) -> None:
    with asked_for_long(tmp_path) as server:
        run = ask_all(server, "v1", "--max-examples=4", "--seed=1", directory=tmp_path)
    run.assert_nothing_is_found(*PHASES)
