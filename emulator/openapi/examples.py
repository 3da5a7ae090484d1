"""The recorded requests and responses that a document shows as examples."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import yaml

from emulator.openapi.declarations import JSON, JsonObject

Record = Mapping[str, Any]

# Records are named `operation/name`; a refusal that any operation can have, under this word.
ANY_OPERATION = "any_call"


class RecordedExamples:
    """Recorded requests and responses by operation and name."""

    def __init__(self, records: Mapping[str, Record]) -> None:
        self._by_operation: dict[str, dict[str, Record]] = {}
        for full_name, record in records.items():
            operation, _, name = full_name.partition("/")
            self._by_operation.setdefault(operation, {})[name] = record

    def requests(self, operation: str, media_type: str) -> JsonObject:
        """The bodies of successful requests; a body that is recorded as a string is YAML."""
        is_text = media_type != JSON
        return {
            name: _example(name, body)
            for name, record in self._of(operation)
            if record["status"] < 300
            and (body := record["request"].get("body")) is not None
            and isinstance(body, str) is is_text
        }

    def responses(self, operation: str, status: int) -> JsonObject:
        return {
            name: _example(name, record["body"])
            for name, record in self._of(operation)
            if record["status"] == status
        }

    def refusals(self, operation: str, codes: Iterable[str]) -> JsonObject:
        """One example for each code: that of the operation, or that of any operation."""
        own = self._by_operation.get(operation, {})
        return {
            code: _example(code, own[code]["body"])
            if code in own
            else {"$ref": f"#/components/examples/{code}"}
            for code in codes
        }

    def bodies(self, operation: str) -> JsonObject:
        """All recorded bodies of an operation; those of any operation are components."""
        return {name: _example(name, record["body"]) for name, record in self._of(operation)}

    def parameter(self, path: str, operation: str, name: str) -> str | None:
        """A value of a path or query parameter from a successful request, if any has one."""
        template = path.split("/")
        for _, record in self._of(operation):
            if record["status"] >= 300:
                continue
            requested = urlsplit(str(record["request"]["path"]))
            if f"{{{name}}}" in template:
                return requested.path.split("/")[template.index(f"{{{name}}}")]
            query = dict(parse_qsl(requested.query))
            if name in query:
                return query[name]
        return None

    def _of(self, operation: str) -> Iterator[tuple[str, Record]]:
        yield from self._by_operation.get(operation, {}).items()


def _example(name: str, body: Any) -> JsonObject:
    """The value that a schema describes: for YAML, what the text contains."""
    words = name.replace("_", " ").replace(".", ": ")
    value = yaml.safe_load(body) if isinstance(body, str) else body
    return {"summary": words[0].upper() + words[1:], "value": value}


def load_records(path: Path) -> dict[str, Record]:
    records: dict[str, Record] = json.loads(path.read_text(encoding="utf-8"))
    return records
