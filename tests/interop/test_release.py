"""The release workflow: all its lines are run, except the upload."""

import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from emulator import __version__
from tests.cli.processes import run_program
from tests.docs.document import REPOSITORY
from tests.interop.installation import programs_of_uv
from tests.interop.jobs import Job, copy_source

RELEASE = REPOSITORY / ".github" / "workflows" / "release.yml"
WORKFLOW: dict[str, Any] = yaml.safe_load(RELEASE.read_text(encoding="utf-8"))
JOBS = WORKFLOW["jobs"]
BUILD = JOBS["build"]["steps"]
TAG = {"GITHUB_REF_NAME": f"v{__version__}"}


def job_in(directory: Path, variables: dict[str, str]) -> Job:
    """A job in a copy of the files that a release is made of."""
    workspace, temporary = directory / "source", directory / "temporary"
    temporary.mkdir()
    copy_source(workspace)
    return Job(workspace=workspace, temporary=temporary, variables=variables)


def test_the_source_archive_and_the_wheel_are_valid_install_and_start(tmp_path: Path) -> None:
    path = f"{programs_of_uv(tmp_path)}:{os.environ['PATH']}"
    job = job_in(tmp_path, TAG | {"PATH": path})
    job.run(BUILD)
    assert not job.has_failed, job.log
    assert job.values["steps.version.outputs.version"] == __version__
    name = f"etb_payments_emulator-{__version__}"
    built = {file.name for file in (job.workspace / "dist").iterdir()}
    assert built == {f"{name}.tar.gz", f"{name}-py3-none-any.whl"}
    assert job.log.count("PASSED") == job.log.count("\n  Open ") == len(built)


def version_of_two_numbers(source: Path) -> None:
    (source / "emulator" / "__init__.py").write_text('__version__ = "1.0"\n', encoding="utf-8")


def no_section(source: Path) -> None:
    (source / "CHANGELOG.md").write_text("## Unreleased\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("tag", "change", "reason"),
    [
        ("v9.9.9", None, f"The tag is 'v9.9.9'; emulator/__init__.py requires 'v{__version__}'."),
        (__version__, None, f"The tag is '{__version__}'"),
        ("v1.0", version_of_two_numbers, "The version is '1.0'; a release requires three numbers"),
        (f"v{__version__}", no_section, f"CHANGELOG.md has no section '## {__version__}'."),
    ],
)
def test_a_release_with_another_version_is_refused(
    tag: str, change: Any, reason: str, tmp_path: Path
) -> None:
    job = job_in(tmp_path, {"GITHUB_REF_NAME": tag})
    if change is not None:
        change(job.workspace)
    job.run(BUILD)
    assert job.has_failed
    assert job.log.count("\n") == 1
    assert job.log.startswith(f"::error::{reason}")


DOCKER = '#!/bin/sh\nprintf "%s\\n" "$@"\ncat\n'


def test_the_image_is_pushed_for_both_processors_with_three_tags_and_its_origin(
    tmp_path: Path,
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    # It prints what a registry would receive.
    (programs / "docker").write_text(DOCKER, encoding="utf-8")
    (programs / "docker").chmod(0o755)
    variables = {
        "PATH": f"{programs}:/usr/bin:/bin",
        "GITHUB_ACTOR": "publisher",
        "GITHUB_REPOSITORY": "Shop/emulator",
        "GITHUB_REPOSITORY_OWNER": "Shop",
        "GITHUB_SERVER_URL": "https://code.example",
    }
    job = Job(workspace=tmp_path, temporary=tmp_path, variables=variables)
    job.values = {"github.token": "secret", "needs.build.outputs.version": "1.2.3"}
    job.run(JOBS["image"]["steps"])
    assert not job.has_failed, job.log
    words = job.log.splitlines()
    assert words[:5] == ["login", "ghcr.io", "--username", "publisher", "--password-stdin"]
    tags = [words[place + 1] for place, word in enumerate(words) if word == "--tag"]
    image = "ghcr.io/shop/etb-payments-emulator"
    assert tags == [f"{image}:1.2.3", f"{image}:1.2", f"{image}:latest"]
    assert words[words.index("--platform") + 1] == "linux/amd64,linux/arm64"
    assert {"--push", "--sbom=true", "--provenance=mode=max"} <= {*words}
    assert "org.opencontainers.image.source=https://code.example/Shop/emulator" in words


def test_nothing_is_published_before_the_checks_of_a_change_pass() -> None:
    assert JOBS["gate"]["uses"] == "./.github/workflows/ci.yml"
    for name in ("pypi", "image"):
        assert JOBS[name]["needs"] == ["gate", "build"]
        assert JOBS[name]["environment"] == name


def test_each_job_has_only_the_permissions_that_it_needs() -> None:
    assert WORKFLOW["permissions"] == {}
    read = {"contents": "read"}
    assert {name: job["permissions"] for name, job in JOBS.items()} == {
        "gate": read,
        "build": read,
        "pypi": {"id-token": "write"},
        "image": {**read, "packages": "write"},
    }


def test_every_action_is_named_by_its_commit() -> None:
    named = [
        found
        for file in RELEASE.parent.glob("*.yml")
        for found in re.findall(r"uses: ((?!\./).*)", file.read_text(encoding="utf-8"))
    ]
    assert len(named) > 10
    for action in named:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), action


FILES = ("pyproject.toml", "Dockerfile", "action.yml")


def test_the_version_is_written_in_one_place() -> None:
    listed = run_program("git", "grep", "-lwF", __version__, "--", "emulator", ".github", *FILES)
    assert listed.stdout.split() == ["emulator/__init__.py"]
