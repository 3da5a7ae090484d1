"""The command `checklist`."""

import json
from pathlib import Path

import pytest

from emulator.server.engine.accounts.checklist_items import ITEMS
from tests.cli.invocation import output, usage_error
from tests.cli.processes import free_port, serving
from tests.world import TEST_KEY, order


def test_the_results_are_printed_and_written(tmp_path: Path) -> None:
    written = tmp_path / "results.json"
    with serving(logs=tmp_path) as server:
        flags = ("--url", server.url)
        assert server.request("POST", "/v1/payments", order(), TEST_KEY).status == 201
        code, text = output("checklist", *flags, "--json", str(written))
        rows = [line for line in text.splitlines() if not line.startswith(" ")]
        assert (code, len(rows)) == (0, len(ITEMS))
        assert "failed         create-idempotent: sends an idempotency_key" in text
        assert "without an idempotency_key: req_" in text
        assert "to exercise it, enable the scenario forged-webhooks" in text
        assert output("checklist", *flags, "--fail-on", "failed")[0] == 1
        key = server.request("POST", "/_emulator/accounts", {}).json["test_key"]
        other = (*flags, "--key", key)
        assert output("checklist", *other, "--fail-on", "failed")[0] == 0
        assert output("checklist", *other, "--fail-on", "not_exercised")[0] == 1
        assert "invalid_api_key" in usage_error("checklist", *flags, "--key", "test_unknown")
    results = {each["id"]: each for each in json.loads(written.read_bytes())["results"]}
    assert len(results) == len(ITEMS)
    assert results["create-idempotent"]["result"] == "failed"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--url", f"http://127.0.0.1:{free_port()}"), "does not respond: connection refused"),
        (("--fail-on", "passed"), "'passed' is not one of 'failed', 'not_exercised'"),
        (("--key", "demo"), "flag --key: expected test_ or live_"),
        (("--json", "/nowhere/x.json"), "its directory does not exist"),
    ],
)
def test_a_wrong_option_is_one_line(flags: tuple[str, ...], message: str) -> None:
    assert message in usage_error("checklist", *flags)
