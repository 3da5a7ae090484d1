"""Declares scenario files, and reads them from text."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from emulator.scenarios.entries import Entry, FileContext, read_text, whole_number
from emulator.scenarios.expiry import EXPIRY
from emulator.scenarios.faults import FAULTS
from emulator.scenarios.kinds import Boolean, JsonSchema, Kind, Text
from emulator.scenarios.mappings import Key, MappingOf
from emulator.scenarios.nodes import problems_in, read_tree
from emulator.scenarios.outcomes import OUTCOMES
from emulator.scenarios.problems import Problem, ScenarioError
from emulator.scenarios.script import SCRIPT
from emulator.scenarios.values import Scenario
from emulator.scenarios.webhook_faults import WEBHOOKS

VERSION = 1
NAME_PATTERN = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}", re.ASCII)

_NAME = "1 to 64 small letters, digits, - and _, a letter or digit first"


class _Version(Kind[int]):
    def read(self, entry: Entry) -> int | None:
        version = whole_number(entry.node)
        if version == VERSION:
            return version
        entry.refuse(f"{VERSION}")
        return None

    def schema(self) -> JsonSchema:
        return {"const": VERSION}


class _NameInAddress(Text):
    """The name of a scenario that has its name from elsewhere; a file may repeat it."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def read(self, entry: Entry) -> str:
        found = read_text(entry)
        if found not in (None, self._name):
            entry.note(f"name must be {self._name!r}, as in the address, not {found!r}")
        return self._name


SECTIONS = {
    "outcomes": Key(
        OUTCOMES,
        "What happens after the customer submits a method.",
        default=(),
        default_text="empty",
    ),
    "expiry": Key(EXPIRY, "How long a checkout stays open.", default=(), default_text="empty"),
    "faults": Key(FAULTS, "Which API requests fail, and how.", default=(), default_text="empty"),
    "webhooks": Key(
        WEBHOOKS, "Which webhook deliveries misbehave, and how.", default=(), default_text="empty"
    ),
    "script": Key(SCRIPT, "A complete case for `replay`.", default=(), default_text="empty"),
}
FILE_KEYS = {
    "version": Key(
        _Version(), "The version of this format.", required=f"version: {VERSION}", field=None
    ),
    "name": Key(
        Text(NAME_PATTERN, expected=_NAME),
        "The name of the scenario, unique among the files that are loaded.",
        required="what the scenario is called",
    ),
    "description": Key(Text(), "The purpose of the scenario.", default="", default_text="empty"),
    "enabled": Key(
        Boolean(),
        "Whether the scenario is on at start. An account can switch it later.",
        default=True,
    ),
    **SECTIONS,
}
SCENARIO = MappingOf(Scenario, FILE_KEYS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The result of reading one file: a scenario, or problems. `line`, `column`: of its name."""

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
    """As `parse_scenario`, for callers that collect the problems of several files."""
    context = FileContext(source)
    tree = read_tree(text, context)
    if tree is None:
        return Reading(scenario=None, problems=context.problems)
    entry = Entry(node=tree, label="a scenario", context=context)
    mapping = SCENARIO if name is None else MappingOf(Scenario, _keys_with(name))
    members = mapping.members(entry)
    if members is None:
        return Reading(scenario=None, problems=problems_in(tree, context))
    if name is not None and not NAME_PATTERN.fullmatch(name):
        entry.note(f"the name in the address must be {_NAME}, not {name!r}")
    scenario = mapping.build(members)
    place = members.known.get("name", entry).node
    return Reading(
        scenario=None if context.problems else scenario,
        problems=problems_in(tree, context),
        line=place.line,
        column=place.column,
    )


def _keys_with(name: str) -> Mapping[str, Key]:
    """The keys of a scenario that has its name from elsewhere."""
    return {
        **FILE_KEYS,
        "version": replace(FILE_KEYS["version"], required=None),
        "name": replace(FILE_KEYS["name"], kind=_NameInAddress(name), required=None, default=name),
    }
