"""The tables of docs/reference/scenario-format.md, generated from the JSON Schema of scenarios."""

from collections.abc import Callable, Collection
from typing import Any

import yaml

from emulator.scenarios.scenario_file import scenario_schema
from emulator.scenarios.script import RESPONSE_CHECKS
from tests.docs.generated.scenario_types import WORDS, joined, key_rows, key_table, type_name
from tests.docs.markdown import table

_PAGE = "docs/reference/scenario-format.md"
_SCHEMA = scenario_schema()
_RULES = {
    key: _SCHEMA["properties"][key]["items"]
    for key in ("outcomes", "expiry", "checkout", "faults", "webhooks")
}
_STEPS = _SCHEMA["$defs"]["script_step"]["properties"]
# The page says these once.
_UNCHECKED = " The value is sent without a check."
_PARAMETERS = "The parameters of the call, which are sent without a check."
_OF_RULES = ("from", "until")


def _keys(mapping: dict[str, Any], without: Collection[str] = ()) -> Callable[[], str]:
    rows = [row for row in key_rows(mapping) if row[0].strip("`") not in without]
    return lambda: key_table(rows)


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
    return key_table(rows)


def rules_table() -> str:
    (when, _, *rest), _, times = key_rows(_RULES["faults"])
    return key_table([(when, "mapping", *rest), times])


def payment_conditions_table() -> str:
    rows = [(key, kind, meaning) for key, kind, _, meaning in key_rows(_part("outcomes", "when"))]
    return table(("key", "type", "matches"), rows)


def steps_table() -> str:
    rows = [
        (f"`{name}`", f"`{_example(name)}`", step["description"]) for name, step in _STEPS.items()
    ]
    return table(("step", "example", "meaning"), rows)


def _example(name: str) -> str:
    [value] = _STEPS[name]["examples"]
    text = yaml.safe_dump({name: value}, default_flow_style=True, sort_keys=False, width=1_000)
    return text.strip()[1:-1]


def step_keys_table() -> str:
    described = {key: _mapping_of(_STEPS[key]) for key in _STEPS if key not in ("fault", "expect")}
    rows = [row for key, keys in described.items() if keys for row in key_rows(keys, f"{key}.")]
    keys = [row for row in rows if not row[0].endswith(".payment`")]
    # The parameters of the API, which are sent as they are, are one row for each step.
    sent = [row for row in keys if row[-1].endswith(_UNCHECKED)]
    steps = dict.fromkeys(row[0].partition(".")[0] for row in sent)
    parameters = {
        step: ", ".join(row[0] for row in sent if row[0].startswith(f"{step}.")) for step in steps
    }
    return key_table(
        [
            *((names, "any value", "none", _PARAMETERS) for names in parameters.values()),
            *(row for row in keys if row not in sent),
        ]
    )


def expectations_table() -> str:
    """The members of a payment are one row."""
    expect = _STEPS["expect"]
    payment: list[str] = []
    rows = []
    for key, schema in expect["properties"].items():
        meaning, _, other = schema["description"].partition(" Without `payment`: ")
        if other == "This member of the last response.":
            payment.append(f"`{key}`")
            continue
        kind = type_name(schema)
        meaning = meaning if kind == "any value" else f"{meaning} Type: {kind}."
        cells = ("", meaning) if key in RESPONSE_CHECKS else (meaning, other)
        rows.append((f"`{key}`", *cells))
    members = (", ".join(payment), "This member of the payment.", "Of the last response.")
    return table(("key", "with `payment`", "without `payment`"), [rows[0], members, *rows[1:]])


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
    (_PAGE, "fault conditions"): _keys(_part("faults", "when"), without=_OF_RULES),
    (_PAGE, "fault effects"): _keys(_part("faults", "then")),
    (_PAGE, "event conditions"): _keys(_part("webhooks", "when")),
    (_PAGE, "webhook effects"): _keys(_part("webhooks", "then")),
    (_PAGE, "steps"): steps_table,
    (_PAGE, "step keys"): step_keys_table,
    (_PAGE, "expectations"): expectations_table,
}
