"""The tables of docs/reference/scenario-format.md, generated from the JSON Schema of scenarios."""

from collections.abc import Callable, Collection
from typing import Any

import yaml

from emulator.scenarios.scenario_file import scenario_schema
from tests.docs.generated.scenario_types import WORDS, joined, key_rows, type_name
from tests.docs.markdown import table

_PAGE = "docs/reference/scenario-format.md"
_SCHEMA = scenario_schema()
_RULES = {
    key: _SCHEMA["properties"][key]["items"]
    for key in ("outcomes", "expiry", "checkout", "faults", "webhooks")
}
_STEPS = _SCHEMA["$defs"]["script_step"]["properties"]
_HEAD = ("key", "type", "default", "meaning")


def _keys(mapping: dict[str, Any], without: Collection[str] = ()) -> Callable[[], str]:
    rows = [row for row in key_rows(mapping) if row[0].strip("`") not in without]
    return lambda: table(_HEAD, rows)


def _mapping_of(step: dict[str, Any]) -> dict[str, Any]:
    """The form of a step that has keys; empty for a step that has none."""
    options = [step, *step.get("anyOf", ())]
    return next((option for option in options if "properties" in option), {})


def words_table() -> str:
    return table(
        ("type", "accepted"),
        [(name, joined(map("`{}`".format, words))) for name, words in WORDS.items()],
    )


def top_level_table() -> str:
    sections = {f"`{key}`": key for key in _RULES}
    rows = [
        (name, f"list of [rules](#{sections[name]})" if name in sections else kind, *rest)
        for name, kind, *rest in key_rows(_SCHEMA)
    ]
    return table(_HEAD, rows)


def rules_table() -> str:
    (when, _, *rest), _, times = key_rows(_RULES["faults"])
    return table(_HEAD, [(when, "mapping", *rest), times])


def payment_conditions_table() -> str:
    rows = [(key, kind, meaning) for key, kind, _, meaning in key_rows(_part("outcomes", "when"))]
    return table(("key", "type", "matches"), rows)


def steps_table() -> str:
    rows = [
        (f"`{name}`", f"`{_example(name)}`", _keys_of(name), step["description"])
        for name, step in _STEPS.items()
    ]
    return table(("step", "example", "keys", "meaning"), rows)


def _example(name: str) -> str:
    [value] = _STEPS[name]["examples"]
    text = yaml.safe_dump({name: value}, default_flow_style=True, sort_keys=False, width=1_000)
    return text.strip()[1:-1]


def _keys_of(name: str) -> str:
    if name == "expect":
        return "see [Expectations](#expectations)"
    keys = _mapping_of(_STEPS[name]).get("properties", ())
    return ", ".join(f"`{key}`" for key in keys) or type_name(_STEPS[name])


def step_keys_table() -> str:
    described = {key: _mapping_of(_STEPS[key]) for key in _STEPS if key not in ("fault", "expect")}
    rows = [row for key, keys in described.items() if keys for row in key_rows(keys, f"{key}.")]
    return table(_HEAD, rows)


def expectations_table() -> str:
    expect = _STEPS["expect"]
    rows = []
    for key, schema in expect["properties"].items():
        meaning, _, other = schema["description"].partition(" Without `payment`: ")
        kind = type_name(schema)
        meaning = meaning if kind == "any value" else f"{meaning} Type: {kind}."
        cells = ("", meaning) if key in expect["then"]["properties"] else (meaning, other)
        rows.append((f"`{key}`", *cells))
    return table(("key", "with `payment`", "without `payment`"), rows)


def _part(section: str, key: str) -> dict[str, Any]:
    part: dict[str, Any] = _RULES[section]["properties"][key]
    return part


TABLES: dict[tuple[str, str], Callable[[], str]] = {
    (_PAGE, "top level"): top_level_table,
    (_PAGE, "closed lists"): words_table,
    (_PAGE, "rules"): rules_table,
    (_PAGE, "payment conditions"): payment_conditions_table,
    (_PAGE, "outcome steps"): _keys(_part("outcomes", "then")["anyOf"][1]["items"]),
    (_PAGE, "expiry"): _keys(_RULES["expiry"], without=("when", "times")),
    (_PAGE, "redirects"): _keys(_part("checkout", "then")),
    (_PAGE, "fault conditions"): _keys(_part("faults", "when")),
    (_PAGE, "fault effects"): _keys(_part("faults", "then")),
    (_PAGE, "event conditions"): _keys(_part("webhooks", "when")),
    (_PAGE, "webhook effects"): _keys(_part("webhooks", "then")),
    (_PAGE, "steps"): steps_table,
    (_PAGE, "step keys"): step_keys_table,
    (_PAGE, "expectations"): expectations_table,
}
