"""The tables of the control API's page, generated from its OpenAPI document."""

import re
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

from emulator.domain.payment_methods import DEFAULT_METHODS
from emulator.server.control.app import RESOURCES, documents
from tests.docs.markdown import table

PAGE = "docs/reference/control-api.md"

_Json = dict[str, Any]
_HEAD = ("call", "query or body", "returns", "does")
# Parameters of almost every call; the page describes them once.
_COMMON_QUERY = {"account", "mode"}
# Schemas that are described elsewhere are named, not listed.
_NAMED = {
    "Stream": "server-sent events",
    "Payment": "the payment",
    "ScenarioFile": "a scenario file in YAML",
}
_JSON = "application/json"


def calls_table(tag: str) -> str:
    """All calls with a tag: method and path, query or body, response, first sentence."""
    rows = [_row(path, method, call) for path, method, call in _calls() if tag in call["tags"]]
    return table(_HEAD, rows)


# By page and name.
TABLES: dict[tuple[str, str], Callable[[], str]] = {
    (PAGE, f"calls: {resource.tag}"): partial(calls_table, resource.tag) for resource in RESOURCES
}


@cache
def _document() -> _Json:
    return documents(DEFAULT_METHODS)["control"]("http://127.0.0.1:8080")


def _calls() -> Iterator[tuple[str, str, _Json]]:
    for path, methods in _document()["paths"].items():
        for method, call in methods.items():
            yield path, method, call


def _row(path: str, method: str, call: _Json) -> tuple[str, ...]:
    cells = (
        f"`{method.upper()} {path}`",
        "; ".join([*_query(call), *_body(call)]),
        _returns(call),
        _first_sentence(call["description"]),
    )
    return tuple(cell.replace("|", r"\|").replace("*", r"\*") for cell in cells)


def _first_sentence(description: str) -> str:
    """The OpenAPI document has the others."""
    sentence, stop, _ = description.partition(". ")
    return f"{sentence}{stop}".strip()


def _query(call: _Json) -> Iterator[str]:
    """The query parameters as an example, then their defaults and limits."""
    found = [_resolved(parameter) for parameter in call["parameters"]]
    query = [one for one in found if one["in"] == "query" and one["name"] not in _COMMON_QUERY]
    if query:
        names = "&".join(f"{parameter['name']}=…" for parameter in query)
        yield f"`?{names}`"
    for parameter in query:
        schema = parameter["schema"]
        if "default" in schema and "maximum" in schema:
            limits = f"default {schema['default']:,}, at most {schema['maximum']:,}"
            yield f"`{parameter['name']}`: {limits}"


def _body(call: _Json) -> Iterator[str]:
    body = call.get("requestBody")
    if body is not None:
        schema = _resolved(body["content"][_JSON]["schema"])
        yield " or ".join(f"`{_members(way)}`" for way in _ways(schema))


def _ways(schema: _Json) -> Iterator[_Json]:
    """The schema; of one with `oneOf`, each way has its required members and all optional ones."""
    ways = [way["required"] for way in schema.get("oneOf", ())]
    for required in ways:
        others = {name for way in ways for name in way}.difference(required)
        members = schema["properties"].items()
        kept = {name: member for name, member in members if name not in others}
        yield {"properties": kept, "required": required}
    if not ways:
        yield schema


def _returns(call: _Json) -> str:
    """The statuses of success with what they return; equal ones together."""
    statuses: dict[str, list[str]] = {}
    for status, response in call["responses"].items():
        is_error = "$ref" in response or "Codes:" in response["description"]
        if not is_error:
            statuses.setdefault(_content(response), []).append(status)
    return "; ".join(f"{', '.join(found)} {text}".strip() for text, found in statuses.items())


def _content(response: _Json) -> str:
    for content in response.get("content", {}).values():
        # A body in YAML is its schema or a string.
        schema = content["schema"]
        [schema, *_] = schema.get("anyOf", [schema])
        name = schema.get("$ref", "").rpartition("/")[2]
        if name in _NAMED:
            return _NAMED[name]
        if name in _listed():
            return "the " + re.sub("(?<=[a-z])(?=[A-Z])", " ", name).lower()
        return f"`{_members(_resolved(schema))}`"
    return ""


@cache
def _listed() -> frozenset[str]:
    """The schemas whose members the row of a list shows."""
    lists = (each.get("properties", {}) for each in _document()["components"]["schemas"].values())
    items = (each.get("data", {}).get("items", {}) for each in lists)
    return frozenset(each["$ref"].rpartition("/")[2] for each in items if "$ref" in each)


def _members(schema: _Json) -> str:
    """The members of an object, `?` after optional ones; of a list, those of its items."""
    return f"{{{', '.join(_member(name, schema) for name in schema['properties'])}}}"


def _member(name: str, schema: _Json) -> str:
    if name == "data" and "items" in (items := _resolved(schema["properties"][name])):
        listed = items["items"]
        named = _NAMED.get(listed.get("$ref", "").rpartition("/")[2])
        return f"data: [{named or _members(_resolved(listed))}]"
    return name if name in schema.get("required", ()) else f"{name}?"


def _resolved(schema: _Json) -> _Json:
    reference = schema.get("$ref")
    if reference is None:
        return schema
    kind, name = reference.split("/")[-2:]
    found: _Json = _document()["components"][kind][name]
    return found
