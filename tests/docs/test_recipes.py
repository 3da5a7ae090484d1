"""The commands of the README and the recipes for containers and CI, without other programs."""

import re
import subprocess
import tomllib

import pytest

from emulator.settings import OPTIONS
from tests.cli.processes import run_program
from tests.docs.document import REPOSITORY, command_after
from tests.docs.live import needs_a_shell
from tests.docs.recipes import KINDS, Recipe, own_workflow, own_workflows, recipes

ALL = [pytest.param(one, id=one.title) for one in [*recipes(), *own_workflows()]]


def test_there_is_a_recipe_of_each_kind() -> None:
    assert {one.kind for one in recipes()} == set(KINDS)


@pytest.mark.parametrize(
    ("marker", "end"),
    [
        ("start command", "&& .venv/bin/payments-emulator serve\n"),
        ("test command", "&& .venv/bin/python -m pytest\n"),
    ],
)
def test_a_command_is_one_line_that_needs_python_alone(marker: str, end: str) -> None:
    command = command_after(marker)
    assert command.count("\n") == 1
    assert command.startswith("python3 -m venv .venv && .venv/bin/pip install --quiet ")
    assert command.endswith(end)


@needs_a_shell
@pytest.mark.parametrize("recipe", ALL)
def test_a_shell_can_read_every_script(recipe: Recipe) -> None:
    for script in recipe.scripts:
        subprocess.run(["bash", "-n", "-c", script], check=True)


@pytest.mark.parametrize("recipe", ALL)
def test_every_variable_of_the_emulator_is_one_of_its_options(recipe: Recipe) -> None:
    named = set(re.findall(r"\bEMULATOR_[A-Z_]+", recipe.text))
    assert named <= {option.variable for option in OPTIONS}
    assert set(recipe.variables or {}) <= named


@needs_a_shell
def test_the_workflow_of_this_repository_runs_the_test_command_of_the_readme() -> None:
    script = (REPOSITORY / ".ci" / "run").read_text(encoding="utf-8")
    [function] = re.findall(r"^test_command\(\) \{\n.*?^\}$", script, re.MULTILINE | re.DOTALL)
    printed = run_program("bash", "-euo", "pipefail", "-c", f"{function}\ntest_command")
    subprocess.run(["bash", "-n", str(REPOSITORY / ".ci" / "run")], check=True)
    assert printed.stdout == command_after("test command")
    assert "command=$(test_command)\n" in script
    assert 'bash -euo pipefail -c "$command"' in script
    steps = own_workflow().value["jobs"]["test"]["steps"]
    assert "bash .ci/run" in [step.get("run") for step in steps]


def test_the_workflow_of_this_repository_tests_every_python_from_the_oldest_on() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    versions = own_workflow().value["jobs"]["test"]["strategy"]["matrix"]["python"]
    assert versions == ["3.11", "3.12", "3.13"]
    assert project["project"]["requires-python"] == f">={versions[0]}"


def test_the_workflow_for_changes_may_only_read() -> None:
    workflow = own_workflow().value
    assert workflow["permissions"] == {"contents": "read"}
    assert not any("permissions" in job for job in workflow["jobs"].values())


@pytest.mark.parametrize("recipe", ALL)
def test_every_job_has_a_time_limit_and_stores_no_credentials(recipe: Recipe) -> None:
    for job in recipe.value.get("jobs", {}).values():
        if "uses" in job:
            continue
        assert job["timeout-minutes"] <= 60
        for step in job["steps"]:
            is_checkout = step.get("uses", "").startswith("actions/checkout@")
            assert not is_checkout or step["with"] == {"persist-credentials": False}
