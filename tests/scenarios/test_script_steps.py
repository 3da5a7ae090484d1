"""The values of each step of a script; `format.txt` has their mistakes."""

import json
from typing import Any

import pytest
import yaml

from emulator.domain.webhooks import EVENT_TYPES_IN_ORDER
from emulator.scenarios.conditions import CREATE_MEMBERS, PAYMENT_FIELDS
from emulator.scenarios.loader import parse_scenario
from emulator.scenarios.scenario_file import step_json
from emulator.scenarios.script import RESPONSE_CHECKS
from emulator.scenarios.script_steps import LIST
from emulator.scenarios.values import Create, Expect, Place, Step
from emulator.server.api import parameters
from emulator.server.engine.state.wire import payment_json
from tests.domain.sample_payments import sample_payment
from tests.tables import rows

HEAD = "version: 1\nname: case\nscript:\n  - create: {as: order}\n  - create: {as: other}\n"
HERE = Place(line=6, column=5)


def step_of(text: str) -> Step:
    return parse_scenario(f"{HEAD}  - {text}\n", "case.yaml").script[-1]


def checked(text: str) -> dict[str, Any]:
    """The expected values of a step, by key."""
    step = step_of(f"expect: {text}")
    assert isinstance(step, Expect)
    return {check.key: check.expected for check in step.checks}


NAME = f"a{'b-_9' * 15}"
# Steps in their shortest forms, with their keys in order, and other forms of them.
STEPS = {shortest: others for shortest, *others in rows(__file__, "steps")}
STEPS[f"create: {{as: {NAME}}}"] = []


@pytest.mark.parametrize("shortest", STEPS)
def test_a_step_is_written_in_its_shortest_form_with_its_keys_in_order(shortest: str) -> None:
    expected = json.dumps(yaml.safe_load(shortest))
    for text in (shortest, *STEPS[shortest]):
        assert json.dumps(step_json(step_of(text))) == expected, text


def test_create_and_list_know_the_fields_of_the_contract() -> None:
    assert tuple(CREATE_MEMBERS) == parameters.CREATE.names
    assert tuple(LIST.keys) == parameters.LIST.names
    assert step_of(f"create: {{{', '.join(f'{key}: x' for key in CREATE_MEMBERS)}}}") == Create(
        place=HERE, members=tuple((key, "x") for key in CREATE_MEMBERS)
    )


# --- expect


def test_expect_knows_the_fields_of_the_contract() -> None:
    assert list(PAYMENT_FIELDS) == list(json.loads(payment_json(sample_payment())))


@pytest.mark.parametrize(
    ("expect", "expected"),
    [
        *rows(__file__, "checks"),
        (
            f"{{events: [{', '.join(EVENT_TYPES_IN_ORDER)}]}}",
            {"events": list(EVENT_TYPES_IN_ORDER)},
        ),
    ],
)
def test_each_key_of_expect_becomes_a_check(expect: str, expected: dict[str, Any]) -> None:
    found = checked(expect)
    assert found == expected
    assert [type(value) for value in found.values()] == [type(value) for value in expected.values()]


@pytest.mark.parametrize(
    "field", [key for key in PAYMENT_FIELDS if key not in ("status", "method")]
)
def test_a_field_of_the_payment_accepts_any_value(field: str) -> None:
    for value in ("null", "5", "x", "{a: []}"):
        assert checked(f"{{payment: order, {field}: {value}}}") == checked(f"{{{field}: {value}}}")


@pytest.mark.parametrize("key", RESPONSE_CHECKS)
def test_a_check_of_the_last_response_needs_no_payment(key: str) -> None:
    values = {"http_status": "200", "code": "x", "param": "x", "retry_after": "1", "payments": "[]"}
    assert list(checked(f"{{{key}: {values.get(key, 'true')}}}")) == [key]
