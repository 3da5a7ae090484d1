"""The GitHub action, run as its recipe shows it; and the other lines that start an emulator."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from emulator import __version__
from emulator.domain.accounts import DEMO_LIVE_KEY, DEMO_TEST_KEY
from emulator.tools.json_results import MAX_SUMMARY_ROWS
from tests.cli.processes import environment, free_port
from tests.docs.document import REPOSITORY, part
from tests.docs.generated.action import action
from tests.docs.recipes import recipes
from tests.interop.installation import programs_of_uv
from tests.interop.jobs import OWN_ACTION, Job
from tests.tools.explore.zoo.integration import write_integration
from tests.tools.explore.zoo.table import SHOPS

PAGE = "docs/guides/ci.md"
CREATES = """
import json, os, urllib.request
body = {"amount": 15000, "currency": "ETB", "methods": ["telebirr"]}
body |= {"success_url": "http://localhost:3000/ok", "cancel_url": "http://localhost:3000/no"}
headers = {
    "Authorization": "Bearer " + os.environ["PAYMENTS_EMULATOR_TEST_KEY"],
    "Content-Type": "application/json",
}
url = os.environ["PAYMENTS_EMULATOR_URL"] + "/v1/payments"
request = urllib.request.Request(url, json.dumps(body).encode(), headers)
urllib.request.urlopen(request).close()
"""
FREE_PORTS = {"EMULATOR_PORT": "0", "EMULATOR_CHECKOUT_PORT": "0"}
_, START, TEST = action()["runs"]["steps"]


def steps() -> list[dict[str, Any]]:
    """The steps of the one recipe with the action."""
    [found] = [
        job["steps"]
        for recipe in recipes()
        for job in recipe.value.get("jobs", {}).values()
        if any(OWN_ACTION.fullmatch(step.get("uses", "")) for step in job["steps"])
    ]
    return list(found)


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Job]:
    """The job of the recipe in an empty repository, after its last step."""
    temporary = tmp_path_factory.mktemp("runner")
    workspace = tmp_path_factory.mktemp("repository")
    # Modules of the repository that must not replace those of Python and of the emulator.
    (workspace / "source").mkdir()
    for name in ("json.py", "venv.py", "source/emulator.py"):
        (workspace / name).write_text("raise SystemExit('the wrong module')\n", encoding="utf-8")
    variables = FREE_PORTS | {"PYTHONPATH": str(workspace / "source")}
    started = Job(workspace=workspace, temporary=temporary, variables=variables)
    started.run(steps())
    yield started
    stop_servers(temporary)


def stop_servers(directory: Path) -> None:
    for file in [*directory.glob("*/ready.json"), *directory.glob("emulator.json")]:
        os.kill(json.loads(file.read_text(encoding="utf-8"))["pid"], signal.SIGTERM)


def outputs(job: Job) -> dict[str, str]:
    prefix = "steps.emulator.outputs."
    return {name.removeprefix(prefix): value for name, value in job.values.items()}


def test_the_recipe_passes_in_a_repository_without_other_files(job: Job) -> None:
    assert not job.has_failed, job.log
    assert '"data":[]' in job.log


def test_the_outputs_are_those_of_the_server(job: Job) -> None:
    found = outputs(job)
    assert (found["test-key"], found["live-key"]) == (DEMO_TEST_KEY, DEMO_LIVE_KEY)
    body = {
        "amount": 15_000,
        "currency": "ETB",
        "methods": ["telebirr"],
        # The options of the recipe permit it.
        "success_url": "http://localhost:3000/ok",
        "cancel_url": "http://localhost:3000/no",
    }
    # Without the settings of a proxy.
    with httpx.Client(base_url=found["url"], trust_env=False) as client:
        for key in (found["test-key"], found["live-key"], "test_of_another_test"):
            headers = {"Authorization": f"Bearer {key}"}
            created = client.post("/v1/payments", json=body, headers=headers)
            assert created.status_code == 201, created.text
            page = created.json()["checkout_url"]
            assert page.startswith(f"{found['checkout-url']}/c/")
            assert client.get(page).status_code == 200
    version = subprocess.check_output([found["command"], "--version"], encoding="utf-8")
    assert version == f"payments-emulator, version {__version__}\n"


def test_a_failed_step_prints_the_log_of_the_emulator(job: Job) -> None:
    *_, last = steps()
    failed = Job(
        workspace=job.workspace,
        temporary=job.temporary,
        variables=job.variables,
        values=dict(job.values),
    )
    failed.run([{"run": "exit 1"}, {"run": "echo never"}, last])
    assert failed.has_failed
    assert "GET /v1/payments" in failed.log
    assert "never" not in failed.log


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("--unknown", "No such option '--unknown'"),
        ("--clock frozen@noon", "--clock"),
        ("--port {taken}", "cannot listen on 127.0.0.1 port {taken}"),
        ("--scenarios missing.yaml", "missing.yaml"),
        ("--help", "Usage:"),
    ],
)
def test_an_emulator_that_does_not_start_fails_the_job_at_once(
    options: str, reason: str, job: Job
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        taken = str(held.getsockname()[1])
        failed = Job(
            workspace=job.workspace,
            temporary=job.temporary,
            variables=job.variables,
            values={
                "steps.install.outputs.command": copy_of(outputs(job)["command"]),
                "inputs.options": options.replace("{taken}", taken),
            },
        )
        failed.run([START])
    assert failed.has_failed
    assert "::error::The payments emulator did not start. Its log:\n" in failed.log
    assert reason.replace("{taken}", taken) in failed.log
    assert "Traceback" not in failed.log


def summarized(job: Job, directory: Path, **arguments: str) -> tuple[Job, str]:
    """The step that explores and rehearses, and the summary of the job."""
    written = directory / "summary.md"
    step = Job(
        workspace=directory,
        temporary=job.temporary,
        variables={"GITHUB_STEP_SUMMARY": str(written)},
        values={
            "steps.install.outputs.command": copy_of(outputs(job)["command"]),
            **{f"inputs.{name}": text for name, text in arguments.items()},
        },
    )
    step.run([TEST])
    return step, written.read_text(encoding="utf-8") if written.exists() else ""


def test_the_summary_says_what_to_do_after_explore_and_rehearse(job: Job, tmp_path: Path) -> None:
    port = free_port()
    write_integration(SHOPS["404-when-done"], tmp_path, port=port)
    # No suite that only creates a payment notices a false answer.
    (tmp_path / "suite.py").write_text(CREATES, encoding="utf-8")
    suite = f"--jobs 2 -- {sys.executable} suite.py"
    step, summary = summarized(job, tmp_path, explore="integration.yaml", rehearse=suite)
    assert step.has_failed
    titles = [line.split(":")[0] for line in summary.splitlines() if line.startswith("#")]
    assert titles == ["### Histories", "### False answers", "### Disturbances"]
    assert summary.count("| what | result | what to do |") == len(titles)
    for table in summary.split("### ")[1:]:
        assert len(re.findall(r"^\| (?!what|---)", table, re.MULTILINE)) <= MAX_SUMMARY_ROWS


def test_nothing_is_explored_or_rehearsed_by_default(job: Job, tmp_path: Path) -> None:
    step, summary = summarized(job, tmp_path)
    assert (step.has_failed, step.log, summary) == (False, "", "")


def test_a_file_that_is_wrong_fails_the_job_without_a_summary(job: Job, tmp_path: Path) -> None:
    step, summary = summarized(job, tmp_path, explore="missing.yaml")
    assert (step.has_failed, summary) == (True, "")
    assert "missing.yaml" in step.log


def copy_of(command: str) -> str:
    """The same environment by another name, which has no ready file and no log."""
    bin_directory = Path(command).parent
    other = bin_directory.parent.with_name("other")
    if not other.exists():
        other.mkdir()
        for name in ("bin", "lib", "pyvenv.cfg"):
            (other / name).symlink_to(bin_directory.parent / name)
    return str(other / "bin" / Path(command).name)


def test_the_lines_for_other_systems_start_an_emulator_or_end_the_job(tmp_path: Path) -> None:
    [lines] = re.findall(r"```sh\n(.*?)```", part(PAGE, "A process of a job"), re.DOTALL)
    path = f"{programs_of_uv(tmp_path)}:{os.environ['PATH']}"
    package = {"PATH": path, "PAYMENTS_EMULATOR": str(REPOSITORY)}
    variables = environment({**FREE_PORTS, **package})
    script = f"set -e\n{lines}\necho responds"
    with (tmp_path / "log").open("w+") as log:
        for changes, code in (({}, 0), ({"EMULATOR_PORT": "none"}, 1)):
            ended = subprocess.run(
                ["bash", "-c", script],
                cwd=tmp_path,
                env=variables | changes,
                stdout=log,
                timeout=800,
            )
            stop_servers(tmp_path)
            assert ended.returncode == code
        log.seek(0)
        printed = log.read()
    assert printed.count("responds") == 1
    assert "EMULATOR_PORT" in printed
