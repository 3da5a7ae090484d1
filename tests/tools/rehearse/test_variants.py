"""Each shipped variant: its file, its script, and its row in the guide."""

from pathlib import Path

import pytest
import yaml
from jsonschema_rs import Draft202012Validator

from emulator.domain.variants import NAMES
from emulator.scenarios.loader import load_paths
from emulator.scenarios.scenario_file import scenario_schema
from emulator.scenarios.values import VariantKind
from emulator.settings import data_directory
from tests.cli.processes import run
from tests.docs.document import part, rows
from tests.tools.rehearse.rehearsals import shipped

DIRECTORY = data_directory("scenarios") / "rehearsal"
FILES = sorted(DIRECTORY.iterdir())
VALIDATOR = Draft202012Validator(scenario_schema())


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_file_is_described_and_has_a_script(file: Path) -> None:
    [scenario] = load_paths([file])
    assert scenario.name == file.stem
    assert scenario.description.endswith(".")
    assert scenario.script
    text = file.read_text(encoding="utf-8")
    assert text.startswith("# yaml-language-server: $schema=../schema.json\n# ")
    assert max(map(len, text.splitlines())) <= 100
    VALIDATOR.validate(yaml.safe_load(text))


def test_all_scripts_pass() -> None:
    played = run("replay", str(DIRECTORY))
    assert (played.returncode, played.stderr) == (0, ""), played.stdout
    assert f"{len(FILES)} cases: {len(FILES)} passed" in played.stdout


def test_the_guide_has_a_row_for_each_variant() -> None:
    listed = [row[0].strip("`") for row in rows(part("docs/guides/rehearse.md", "What runs"))]
    files = [name for name in listed if name.endswith(".yaml")]
    false_answers, disturbances = (
        {variant.file.name for variant in shipped(kind) if variant.file} for kind in VariantKind
    )
    assert (set(files[:8]), set(files[8:])) == (false_answers, disturbances)


def test_each_form_that_the_contract_allows_is_a_disturbance() -> None:
    forms = [variant for variant in shipped(VariantKind.DISTURBANCE) if variant.file is None]
    assert tuple(variant.name for variant in forms) == NAMES
    assert [variant.by_hand for variant in forms] == [f"--vary {name}" for name in NAMES]
