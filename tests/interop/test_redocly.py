"""Both OpenAPI documents, as the command prints them, under Redocly's recommended rules."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.processes import HANGS_AFTER_S, run
from tests.interop.node import node_modules

REDOCLY = "@redocly/cli@2"
PRINTED_BY = {"v1": ("openapi",), "control": ("openapi", "--control")}
# It would ask for a newer version of itself, and tell home that it was used.
QUIET = {"REDOCLY_SUPPRESS_UPDATE_NOTICE": "true", "REDOCLY_TELEMETRY": "off"}


@pytest.fixture(scope="module")
def redocly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return node_modules(tmp_path_factory, REDOCLY) / ".bin" / "redocly"


def problems(redocly: Path, document: Path) -> list[str]:
    """Everything that it finds, warnings too: no rule is switched off."""
    ended = subprocess.run(
        [str(redocly), "lint", "--extends=recommended-strict", "--format=json", document.name],
        cwd=document.parent,
        env=os.environ | QUIET,
        capture_output=True,
        encoding="utf-8",
        timeout=HANGS_AFTER_S,
    )
    found: dict[str, Any] = json.loads(ended.stdout[ended.stdout.index("{") :])
    told = [
        f"{problem['location'][0].get('pointer')}: {problem['message']} ({problem['ruleId']})"
        for problem in found["problems"]
    ]
    assert (ended.returncode == 0) is (told == []), ended.stderr
    return told


@pytest.mark.parametrize("name", PRINTED_BY)
def test_there_is_nothing_to_complain_of(redocly: Path, tmp_path: Path, name: str) -> None:
    printed = run(*PRINTED_BY[name])
    assert printed.returncode == 0, printed.stderr
    document = tmp_path / f"{name}.json"
    document.write_text(printed.stdout, encoding="utf-8")
    assert problems(redocly, document) == []


def test_a_mistake_would_be_found(redocly: Path, tmp_path: Path) -> None:
    printed = json.loads(run("openapi").stdout)
    del printed["info"]["license"]
    created = printed["paths"]["/v1/payments"]["post"]["responses"]["201"]
    created["content"]["application/json"]["example"]["amount"] = "much"
    document = tmp_path / "wrong.json"
    document.write_text(json.dumps(printed), encoding="utf-8")
    rules = {problem.rpartition("(")[2].rstrip(")") for problem in problems(redocly, document)}
    assert rules == {"info-license", "no-invalid-media-type-examples"}
