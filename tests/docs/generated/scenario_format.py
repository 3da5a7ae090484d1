"""The tables of docs/reference/scenario-format.md, generated from the JSON Schema of scenarios."""

from collections.abc import Callable, Collection
from typing import Any

import yaml

from emulator.domain.payment_methods import DEFAULT_METHODS
from emulator.scenarios.scenario_file import scenario_schema
from emulator.scenarios.script import RESPONSE_CHECKS
from emulator.server.control.app import documents
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
_SHORT_FORM = " A name alone is the short form of `payment`."
# Another page, to which the type is a link, says this.
_ANSWERS_OF = " `wrong_pin` is only for phones, `decline` only for banks."
_OF_RULES = ("from", "until")
_LISTED_ELSEWHERE = {
    "method": "a method of [`--methods`](options.md)",
    "bank": "a [bank](../guides/checkout-page.md#banks)",
}
_CONTROL_PAYMENT = "/_emulator/payments/{payment_id}"


def _keys(mapping: dict[str, Any], without: Collection[str] = ()) -> Callable[[], str]:
    rows = [row for row in key_rows(mapping) if row[0].strip("`") not in without]
    return lambda: key_table(rows)


def _mapping_of(step: dict[str, Any]) -> dict[str, Any]:
    """The form of a step that has keys; empty for a step that has none."""
    options = [step, *step.get("anyOf", ())]
    return next((option for option in options if "properties" in option), {})


def words_table() -> str:
    """The closed lists; a list that another page has is a link."""
    accepted = {name: joined(map("`{}`".format, words)) for name, words in WORDS.items()}
    return table(("type", "accepted"), [*{**accepted, **_LISTED_ELSEWHERE}.items()])


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
    rows = [(f"`{name}`", f"`{_example(name)}`", _step_meaning(name)) for name in _STEPS]
    return table(("step", "example", "meaning"), rows)


def _step_meaning(name: str) -> str:
    """A step that makes a call of the control API is a link to the call."""
    if f"{_CONTROL_PAYMENT}/{name}" in documents(DEFAULT_METHODS)["control"]("")["paths"]:
        return f"The [call](control-api.md#payments) `{name}`."
    meaning: str = _STEPS[name]["description"]
    return meaning.replace(_SHORT_FORM, "")


def _example(name: str) -> str:
    [value] = _STEPS[name]["examples"]
    text = yaml.safe_dump({name: value}, default_flow_style=True, sort_keys=False, width=1_000)
    return text.strip()[1:-1]


def step_keys_table() -> str:
    described = {key: _mapping_of(_STEPS[key]) for key in _STEPS if key not in ("fault", "expect")}
    rows = [row for key, keys in described.items() if keys for row in key_rows(keys, f"{key}.")]
    keys = [
        (*row[:-1], row[-1].replace(_ANSWERS_OF, ""))
        for row in rows
        if not row[0].endswith(".payment`")
    ]
    # The parameters of the API, which are sent as they are, are one row.
    sent = [row for row in keys if row[-1].endswith(_UNCHECKED)]
    # So are the keys that an outcome has.
    of_outcomes = [f"`transition.{key}`" for key in _OUTCOME_STEP["properties"]]
    shared = [row for row in keys if row[0] in of_outcomes]
    return key_table(
        [
            (_names(sent), "any value", "none", _PARAMETERS),
            *(row for row in keys if row not in (*sent, *shared)),
            (_names(shared), "as in [outcomes](#outcomes)", "none", "The change of the status."),
        ]
    )


def _names(rows: list[tuple[str, str, str, str]]) -> str:
    return ", ".join(name for name, *_ in rows)


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


_OUTCOME_STEP = _part("outcomes", "then")["anyOf"][1]["items"]
TABLES: dict[tuple[str, str], Callable[[], str]] = {
    (_PAGE, "top level"): top_level_table,
    (_PAGE, "closed lists"): words_table,
    (_PAGE, "rules"): rules_table,
    (_PAGE, "payment conditions"): payment_conditions_table,
    (_PAGE, "outcome steps"): _keys(_OUTCOME_STEP),
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
