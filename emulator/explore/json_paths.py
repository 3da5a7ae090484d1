"""Reads values of JSON documents by paths such as `$.orders[0].status`."""

import re
from dataclasses import dataclass

from emulator.scenarios.values import Json

_STEP = re.compile(r"\.([^.\[\]\s]+)|\[([0-9]{1,9})\]")
PATTERN = re.compile(rf"\$(?:{_STEP.pattern})*")


@dataclass(frozen=True, slots=True)
class JsonPath:
    """A path: the names of members and the indices of items, from the outermost."""

    steps: tuple[str | int, ...]

    @classmethod
    def parse(cls, text: str) -> "JsonPath":
        """Parse a text that matches PATTERN."""
        return cls(tuple(name or int(index) for name, index in _STEP.findall(text)))

    def __str__(self) -> str:
        parts = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.steps)
        return f"${''.join(parts)}"

    def read(self, document: Json) -> Json:
        """The value at this path; None where there is none."""
        for step in self.steps:
            if isinstance(document, dict):
                document = document.get(str(step))
            elif isinstance(document, list) and isinstance(step, int) and step < len(document):
                document = document[step]
            else:
                return None
        return document

    def without(self, document: Json) -> Json:
        """The document without the value at this path."""
        if not self.steps:
            return None
        first, rest = self.steps[0], JsonPath(self.steps[1:])
        if isinstance(document, dict) and str(first) in document:
            name = str(first)
            others = {key: value for key, value in document.items() if key != name}
            return others if not rest.steps else {**others, name: rest.without(document[name])}
        if isinstance(document, list) and isinstance(first, int) and first < len(document):
            changed = [rest.without(document[first])] if rest.steps else []
            return [*document[:first], *changed, *document[first + 1 :]]
        return document
