"""What makes up a scenario file, from its first line to its sections."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from emulator.scenarios.entries import (
    Entry,
    Members,
    read_boolean,
    read_members,
    read_text,
    whole_number,
)
from emulator.scenarios.expiry import read_expiry_rules
from emulator.scenarios.faults import read_fault_rules
from emulator.scenarios.nodes import problems_in, read_tree
from emulator.scenarios.outcomes import read_outcome_rules
from emulator.scenarios.problems import Notes, Problem, ScenarioError
from emulator.scenarios.script import read_script
from emulator.scenarios.values import Scenario
from emulator.scenarios.vocabulary import FILE_KEYS, NAME_PATTERN, VERSION
from emulator.scenarios.webhooks import read_webhook_rules

# A section's name in the file is its field in Scenario.
SECTIONS: dict[str, Callable[[Entry], tuple[object, ...]]] = {
    "outcomes": read_outcome_rules,
    "expiry": read_expiry_rules,
    "faults": read_fault_rules,
    "webhooks": read_webhook_rules,
    "script": read_script,
}

_NAME = "1 to 64 small letters, digits, - and _, a letter or digit first"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What became of one file: a scenario, or problems. `line`, `column`: where its name is."""

    scenario: Scenario | None
    problems: tuple[Problem, ...]
    line: int = 1
    column: int = 1


def parse_scenario(text: str, source: str, *, name: str | None = None) -> Scenario:
    """Read a scenario file; `source` is what problems call it.

    With a `name`, from elsewhere, the text may leave out `version` and `name`, and must not have
    another name. Raises ScenarioError with every problem of the file.
    """
    reading = read_scenario(text, source, name=name)
    if reading.scenario is None:
        raise ScenarioError(reading.problems)
    return reading.scenario


def read_scenario(text: str, source: str, *, name: str | None = None) -> Reading:
    """As `parse_scenario`, for who reads several files before complaining."""
    notes = Notes(source)
    tree = read_tree(text, notes)
    if tree is None:
        return Reading(scenario=None, problems=notes.problems)
    members = read_members(Entry(node=tree, label="a scenario", notes=notes), FILE_KEYS)
    if members is None:
        return Reading(scenario=None, problems=problems_in(tree, notes))
    scenario = _read_members(members, name)
    place = members.known.get("name", members.entry).node
    return Reading(
        scenario=None if notes.problems else scenario,
        problems=problems_in(tree, notes),
        line=place.line,
        column=place.column,
    )


def _read_members(members: Members, address_name: str | None) -> Scenario:
    name: str | None
    if address_name is None:
        members.need("version", _read_version, f"version: {VERSION}")
        name = members.need("name", _read_name, "what the scenario is called")
    else:
        members.get("version", _read_version)
        members.get("name", partial(_read_repeated_name, name=address_name))
        name = address_name
        if not NAME_PATTERN.fullmatch(name):
            members.entry.note(f"the name in the address must be {_NAME}, not {name!r}")
    description = members.get("description", read_text)
    enabled = members.get("enabled", read_boolean)
    sections: dict[str, Any] = {
        section: members.get(section, read) or () for section, read in SECTIONS.items()
    }
    return Scenario(
        name=name or "",
        description=description or "",
        enabled=enabled is not False,
        **sections,
    )


def _read_version(entry: Entry) -> int | None:
    version = whole_number(entry.node)
    if version == VERSION:
        return version
    entry.refuse(f"{VERSION}")
    return None


def _read_name(entry: Entry) -> str | None:
    name = read_text(entry)
    if name is None or NAME_PATTERN.fullmatch(name):
        return name
    entry.refuse(_NAME)
    return None


def _read_repeated_name(entry: Entry, *, name: str) -> None:
    found = read_text(entry)
    if found not in (None, name):
        entry.note(f"name must be {name!r}, as in the address, not {found!r}")
