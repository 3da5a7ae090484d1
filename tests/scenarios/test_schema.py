"""The JSON Schema of scenario files; `format.txt` has what it accepts and refuses."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from emulator.scenarios.scenario_file import scenario_schema

SCHEMA = scenario_schema()
VALIDATOR = Draft202012Validator(SCHEMA)
DIRECTORY = Path(__file__).parents[2] / "scenarios"


def mappings_in(schema: Any) -> Iterator[dict[str, Any]]:
    """Every part that describes the keys of a mapping."""
    if isinstance(schema, dict):
        if "additionalProperties" in schema and "required" in schema:
            yield schema
        schema = list(schema.values())
    for part in schema if isinstance(schema, list) else ():
        yield from mappings_in(part)


def test_the_schema_is_a_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA


def test_every_mapping_describes_its_keys_and_permits_no_others() -> None:
    mappings = list(mappings_in(SCHEMA))
    assert len(mappings) == 28
    for mapping in mappings:
        assert mapping["additionalProperties"] is False
        assert all(member["description"] for member in mapping["properties"].values())


@pytest.mark.parametrize("file", sorted(DIRECTORY.glob("*.yaml")), ids=lambda file: file.name)
def test_the_shipped_files_satisfy_the_schema(file: Path) -> None:
    VALIDATOR.validate(yaml.safe_load(file.read_text(encoding="utf-8")))


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
