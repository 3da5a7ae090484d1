"""Selects a value of a JSON document by a path such as `$.orders[0].status`."""

import json
import re
from dataclasses import dataclass

from emulator.scenarios.values import Json

MAX_SHOWN_MEMBERS = 20
MAX_SHOWN_TEXT = 80
_PATH_STEP = re.compile(r"\.([^.\[\]\s]+)|\[([0-9]{1,9})\]")
JSON_PATH = re.compile(rf"\$(?:{_PATH_STEP.pattern})*")


@dataclass(frozen=True, slots=True)
class JsonPath:
    """A path such as `$.orders[0].status`: names of members, and indices of items."""

    steps: tuple[str | int, ...]

    @classmethod
    def parse(cls, text: str) -> "JsonPath":
        """Parse a text that matches JSON_PATH."""
        return cls(tuple(name or int(index) for name, index in _PATH_STEP.findall(text)))

    def __str__(self) -> str:
        parts = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.steps)
        return f"${''.join(parts)}"

    def read(self, document: Json) -> Json:
        """The value at this path; None where there is none."""
        depth, value = self._follow(document)
        return value if depth == len(self.steps) else None

    def missing_in(self, document: Json) -> str | None:
        """What a document has where this path ends in it; None where the path exists."""
        depth, value = self._follow(document)
        if depth == len(self.steps):
            return None
        has = f"is {json.dumps(value)[:MAX_SHOWN_TEXT]}"
        if isinstance(value, dict):
            has = f"has the members: {', '.join(list(value)[:MAX_SHOWN_MEMBERS]) or 'none'}"
        elif isinstance(value, list):
            has = f"is a list of {len(value)} items"
        return f"{JsonPath(self.steps[:depth])} {has}"

    def _follow(self, document: Json) -> tuple[int, Json]:
        """The number of steps that exist in a document, and the value there."""
        for depth, step in enumerate(self.steps):
            if isinstance(document, dict) and str(step) in document:
                document = document[str(step)]
            elif isinstance(document, list) and isinstance(step, int) and step < len(document):
                document = document[step]
            else:
                return depth, document
        return len(self.steps), document

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
