"""Runs the steps of a job, and of this repository's action, with bash, as a GitHub runner does.

Actions of others only prepare the machine, so their steps are skipped.
"""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.cli.processes import environment
from tests.docs.document import REPOSITORY
from tests.docs.generated.action import action

OWN_ACTION = re.compile(r"[\w-]+/etb-payments-emulator@v[\d.]+")
_EXPRESSION = re.compile(r"\$\{\{ ([\w.-]+) \}\}")
_HANGS_AFTER_S = 800

Step = dict[str, Any]


def copy_source(target: Path) -> None:
    """Copy the files that a release is made of."""
    ignored = shutil.ignore_patterns(".*", "__pycache__", "artifacts", "dist")
    shutil.copytree(REPOSITORY, target, ignore=ignored)


@dataclass(kw_only=True)
class Job:
    """A job in a workspace; `values` are those of expressions such as `inputs.options`."""

    workspace: Path
    temporary: Path
    variables: dict[str, str] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)
    log: str = ""
    has_failed: bool = False

    def run(self, steps: list[Step]) -> None:
        """Run the steps; after a failure, only those with `if: failure()`."""
        for step in steps:
            assert step.get("if", "failure()") == "failure()", step
            if self.has_failed == ("if" in step):
                self._run_step(step)

    def _run_step(self, step: Step) -> None:
        if "run" in step:
            self._run_script(step)
        elif OWN_ACTION.fullmatch(step["uses"]):
            self._run_action(step)

    def _run_action(self, step: Step) -> None:
        declared = action()
        defaults = {name: member["default"] for name, member in declared["inputs"].items()}
        inputs = defaults | step.get("with", {})
        inner = Job(
            workspace=self.workspace,
            temporary=self.temporary,
            variables={**self.variables, "GITHUB_ACTION_PATH": str(REPOSITORY)},
            values={f"inputs.{name}": self._resolved(value) for name, value in inputs.items()},
        )
        inner.run(declared["runs"]["steps"])
        self.log += inner.log
        self.has_failed = self.has_failed or inner.has_failed
        for name, member in declared["outputs"].items():
            value = inner._resolved(member["value"])
            self.values[f"steps.{step.get('id', '')}.outputs.{name}"] = value

    def _run_script(self, step: Step) -> None:
        output = self.temporary / "output"
        output.write_bytes(b"")
        variables = {name: self._resolved(value) for name, value in step.get("env", {}).items()}
        ended = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", self._resolved(step["run"])],
            cwd=self.workspace,
            env=environment(
                {
                    "PATH": os.environ["PATH"],
                    "RUNNER_TEMP": str(self.temporary),
                    "GITHUB_OUTPUT": str(output),
                    **self.variables,
                    **variables,
                }
            ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=_HANGS_AFTER_S,
        )
        self.log += ended.stdout
        self.has_failed = self.has_failed or ended.returncode != 0
        for line in output.read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition("=")
            self.values[f"steps.{step['id']}.outputs.{name}"] = value

    def _resolved(self, text: str) -> str:
        # An output of a step that did not run is empty.
        return _EXPRESSION.sub(lambda found: self.values.get(found[1], ""), text)
