"""The command `checklist`."""

import asyncio
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from emulator.server.engine.accounts.checklist_items import ITEMS
from tests.cli.invocation import output, usage_error
from tests.cli.processes import free_port, serving
from tests.tools.replay.report_page import check_page, needs_chromium, problems_on_screens
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
    assert report.read_text().count('<li data-testid="item-') == len(ITEMS)


@pytest.mark.deep
@needs_chromium
def test_the_report_opens_with_failures_and_is_readable(tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    with serving(logs=tmp_path) as server:
        for _ in range(40):
            created = server.request("POST", "/v1/payments", order(), TEST_KEY).json
            server.request("GET", f"/v1/payments/{created['id']}", key=TEST_KEY)
            server.request("GET", f"/v1/payments/{created['id']}", key=TEST_KEY)
        url = f"http://127.0.0.1:{server.api_port}"
        output("checklist", "--url", url, "--report", str(report))
    html = report.read_text()
    check_page(html)
    results = re.findall(r'<h2 id="(\w+)-title">', html)
    assert results == sorted(results, key=("failed", "not_exercised", "passed").index)
    assert results[0] == "failed"
    assert asyncio.run(problems_on_screens(report, "checklist")) == []


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
