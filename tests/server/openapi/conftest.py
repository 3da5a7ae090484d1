"""The two documents, as the command prints them."""

import json
from functools import cache
from typing import Any

import pytest
from click.testing import CliRunner

from emulator.cli.commands import cli

PRINTED_BY = {"v1": ("openapi",), "control": ("openapi", "--control")}


@cache
def printed(name: str) -> str:
    ended = CliRunner().invoke(cli, PRINTED_BY[name])
    assert ended.exit_code == 0, ended.output
    return ended.output


@pytest.fixture(params=list(PRINTED_BY))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def document(name: str) -> dict[str, Any]:
    return dict(json.loads(printed(name)))


@pytest.fixture
def control() -> dict[str, Any]:
    return dict(json.loads(printed("control")))


@pytest.fixture
def v1() -> dict[str, Any]:
    return dict(json.loads(printed("v1")))
