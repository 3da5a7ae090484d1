"""Declares what the steps of a script have in common."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from emulator.scenarios.entries import Entry, text_of
from emulator.scenarios.kinds import JsonSchema, Kind
from emulator.scenarios.mappings import Key, MappingOf
from emulator.scenarios.nodes import MapNode
from emulator.scenarios.payment_kinds import (
    PAYMENT_NAME,
)
from emulator.scenarios.steps import (
    Json,
    Step,
)

Fields = dict[str, Any]
"""The fields of a step, without its place."""


@dataclass(frozen=True, slots=True)
class StepType:
    """A step of a script. Its kind reads the fields of the step's class, and writes the step.

    The examples of all steps, in their order, are a valid script.
    """

    make: Callable[..., Step]
    kind: Kind[Any]
    description: str
    example: Json

    def schema(self) -> JsonSchema:
        return {"description": self.description, **self.kind.schema(), "examples": [self.example]}


class NameOrMapping(Kind[Fields]):
    """The name of a payment alone is the short form of a mapping with the key `payment`."""

    def __init__(self, mapping: MappingOf[Fields], expected: str) -> None:
        self._mapping = mapping
        self._expected = expected

    def read(self, entry: Entry) -> Fields | None:
        if isinstance(entry.node, MapNode):
            return self._mapping.read(entry)
        if text_of(entry) is None:
            entry.refuse(self._expected)
            return None
        return {"payment": PAYMENT_NAME.read(entry)}

    def schema(self) -> JsonSchema:
        return {"anyOf": [PAYMENT_NAME.schema(), self._mapping.schema()]}

    def write(self, value: Any) -> Json:
        return value.payment or self._mapping.write(value)


NAMED = "The name that `create` gave the payment with `as`."
PAYMENT = Key(PAYMENT_NAME, NAMED, required="the name that 'create' gave it")
