"""The examples of the document: real answers, kept beside it, each by its call and its name."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import yaml

Record = Mapping[str, Any]

# The answers that a call can have are named `call/name`; those of any call, under this word.
ANY_CALL = "any_call"

_FILE = Path(__file__).parent.with_name("examples.json")
_JSON = "application/json"


class Examples:
    """Requests with their answers, looked up by where the document shows them."""

    def __init__(self, records: Mapping[str, Record]) -> None:
        self._by_call: dict[str, dict[str, Record]] = {}
        for full_name, record in records.items():
            call, _, name = full_name.partition("/")
            self._by_call.setdefault(call, {})[name] = record

    def requests(self, call: str, media_type: str) -> dict[str, Any]:
        """The bodies with which a call succeeds; those that are kept as texts are YAML."""
        is_text = media_type != _JSON
        return {
            name: {"value": _value(body)}
            for name, record in self._of(call)
            if record["status"] < 300
            and (body := record["request"].get("body")) is not None
            and isinstance(body, str) is is_text
        }

    def answers(self, call: str, status: int) -> dict[str, Any]:
        return {
            name: {"value": _value(record["body"])}
            for name, record in self._of(call)
            if record["status"] == status
        }

    def refusals(self, call: str, codes: Iterable[str]) -> dict[str, Any]:
        """One for each code: the call's own, or that of any call."""
        own = self._by_call.get(call, {})
        inline = {code: {"value": own[code]["body"]} for code in codes if code in own}
        return {**self.common_refusals(codes), **inline}

    def common_refusals(self, codes: Iterable[str]) -> dict[str, Any]:
        """Those that stand in the components."""
        common = self._by_call[ANY_CALL]
        return {code: {"$ref": f"#/components/examples/{code}"} for code in codes if code in common}

    def of_any_call(self) -> dict[str, Any]:
        """What the components hold."""
        return {name: {"value": record["body"]} for name, record in self._of(ANY_CALL)}

    def parameter(self, path: str, call: str, name: str) -> Any:
        """A value with which a call has succeeded, of a parameter of its path or query.

        Of the query it is None where no example has it.
        """
        template = path.split("/")
        for _, record in self._of(call):
            asked = urlsplit(record["request"]["path"])
            if f"{{{name}}}" in template and record["status"] < 300:
                return asked.path.split("/")[template.index(f"{{{name}}}")]
            query = dict(parse_qsl(asked.query))
            if name in query and record["status"] < 300:
                return query[name]
        return None

    def _of(self, call: str) -> Iterator[tuple[str, Record]]:
        yield from self._by_call.get(call, {}).items()


def _value(body: Any) -> Any:
    """What a schema can be held against: of YAML what it says."""
    return yaml.safe_load(body) if isinstance(body, str) else body


def kept_examples() -> Examples:
    return Examples(json.loads(_FILE.read_text(encoding="utf-8")))
