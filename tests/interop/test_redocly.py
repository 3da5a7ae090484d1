"""Redocly's rules for both OpenAPI documents, and the recordings of its proxy."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.cli.processes import HANGS_AFTER_S, free_port, run, run_program, serving
from tests.interop.node import node_modules
from tests.server.openapi.conftest import printed
from tests.world import TEST_KEY, headers, order

REDOCLY = "@redocly/cli@2"
# No update check and no telemetry.
QUIET = {"REDOCLY_SUPPRESS_UPDATE_NOTICE": "true", "REDOCLY_TELEMETRY": "off"}


@pytest.fixture(scope="module")
def redocly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return node_modules(tmp_path_factory, REDOCLY) / ".bin" / "redocly"


def lint(redocly: Path, document: Path) -> list[str]:
    """All errors and warnings; every rule is on."""
    options = ("--extends=recommended-strict", "--format=json")
    command = (str(redocly), "lint", *options, document.name)
    ended = run_program(
        *command, directory=document.parent, variables=QUIET, timeout_s=HANGS_AFTER_S
    )
    found: dict[str, Any] = json.loads(ended.stdout[ended.stdout.index("{") :])
    problems = [
        f"{problem['location'][0].get('pointer')}: {problem['message']} ({problem['ruleId']})"
        for problem in found["problems"]
    ]
    assert (ended.returncode == 0) is (problems == []), ended.stderr
    return problems


@pytest.mark.parametrize("name", ["v1", "control"])
def test_a_document_has_no_problems(redocly: Path, tmp_path: Path, name: str) -> None:
    document = tmp_path / f"{name}.json"
    document.write_text(printed(name), encoding="utf-8")
    assert lint(redocly, document) == []


def test_a_mistake_would_be_found(redocly: Path, tmp_path: Path) -> None:
    wrong = json.loads(printed("v1"))
    del wrong["info"]["license"]
    created = wrong["paths"]["/v1/payments"]["post"]["responses"]["201"]
    created["content"]["application/json"]["example"]["amount"] = "much"
    document = tmp_path / "wrong.json"
    document.write_text(json.dumps(wrong), encoding="utf-8")
    rules = {problem.rpartition("(")[2].rstrip(")") for problem in lint(redocly, document)}
    assert rules == {"info-license", "no-invalid-media-type-examples"}


@contextmanager
def recording(redocly: Path, target: str, har: Path) -> Iterator[str]:
    """The address of a proxy that writes a HAR at its end."""
    port = free_port()
    options = ("--target", target, "--port", str(port), "--har", str(har))
    process = subprocess.Popen(
        [str(redocly), "proxy", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=har.parent,
        env={**os.environ, **QUIET},
    )
    try:
        assert process.stdout is not None
        with process.stdout as lines:
            assert any("Press Ctrl+C to stop" in line for line in lines)
            yield f"http://127.0.0.1:{port}"
            process.send_signal(signal.SIGINT)
            lines.read()
    finally:
        process.kill()
        process.wait()


def test_a_recording_of_its_proxy_is_compared_and_imported(redocly: Path, tmp_path: Path) -> None:
    har, script = tmp_path / "recording.har", str(tmp_path / "case.yaml")
    with serving(logs=tmp_path) as server:
        target = f"http://127.0.0.1:{server.api_port}"
        with (
            recording(redocly, target, har) as url,
            httpx.Client(base_url=url, headers=headers(TEST_KEY)) as api,
        ):
            for changes in ({"idempotency_key": "k"}, {"idempotency_key": "k"}, {"amount": 1}):
                api.post("/v1/payments", json=order(**changes))
            api.get("/v1/payments", params={"limit": 1})
    compared = run("verify", "--har", str(har))
    assert compared.returncode == 0, compared.stdout
    assert "  holds     4.1.10  " in compared.stdout
    assert run("import", str(har), "-o", script).returncode == 0
    assert run("replay", script).returncode == 0
