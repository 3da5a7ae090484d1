"""The values of each step of a script; `format.txt` has their mistakes."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
import yaml

from emulator.domain.payment import Payment
from emulator.domain.webhooks import EVENT_TYPES_IN_ORDER
from emulator.domain.wire import payment_json
from emulator.scenarios.expectations import PAYMENT_FIELDS, RESPONSE_CHECKS
from emulator.scenarios.loader import parse_scenario
from emulator.scenarios.scenario_file import step_json
from emulator.scenarios.script_steps import CREATE_MEMBERS, LIST
from emulator.scenarios.values import Create, Expect, Place, Step
from emulator.server.api.parameters import KNOWN as KNOWN_PARAMETERS
from emulator.server.api.queries import KNOWN as KNOWN_QUERY

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
STEPS: dict[str, Sequence[str]] = {
    "create: {}": ("create: ", "create: null", "create: {unknown: {}}"),
    "create: {as: a}": (),
    f"create: {{as: {NAME}}}": (),
    "create: {as: third, amount: -5, currency: null}": [
        "create: {amount: -5, as: third, currency: null}"
    ],
    "create: {amount: '5', unknown: {colour: red, as: 1}}": [
        "create: {unknown: {colour: red, as: 1}, amount: '5'}"
    ],
    "retrieve: order": ["retrieve: {payment: order}"],
    "retrieve: {id: pay_unknown}": (),
    "retrieve: {id: '../x ?'}": (),
    # A list sends every scalar as it is written.
    "list: {}": ["list: "],
    "list: {after: order}": (),
    "list: {status: pending, limit: '10', after: order}": [
        "list: {status: pending, limit: 10, after: order}"
    ],
    "list: {limit: '-1'}": ["list: {limit: -1}"],
    "list: {limit: '0x10'}": ["list: {limit: 0x10}"],
    "list: {limit: '1e3', status: 'yes'}": ["list: {limit: 1e3, status: yes}"],
    "list: {limit: '', method: \" \"}": (),
    "list: {created_gte: '2026-01-01', created_lte: '2026-01-01T00:00:00Z'}": [
        "list: {created_gte: 2026-01-01, created_lte: 2026-01-01T00:00:00Z}"
    ],
    # The method follows from the phone or the bank.
    "pay: {payment: order, method: telebirr, phone: '+251900000001'}": [
        "pay: {payment: order, phone: '0900 000-001'}"
    ],
    "pay: {payment: order, method: mpesa, phone: '+251700000001'}": (
        "pay: {payment: order, phone: '+251700000001'}",
        "pay: {payment: order, method: mpesa, phone: '700000001'}",
    ),
    "pay: {payment: order, method: bank_transfer, bank: walia_test}": [
        "pay: {payment: order, bank: walia_test}"
    ],
    "pay: {payment: order, method: bank_transfer, bank: fidel_test}": [
        "pay: {payment: order, bank: fidel_test, method: bank_transfer}"
    ],
    "pay: {payment: order, method: cbe_birr}": (),
    "pay: {payment: order, method: cbe_birr, phone: '+251700000001'}": [
        "pay: {payment: order, method: cbe_birr, phone: '700000001'}"
    ],
    "pay: {payment: order, method: cbe_birr, bank: walia_test}": (),
    "answer: {payment: order, answer: approve}": ["answer: {answer: approve, payment: order}"],
    "cancel: order": ["cancel: {payment: order}"],
    "transition: {payment: order, status: failed, method: mpesa, reason: timeout}": [
        "transition: {reason: timeout, method: mpesa, status: failed, payment: order}"
    ],
    "transition: {payment: order, status: completed, unusual: true}": [
        "transition: {unusual: true, status: completed, payment: order}"
    ],
    "advance: 30s": (),
    "advance: 0s": ["advance: 0ms"],
    "advance: 90m": ["advance: 1.5h"],
    "advance: 1ms": (),
    "advance: next": (),
    "fault: {when: {}, then: {drop: true}, times: 1}": ["fault: {times: 1, then: {drop: true}}"],
    "expect: {payment: order, reason: null}": ["expect: {reason: null, payment: order}"],
    "repeat: {times: 2, steps: [{cancel: order}]}": [
        "repeat: {steps: [{cancel: order}], times: 2}"
    ],
}


@pytest.mark.parametrize("shortest", STEPS)
def test_a_step_is_written_in_its_shortest_form_with_its_keys_in_order(shortest: str) -> None:
    expected = json.dumps(yaml.safe_load(shortest))
    for text in (shortest, *STEPS[shortest]):
        assert json.dumps(step_json(step_of(text))) == expected, text


def test_create_and_list_know_the_fields_of_the_contract() -> None:
    assert tuple(CREATE_MEMBERS) == KNOWN_PARAMETERS
    assert tuple(LIST.keys) == KNOWN_QUERY
    assert step_of(f"create: {{{', '.join(f'{key}: x' for key in KNOWN_PARAMETERS)}}}") == Create(
        place=HERE, members=tuple((key, "x") for key in KNOWN_PARAMETERS)
    )


# --- expect


PAYMENT = Payment(
    position=1,
    id="pay_1",
    amount_minor=100,
    methods=("mpesa",),
    terms_json='{"checkout_url":"","success_url":"","cancel_url":"","metadata":{}}',
    created_at=0,
    expires_at=1,
)


def test_expect_knows_the_fields_of_the_contract() -> None:
    assert list(PAYMENT_FIELDS) == list(json.loads(payment_json(PAYMENT)))


@pytest.mark.parametrize(
    ("expect", "expected"),
    [
        ("{payment: order, status: pending}", {"status": "pending"}),
        ("{payment: order, reason: null}", {"reason": None}),
        ("{payment: order, method: }", {"method": None}),
        ("{payment: order, method: mpesa}", {"method": "mpesa"}),
        ("{payment: order, events: []}", {"events": []}),
        (
            "{payment: order, webhooks: [payment.created], forged: [payment.failed]}",
            {"webhooks": ["payment.created"], "forged": ["payment.failed"]},
        ),
        ("{payment: order, same_as: other}", {"same_as": "other"}),
        (
            "{payment: order, id: pay_1, amount: 100.5, metadata: {a: [1]}, completed_at: null}",
            {"id": "pay_1", "amount": 100.5, "metadata": {"a": [1]}, "completed_at": None},
        ),
        ("{http_status: 100, status: failed}", {"http_status": 100, "status": "failed"}),
        (
            "{http_status: 599, code: null, param: }",
            {"http_status": 599, "code": None, "param": None},
        ),
        ("{code: invalid_amount, param: amount}", {"code": "invalid_amount", "param": "amount"}),
        ("{retry_after: 0}", {"retry_after": 0}),
        ("{retry_after: 86400}", {"retry_after": 86_400}),
        ("{retry_after: null}", {"retry_after": None}),
        (
            "{replayed: true, lost: false, has_more: true}",
            {"replayed": True, "lost": False, "has_more": True},
        ),
        ("{payments: []}", {"payments": []}),
        ("{payments: [other, order, other]}", {"payments": ["other", "order", "other"]}),
        (
            f"{{events: [{', '.join(EVENT_TYPES_IN_ORDER)}]}}",
            {"events": list(EVENT_TYPES_IN_ORDER)},
        ),
        ("{webhooks: [], forged: []}", {"webhooks": [], "forged": []}),
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
