"""Each shipped scenario file: its text, its rules, and how it is switched on."""

import json
import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from emulator.scenarios.loader import in_force, load_paths
from emulator.scenarios.values import Scenario
from tests.cli.processes import run
from tests.world import World

DIRECTORY = Path(__file__).parents[2] / "scenarios"
FILES = sorted(DIRECTORY.glob("*.yaml"))

# The files that are off at start: each shows one thing that goes wrong.
TEACHING = [file.stem for file in FILES if "\nenabled: false\n" in file.read_text("utf-8")]
SECTIONS = ("outcomes", "expiry", "checkout", "faults", "webhooks")


@pytest.fixture(scope="module")
def shipped() -> tuple[Scenario, ...]:
    return load_paths([DIRECTORY])


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_shipped_file_has_a_description_and_a_script(file: Path) -> None:
    (scenario,) = load_paths([file])
    assert scenario.name == file.stem
    assert scenario.description
    assert scenario.script
    text = file.read_text(encoding="utf-8")
    assert text.startswith("# ")
    assert max(map(len, text.splitlines())) <= 100


def test_all_scripts_pass_and_exercise_everything_together() -> None:
    played = run("replay", str(DIRECTORY), "--fail-under", "100")
    assert (played.returncode, played.stderr) == (0, ""), played.stdout
    assert f"{len(FILES)} cases: {len(FILES)} passed, 0 failed" in played.stdout
    assert "without a script" not in played.stdout
    assert re.search(r"^Coverage: (\d+) of \1, 100\.0 %$", played.stdout, re.MULTILINE)


def test_the_test_numbers_the_banks_and_the_expiry_are_on_at_start(
    shipped: tuple[Scenario, ...],
) -> None:
    on = [scenario for scenario in shipped if scenario.enabled]
    names = {"telebirr-test-numbers", "mpesa-test-numbers", "banks", "expiry-after-30-minutes"}
    assert {scenario.name for scenario in on} == names
    assert not any(scenario.webhooks or scenario.faults for scenario in on)
    # A rule that matches everything would override `expires_in`.
    assert not any(scenario.expiry for scenario in on)
    assert [scenario.name for scenario in shipped if not scenario.enabled] == TEACHING


@pytest.mark.parametrize("name", TEACHING)
def test_a_teaching_file_shows_one_kind_of_fault_or_outcome(name: str) -> None:
    (scenario,) = load_paths([DIRECTORY / f"{name}.yaml"])
    assert [bool(getattr(scenario, section)) for section in SECTIONS].count(True) == 1


@pytest.mark.parametrize("name", TEACHING)
def test_the_comment_of_a_teaching_file_has_four_parts(name: str) -> None:
    text = (DIRECTORY / f"{name}.yaml").read_text(encoding="utf-8")
    comment = text.partition("version: 1")[0]
    assert all(line.startswith("#") for line in comment.splitlines())
    for part in (
        "# In real life ",
        "# This file ",
        "# What your ",
        "# This scenario is off at start. ",
    ):
        assert f"\n{part}" in comment


async def test_disabled_files_precede_enabled_ones_in_order_of_name(emulator: World) -> None:
    listed = (await emulator.shown("/scenarios"))["data"]
    shown = [(scenario["enabled"], scenario["name"]) for scenario in listed]
    assert shown == sorted(shown)
    assert len(shown) == len(FILES)


@pytest.mark.parametrize("name", TEACHING)
async def test_a_call_switches_a_teaching_file_on_as_its_comment_says(
    name: str, emulator: World
) -> None:
    text = (DIRECTORY / f"{name}.yaml").read_text(encoding="utf-8")
    [(path, body)] = re.findall(r"^#   PUT /_emulator(/\S+)  (\{.*\})$", text, re.MULTILINE)
    assert (await emulator.control("PUT", path, json.loads(body))).status_code == 200
    listed = (await emulator.shown("/scenarios"))["data"]
    off = [scenario["name"] for scenario in listed if not scenario["enabled"]]
    assert off == [other for other in TEACHING if other != name]


@pytest.mark.parametrize("name", TEACHING)
def test_a_copy_switches_a_teaching_file_on_as_its_comment_says(
    shipped: tuple[Scenario, ...], name: str, tmp_path: Path
) -> None:
    text = (DIRECTORY / f"{name}.yaml").read_text(encoding="utf-8")
    assert text.count("\nenabled: false\n") == 1
    copy = tmp_path / "copy.yaml"
    copy.write_text(text.replace("\nenabled: false\n", "\n"), encoding="utf-8")
    (given,) = load_paths([copy])
    (original,) = [scenario for scenario in shipped if scenario.name == name]
    assert given.enabled
    assert replace(given, enabled=False, script=()) == replace(original, script=())
    assert [scenario for scenario in in_force([given], shipped) if scenario.name == name] == [given]
