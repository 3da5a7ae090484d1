"""Plays cases that use every key of the scenario format, over real sockets."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from emulator.domain.payment import ORDER_TERMS
from emulator.scenarios.conditions import WHEN
from emulator.scenarios.faults import FAULT_THEN, FAULT_WHEN
from emulator.scenarios.script import EXPECT, SCRIPT_STEPS
from emulator.scenarios.webhook_faults import WEBHOOK_THEN
from tests.cli.processes import run

CASES = Path(__file__).parent
FILES = sorted(CASES.glob("*.yaml"))


def test_every_case_passes() -> None:
    ended = run("replay", str(CASES))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert f"{len(FILES)} passed, 0 failed" in ended.stdout


@pytest.mark.parametrize(
    "keys",
    [SCRIPT_STEPS, *(each.keys for each in (EXPECT, WHEN, FAULT_WHEN, FAULT_THEN, WEBHOOK_THEN))],
    ids=["steps", "expectations", "when", "faults: when", "faults: then", "webhooks: then"],
)
def test_the_cases_use_every_key_of_the_format(keys: Any) -> None:
    used = {key for file in FILES for key in _keys(yaml.safe_load(file.read_text("utf-8")))}
    assert set(keys) - used <= {"id"} | _FIELDS_LEFT_OUT


# Of the object, where any field stands for all.
_FIELDS_LEFT_OUT = {"checkout_url", *ORDER_TERMS}


def _keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value) | {key for inner in value.values() for key in _keys(inner)}
    if isinstance(value, list):
        return {key for inner in value for key in _keys(inner)}
    return set()


def test_a_case_with_another_last_expectation_fails_there(tmp_path: Path) -> None:
    for file in FILES:
        case = yaml.safe_load(file.read_text("utf-8"))
        last = [step["expect"] for step in _steps(case["script"]) if "expect" in step][-1]
        last["events"] = ["payment.refunded"] * 3
        changed = yaml.safe_dump(case, allow_unicode=True, sort_keys=False)
        (tmp_path / file.name).write_text(changed, encoding="utf-8")
    ended = run("replay", str(tmp_path))
    assert ended.returncode == 1
    assert f"0 passed, {len(FILES)} failed" in ended.stdout
    for file in FILES:
        assert re.search(rf"^\S+{file.name}:\d+:\d+", ended.stdout.replace("  ", ""), re.MULTILINE)


def _steps(script: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        step
        for outer in script
        for step in (_steps(outer["repeat"]["steps"]) if "repeat" in outer else [outer])
    ]
