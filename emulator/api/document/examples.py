"""The real answers that the document shows, and which of them are of which operation."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

_FILE = Path(__file__).parent.parent / "examples.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Examples:
    """Answers by name; those to refusals have the name of their code."""

    by_name: Mapping[str, Any]
    methods: tuple[str, ...]

    def bodies(self, names: Iterable[str]) -> dict[str, Any]:
        """What was answered, as OpenAPI writes examples."""
        return {name: _example(name, self.by_name[name]["body"]) for name in names}

    def requests(self, names: Iterable[str]) -> dict[str, Any]:
        """What was sent in order to be answered so."""
        return {
            name: _example(name, self._offering(self.by_name[name]["request"]["body"]))
            for name in names
        }

    def query(self, name: str) -> dict[str, str]:
        """The query parameters that were sent, where the service has the method among them."""
        query = self.by_name[name]["request"]["path"].partition("?")[2]
        sent = dict(parse_qsl(query))
        return {**sent, "method": self._offering({"methods": [sent["method"]]})["methods"][0]}

    def payment_id(self, name: str) -> str:
        return str(self.by_name[name]["body"]["id"])

    def _offering(self, body: dict[str, Any]) -> dict[str, Any]:
        """A body that is valid here as well, where the service knows other methods."""
        known = [method for method in body["methods"] if method in self.methods]
        return {**body, "methods": known or list(self.methods)}


def load(methods: tuple[str, ...]) -> Examples:
    """The examples, for a service that knows these methods."""
    return Examples(by_name=json.loads(_FILE.read_text(encoding="utf-8")), methods=methods)


def _example(name: str, value: Any) -> dict[str, Any]:
    words = name.replace("_", " ").replace(".", ": ")
    return {"summary": words[0].upper() + words[1:], "value": value}
