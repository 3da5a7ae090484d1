"""Both OpenAPI documents, as the command prints them, under Redocly's recommended rules."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.processes import HANGS_AFTER_S, run_program
from tests.interop.node import node_modules
from tests.server.openapi.conftest import printed

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
