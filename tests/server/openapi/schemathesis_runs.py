"""Runs Schemathesis as a command over a document that an emulator serves."""

import json
import sys
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cli.processes import REPOSITORY, Server, run_program, serving
from tests.server.openapi.navigation import Json
from tests.world import OTHER_TEST_KEY, START, TEST_KEY

HANGS_AFTER_S = 600
PHASES = ("examples", "coverage", "fuzzing", "stateful")
# What is no failure in a document's answers, and why: loaded by Schemathesis, not by us.
HOOKS = {"v1": "tests.server.openapi.waivers", "control": "tests.server.openapi.control_hooks"}
# Two accounts, which must not see each other's payments (contract, section 5).
KEYS = {"demo": TEST_KEY, "other": OTHER_TEST_KEY}
CONFIG = """
[warnings]
fail-on = true
"""
PEERS = """
[auth.wfc]
path = "keys.json"
peers = ["demo", "other"]
"""


@dataclass(frozen=True, kw_only=True)
class Run:
    """The report of a run, as data and as text."""

    report: dict[str, Any]
    output: str

    def assert_no_findings(self, *phases: str) -> None:
        """Asserts that these phases ran for every operation and found nothing.

        Each operation must accept a request, if its examples are among them.
        """
        report = self.report
        assert report["exit_code"] == 0, self.output
        assert [report["failures"], report["errors"]] == [[], []], self.output
        assert {name for name in PHASES if report["phases"][name]["status"] == "success"} == {
            *phases
        }, self.output
        operations = report["operations"]
        assert operations["tested"] == operations["selected"] > 0, self.output
        accepted = {
            operation: sum(phase["accepted"] for phase in rates.values())
            for operation, rates in report["valid_rates"].items()
        }
        assert len(accepted) == operations["selected"], self.output
        # Few random requests are accepted by each operation.
        assert "examples" not in phases or all(accepted.values()), (
            f"never accepted: {accepted}\n{self.output}"
        )


def patient_server(directory: Path) -> AbstractContextManager[Server]:
    """A server that has time for a run."""
    options = ("--seed=1", f"--clock=frozen@{START}")
    return serving(*options, logs=directory, hangs_after_s=HANGS_AFTER_S)


def run_schemathesis(
    server: Server, document: str, *options: str, directory: Path, changed: Json | None = None
) -> Run:
    """Runs Schemathesis over a document as it is served, or over a changed one."""
    _configure(directory, CONFIG + PEERS if document == "v1" else CONFIG)
    source = f"{server.url}/_emulator/openapi/{document}.json"
    if changed is not None:
        source = "changed.json"
        (directory / source).write_text(json.dumps(changed), encoding="utf-8")
    completed = run_program(
        *(str(Path(sys.executable).parent / "st"), "--config-file=schemathesis.toml", "run"),
        *(source, f"--url={server.url}", "--continue-on-failure", "--no-color"),
        # Slow machines are no finding.
        *("--generation-database=none", "--suppress-health-check=too_slow"),
        *("--report=json", "--report-json-path=report.json", *options),
        directory=directory,
        variables={"SCHEMATHESIS_HOOKS": HOOKS[document], "PYTHONPATH": str(REPOSITORY)},
        timeout_s=HANGS_AFTER_S,
    )
    report = directory / "report.json"
    output = completed.stdout + completed.stderr
    assert report.exists(), output
    return Run(report=json.loads(report.read_text(encoding="utf-8")), output=output)


def _configure(directory: Path, config: str) -> None:
    keys = [
        {"name": name, "fixedHeaders": [{"name": "Authorization", "value": f"Bearer {key}"}]}
        for name, key in KEYS.items()
    ]
    (directory / "keys.json").write_text(json.dumps({"auth": keys}), encoding="utf-8")
    (directory / "schemathesis.toml").write_text(config, encoding="utf-8")
