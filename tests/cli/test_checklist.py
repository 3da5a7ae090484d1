"""The command `checklist`."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from emulator.server.engine.accounts.checklist_items import ITEMS
from tests.cli.invocation import output, usage_error
from tests.cli.processes import free_port, serving
from tests.world import TEST_KEY, order


def test_the_results_are_printed_and_written(tmp_path: Path) -> None:
    junit, report = tmp_path / "junit.xml", tmp_path / "report.html"
    with serving(logs=tmp_path) as server:
        flags = ("--url", f"http://127.0.0.1:{server.api_port}")
        assert server.request("POST", "/v1/payments", order(), TEST_KEY).status == 201
        files = ("--junit", str(junit), "--report", str(report))
        code, text = output("checklist", *flags, *files)
        assert (code, len(text.splitlines())) == (0, 2 * len(ITEMS))
        assert "failed         create-idempotent: sends an idempotency_key" in text
        assert "without an idempotency_key: req_" in text
        assert "to exercise it, enable the scenario forged-webhooks" in text
        assert output("checklist", *flags, "--fail-on", "failed")[0] == 1
        key = server.request("POST", "/_emulator/accounts", {}).json["test_key"]
        other = (*flags, "--key", key)
        assert output("checklist", *other, "--fail-on", "failed")[0] == 0
        assert output("checklist", *other, "--fail-on", "not_exercised")[0] == 1
        assert "invalid_api_key" in usage_error("checklist", *flags, "--key", "test_unknown")
    suite = ElementTree.fromstring(junit.read_bytes())[0]  # noqa: S314 - our own file
    assert [suite.get(name) for name in ("name", "tests", "failures")] == ["checklist", "10", "1"]
    assert len(list(suite.iter("skipped"))) == 9
    (failure,) = suite.iter("failure")
    assert (failure.text or "").startswith("without an idempotency_key: req_")
    assert report.read_text().count("<li>") == len(ITEMS)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--url", f"http://127.0.0.1:{free_port()}"), "does not respond: connection refused"),
        (("--fail-on", "passed"), "'passed' is not one of 'failed', 'not_exercised'"),
        (("--key", "demo"), "flag --key: expected test_ or live_"),
        (("--junit", "/nowhere/x.xml"), "its directory does not exist"),
    ],
)
def test_a_wrong_option_is_one_line(flags: tuple[str, ...], message: str) -> None:
    assert message in usage_error("checklist", *flags)
