"""The JSON Schema of scenario files; `format.txt` has what it accepts and refuses."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema_rs import Draft202012Validator, meta

from emulator.scenarios.loader import read_files
from emulator.scenarios.scenario_file import scenario_schema
from tests.cli.processes import run

SCHEMA = scenario_schema()
VALIDATOR = Draft202012Validator(SCHEMA)
DIRECTORY = Path(__file__).parents[2] / "scenarios"
FILES = sorted(DIRECTORY.glob("*.yaml"))


def mappings_in(schema: Any) -> Iterator[dict[str, Any]]:
    """Every part that describes the keys of a mapping."""
    if isinstance(schema, dict):
        if "additionalProperties" in schema and "required" in schema:
            yield schema
        schema = list(schema.values())
    for part in schema if isinstance(schema, list) else ():
        yield from mappings_in(part)


def test_the_schema_is_a_schema() -> None:
    assert meta.is_valid(SCHEMA)
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA


def test_every_mapping_describes_its_keys_and_permits_no_others() -> None:
    mappings = list(mappings_in(SCHEMA))
    assert len(mappings) == 31
    for mapping in mappings:
        assert mapping["additionalProperties"] is False
        assert all(member["description"] for member in mapping["properties"].values())


def test_the_schema_file_is_the_output_of_the_command() -> None:
    printed = run("schema").stdout
    assert (DIRECTORY / "schema.json").read_text(encoding="utf-8") == printed
    assert json.loads(printed) == SCHEMA
    assert printed.startswith('{\n  "$schema"'), "a person may read it"


def test_the_schema_file_is_not_a_scenario_of_its_directory() -> None:
    assert [*read_files([DIRECTORY])[0]] == FILES


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_shipped_file_names_the_schema_and_satisfies_it(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.startswith("# yaml-language-server: $schema=./schema.json\n")
    VALIDATOR.validate(yaml.safe_load(text))


@pytest.mark.parametrize(
    ("member", "most"),
    [
        (lambda n: {"script": [{"list": None}] * n}, 1_000),
        (lambda n: {"outcomes": [{"when": {}, "then": [{"status": "failed"}] * n}]}, 100),
    ],
    ids=["script", "steps of an outcome"],
)
def test_lists_have_a_limit(member: Any, most: int) -> None:
    file = {"version": 1, "name": "case"}
    assert VALIDATOR.is_valid({**file, **member(most)})
    assert not VALIDATOR.is_valid({**file, **member(most + 1)})
