"""Declares scenario files: their keys, their JSON Schema, and their values as JSON or in a line.

The JSON Schema is for completion in editors. The reader also checks what a schema cannot express:
the order of steps, duplicate keys, duplicate names, and the payment names that a script uses. A
value that is written as JSON reads as the same value; keys that have their default are left out.
"""

import re
from dataclasses import replace

from emulator.scenarios.entries import Entry, read_text, whole_number
from emulator.scenarios.faults import FAULT_RULE, FAULTS
from emulator.scenarios.kinds import Boolean, JsonSchema, Scalar, Text, Word
from emulator.scenarios.mappings import Key, MappingOf
from emulator.scenarios.payment_rules import (
    CHECKOUT,
    EXPIRY,
    OUTCOMES,
)
from emulator.scenarios.script import SCRIPT, SCRIPT_STEP, STEP, step_schema
from emulator.scenarios.values import Scenario, VariantKind
from emulator.scenarios.webhook_faults import WEBHOOK_THEN, WEBHOOKS

VERSION = 1
NAME_PATTERN = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}", re.ASCII)

NAME_FORM = "1 to 64 lower-case letters, digits, - and _, a letter or digit first"


def is_scenario_name(text: str) -> bool:
    return NAME_PATTERN.fullmatch(text) is not None


_VERSION = Scalar(
    lambda node: whole_number(node) if whole_number(node) == VERSION else None,
    f"{VERSION}",
    {"const": VERSION},
)


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
    "outcomes": Key(OUTCOMES, "What happens after the customer submits a method."),
    "expiry": Key(EXPIRY, "How long a checkout stays open."),
    "checkout": Key(CHECKOUT, "When the customer's browser is redirected after the payment."),
    "faults": Key(FAULTS, "Which API requests fail, and how."),
    "webhooks": Key(WEBHOOKS, "Which webhook deliveries misbehave, and how."),
    "script": Key(SCRIPT, "A complete case for `replay`."),
}
VERSION_KEY = Key(
    _VERSION, "The version of this format.", required=f"the number {VERSION}", field=None
)
FILE_KEYS = {
    "version": VERSION_KEY,
    "name": Key(
        Text(NAME_PATTERN, expected=NAME_FORM),
        "The name of the scenario, unique among the files that are loaded.",
        required="what the scenario is called",
    ),
    "description": Key(Text(), "The purpose of the scenario."),
    "enabled": Key(
        Boolean(),
        "Whether the scenario is on at start. An account can switch it later.",
    ),
    "rehearsal": Key(
        Word(VariantKind),
        "What the scenario is for the command `rehearse`.",
    ),
    **SECTIONS,
}
SCENARIO = MappingOf(Scenario, FILE_KEYS)


def named_scenario(name: str) -> MappingOf[Scenario]:
    """A scenario that has its name from elsewhere, so that the file may leave out two keys."""
    keys = {
        **FILE_KEYS,
        "version": replace(FILE_KEYS["version"], required=None),
        "name": replace(FILE_KEYS["name"], kind=_NameInAddress(name), required=None, default=name),
    }
    return MappingOf(Scenario, keys)


def scenario_schema() -> JsonSchema:
    """The JSON Schema (2020-12) of scenario files."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Scenario of the ETB payments sandbox emulator",
        "description": "Rules and a script that decide how payments, requests and webhooks behave.",
        **SCENARIO.schema(),
        "$defs": {STEP: step_schema()},
    }


fault_rule_json = FAULT_RULE.write
delivery_fault_json = WEBHOOK_THEN.write
step_json = SCRIPT_STEP.write
