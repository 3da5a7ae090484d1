"""Schemathesis over a document that a running emulator serves, as anybody would run it."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cli.processes import REPOSITORY, Server, ended, environment, start
from tests.openapi.reading import Json
from tests.world import OTHER_TEST_KEY, START, TEST_KEY

HANGS_AFTER_S = 600
PHASES = ("examples", "coverage", "fuzzing", "stateful")
# What is no failure in a document's answers, and why: loaded by Schemathesis, not by us.
HOOKS = {"v1": "tests.openapi.waivers", "control": "tests.openapi.control_hooks"}
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
    """What came of it: the report as data, and as people read it."""

    report: dict[str, Any]
    output: str

    def assert_nothing_is_found(self, *phases: str) -> None:
        """In all of these phases, which must have had something to do, and for every operation."""
        report = self.report
        assert report["exit_code"] == 0, self.output
        assert [report["failures"], report["errors"]] == [[], []], self.output
        assert {name for name in PHASES if report["phases"][name]["status"] == "success"} == {
            *phases
        }, self.output
        operations = report["operations"]
        assert operations["tested"] == operations["total"] > 0, self.output
        accepted = {
            operation: sum(phase["accepted"] for phase in rates.values())
            for operation, rates in report["valid_rates"].items()
        }
        assert len(accepted) == operations["total"], self.output
        assert all(accepted.values()), f"never accepted: {accepted}\n{self.output}"


@contextmanager
def asked_for_long(directory: Path) -> Iterator[Server]:
    """A server that nobody takes for hanging, however long it is asked."""
    stderr_path = directory / "stderr"
    with stderr_path.open("w") as stderr:
        options = ("--seed=1", f"--clock=frozen@{START}")
        process = start(*options, stdout=subprocess.PIPE, stderr=stderr)
    with ended(process, hangs_after_s=HANGS_AFTER_S):
        server = Server(process=process, stderr_path=stderr_path)
        server.read_banner()
        yield server


def ask_all(
    server: Server, document: str, *options: str, directory: Path, changed: Json | None = None
) -> Run:
    """Ask all that comes to Schemathesis' mind over a document that is served, or changed."""
    _configure(directory, CONFIG + PEERS if document == "v1" else CONFIG)
    base_url = f"http://127.0.0.1:{server.api_port}"
    source = f"{base_url}/_emulator/openapi/{document}.json"
    if changed is not None:
        source = "changed.json"
        (directory / source).write_text(json.dumps(changed), encoding="utf-8")
    ended = subprocess.run(
        [
            *(str(Path(sys.executable).parent / "st"), "--config-file=schemathesis.toml", "run"),
            *(source, f"--url={base_url}", "--continue-on-failure", "--no-color"),
            # How fast this machine is, is not the question.
            *("--generation-database=none", "--suppress-health-check=too_slow"),
            *("--report=json", "--report-json-path=report.json", *options),
        ],
        cwd=directory,
        env=environment({"SCHEMATHESIS_HOOKS": HOOKS[document], "PYTHONPATH": str(REPOSITORY)}),
        capture_output=True,
        encoding="utf-8",
        timeout=HANGS_AFTER_S,
    )
    report = directory / "report.json"
    output = ended.stdout + ended.stderr
    assert report.exists(), output
    return Run(report=json.loads(report.read_text(encoding="utf-8")), output=output)


def _configure(directory: Path, config: str) -> None:
    keys = [
        {"name": name, "fixedHeaders": [{"name": "Authorization", "value": f"Bearer {key}"}]}
        for name, key in KEYS.items()
    ]
    (directory / "keys.json").write_text(json.dumps({"auth": keys}), encoding="utf-8")
    (directory / "schemathesis.toml").write_text(config, encoding="utf-8")
