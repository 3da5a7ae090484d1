"""The tables of the guide to `explore`, of the verdicts and of the integration format."""

from collections.abc import Callable
from typing import Any

from emulator.tools.explore.anomalies import ANOMALY_KINDS, AnomalyKind
from emulator.tools.explore.integration_file import integration_schema
from emulator.tools.explore.report import what_to_do
from emulator.tools.explore.response_value import JSON_PATH
from emulator.tools.explore.verdicts import Verdict
from tests.docs.generated.scenario_types import key_rows, key_table
from tests.docs.markdown import table
from tests.tools.explore.zoo.table import WRONG_SHOPS

_GUIDE = "docs/guides/explore.md"
_FORMAT = "docs/reference/integration-format.md"
_SCHEMA = integration_schema()
_SECTIONS = ("start", "state", "settle", "run", "history")
# The keys of each request, which are a table of their own.
_OF_REQUESTS = ("command", "json", "form", "headers")
_KINDS = {f"^{JSON_PATH.pattern}$": "path"}


def anomalies_table() -> str:
    return table(("name", "what happens"), [(f"`{k.name}`", _title(k)) for k in ANOMALY_KINDS])


def _title(kind: AnomalyKind) -> str:
    event = "an event" if len(kind.events) > 1 else f"`{kind.events[0]}`"
    return kind.title.format(event)


def verdicts_table() -> str:
    rows = [(f"`{each.id}`", each, what_to_do(each)) for each in Verdict]
    return table(("id", "meaning", "what to do"), rows)


def bugs_table() -> str:
    """A row for each bug; several shops may have it."""
    rows = dict[str, tuple[str, ...]]()
    for shop in WRONG_SHOPS:
        keys = ", ".join(f"`{key}`" for key in shop.keys)
        row = (shop.description, shop.link, keys, f"`{shop.verdict}`", shop.history)
        rows.setdefault(shop.description, row)
    titles = ("bug", "source", "keys", "verdict", "first failing history")
    return table(titles, rows.values())


def _keys(schema: dict[str, Any], shown: Callable[[str], bool]) -> Callable[[], str]:
    rows = [row for row in key_rows(schema) if shown(row[0].strip("`"))]
    return lambda: key_table(_row(schema, *row) for row in rows)


def _is_own(key: str) -> bool:
    return key not in _OF_REQUESTS


def _section(name: str) -> dict[str, Any]:
    """The schema of a section; that of `start` is also that of the entries of a list."""
    schema: dict[str, Any] = _SCHEMA["properties"][name]
    one: dict[str, Any] = schema.get("anyOf", [schema])[0]
    return schema if "properties" in schema else one


def _row(schema: dict[str, Any], name: str, kind: str, *rest: str) -> tuple[str, ...]:
    """A row in which the mappings of the top level are links, and patterns have names."""
    key = name.strip("`")
    member = schema["properties"][key]
    kind = _KINDS.get(member.get("pattern", ""), kind)
    if "anyOf" in member and (path := _KINDS.get(member["anyOf"][0].get("pattern"))):
        kind = kind.replace("text such as `$.id`", path)
    if entry := _KINDS.get(member.get("items", {}).get("pattern", "")):
        kind = f"list of {entry}s"
    is_section = schema is _SCHEMA and key in _SECTIONS
    return (name, f"[{key}](#{key})" if is_section else kind, *rest)


TABLES: dict[tuple[str, str], Callable[[], str]] = {
    (_GUIDE, "anomalies"): anomalies_table,
    ("docs/reference/found-bugs.md", "found bugs"): bugs_table,
    ("docs/reference/verdicts.md", "verdicts"): verdicts_table,
    (_FORMAT, "integration"): _keys(_SCHEMA, _is_own),
    (_FORMAT, "requests"): _keys(_section("start"), lambda key: key in _OF_REQUESTS),
    **{(_FORMAT, name): _keys(_section(name), _is_own) for name in _SECTIONS if name != "run"},
    (_FORMAT, "run"): _keys(_section("run"), bool),
}
