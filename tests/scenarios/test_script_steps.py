"""The values of each step of a script; `format.txt` has their mistakes."""

import json
from typing import Any

import pytest

from emulator.api.parameters import KNOWN as KNOWN_PARAMETERS
from emulator.api.queries import KNOWN as KNOWN_QUERY
from emulator.domain.payment import Payment, Reason, Status
from emulator.domain.webhooks import EVENT_TYPES_IN_ORDER
from emulator.domain.wire import payment_json
from emulator.scenarios.expectations import PAYMENT_FIELDS, RESPONSE_CHECKS
from emulator.scenarios.loader import parse_scenario
from emulator.scenarios.script_steps import CREATE_MEMBERS, LIST
from emulator.scenarios.values import (
    AddFault,
    Advance,
    Cancel,
    Create,
    CustomerAnswer,
    Expect,
    FaultRule,
    FaultWhen,
    List,
    Pay,
    Place,
    Retrieve,
    Step,
    Transition,
)
from tests.scenarios.sample_faults import request_fault

HEAD = "version: 1\nname: case\nscript:\n  - create: {as: order}\n  - create: {as: other}\n"
HERE = Place(line=6, column=5)


def step_of(text: str) -> Step:
    return parse_scenario(f"{HEAD}  - {text}\n", "case.yaml").script[-1]


def checked(text: str) -> dict[str, Any]:
    """The expected values of a step, by key."""
    step = step_of(f"expect: {text}")
    assert isinstance(step, Expect)
    return {check.key: check.expected for check in step.checks}


def create(name: str | None = None, *members: tuple[str, Any]) -> Create:
    return Create(place=HERE, name=name, members=members)


def listing(*query: tuple[str, str], after: str | None = None) -> List:
    return List(place=HERE, query=query, after=after)


def pay(**fields: str) -> Pay:
    return Pay(place=HERE, payment="order", **fields)


STEPS: dict[str, Step] = {
    **dict.fromkeys(("create: ", "create: null", "create: {}"), create()),
    "create: {as: a}": create("a"),
    f"create: {{as: a{'b-_9' * 15}}}": create(f"a{'b-_9' * 15}"),
    "create: {amount: -5, as: third, currency: null}": create(
        "third", ("amount", -5), ("currency", None)
    ),
    "create: {unknown: {}}": create(),
    "create: {unknown: {colour: red, as: 1}, amount: '5'}": create(
        None, ("amount", "5"), ("colour", "red"), ("as", 1)
    ),
    **dict.fromkeys(
        ("retrieve: order", "retrieve: {payment: order}"), Retrieve(place=HERE, payment="order")
    ),
    "retrieve: {id: pay_unknown}": Retrieve(place=HERE, id="pay_unknown"),
    "retrieve: {id: '../x ?'}": Retrieve(place=HERE, id="../x ?"),
    **dict.fromkeys(("list: ", "list: {}"), listing()),
    "list: {after: order}": listing(after="order"),
    "list: {status: pending, limit: 10, after: order}": listing(
        ("status", "pending"), ("limit", "10"), after="order"
    ),
    # A list sends every scalar as it is written.
    "list: {limit: -1}": listing(("limit", "-1")),
    "list: {limit: 0x10}": listing(("limit", "0x10")),
    "list: {limit: 1e3, status: yes}": listing(("limit", "1e3"), ("status", "yes")),
    "list: {limit: '', method: \" \"}": listing(("limit", ""), ("method", " ")),
    "list: {created_gte: 2026-01-01, created_lte: 2026-01-01T00:00:00Z}": listing(
        ("created_gte", "2026-01-01"), ("created_lte", "2026-01-01T00:00:00Z")
    ),
    # The method follows from the phone or the bank.
    "pay: {payment: order, phone: '0900 000-001'}": pay(method="telebirr", phone="+251900000001"),
    **dict.fromkeys(
        (
            "pay: {payment: order, phone: '+251700000001'}",
            "pay: {payment: order, method: mpesa, phone: '700000001'}",
        ),
        pay(method="mpesa", phone="+251700000001"),
    ),
    "pay: {payment: order, bank: walia_test}": pay(method="bank_transfer", bank="walia_test"),
    "pay: {payment: order, bank: fidel_test, method: bank_transfer}": pay(
        method="bank_transfer", bank="fidel_test"
    ),
    "pay: {payment: order, method: cbe_birr}": pay(method="cbe_birr"),
    "pay: {payment: order, method: cbe_birr, phone: '700000001'}": pay(
        method="cbe_birr", phone="+251700000001"
    ),
    "pay: {payment: order, method: cbe_birr, bank: walia_test}": pay(
        method="cbe_birr", bank="walia_test"
    ),
    "answer: {payment: order, answer: wrong_pin}": CustomerAnswer(
        place=HERE, payment="order", answer="wrong_pin"
    ),
    **dict.fromkeys(
        ("cancel: order", "cancel: {payment: order}"), Cancel(place=HERE, payment="order")
    ),
    "transition: {payment: order, status: failed, method: mpesa, reason: timeout, unusual: true}": (
        Transition(
            place=HERE,
            payment="order",
            status=Status.FAILED,
            method="mpesa",
            reason=Reason.TIMEOUT,
            unusual=True,
        )
    ),
    "advance: 30s": Advance(place=HERE, by_ms=30_000),
    "advance: 0s": Advance(place=HERE, by_ms=0),
    "advance: 1.5h": Advance(place=HERE, by_ms=5_400_000),
    "advance: 1ms": Advance(place=HERE, by_ms=1),
    "advance: next": Advance(place=HERE, by_ms=None),
    "fault: {then: {drop: true}}": AddFault(
        place=HERE, rule=FaultRule(then=request_fault(drop=True))
    ),
    "fault: {when: {nth: 2}, then: {drop: true}, times: 1}": AddFault(
        place=HERE, rule=FaultRule(when=FaultWhen(nth=2), then=request_fault(drop=True), times=1)
    ),
}


@pytest.mark.parametrize(("text", "step"), STEPS.items(), ids=STEPS)
def test_a_step_becomes_its_value(text: str, step: Step) -> None:
    assert step_of(text) == step


def test_create_and_list_know_the_fields_of_the_contract() -> None:
    assert tuple(CREATE_MEMBERS) == KNOWN_PARAMETERS
    assert tuple(LIST.keys) == KNOWN_QUERY
    whole = step_of(f"create: {{{', '.join(f'{key}: x' for key in KNOWN_PARAMETERS)}}}")
    assert whole == create(None, *((key, "x") for key in KNOWN_PARAMETERS))


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
