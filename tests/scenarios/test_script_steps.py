"""The values of each step of a script; `format.txt` has their mistakes."""

import json
from typing import Any

import pytest

from emulator.api.parameters import KNOWN as KNOWN_PARAMETERS
from emulator.api.queries import KNOWN as KNOWN_QUERY
from emulator.domain.payment import Payment
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
    Expect,
    FaultRule,
    FieldCheck,
    List,
    Pay,
    Place,
    Retrieve,
    Step,
)
from tests.scenarios.drawn import request_fault

HEAD = "version: 1\nname: case\nscript:\n  - create: {as: order}\n  - create: {as: other}\n"
HERE = Place(line=6, column=5)


def step_of(text: str) -> Step:
    return parse_scenario(f"{HEAD}  - {text}\n", "case.yaml").script[-1]


def checked(text: str) -> dict[str, Any]:
    """The expected values of a step, by key."""
    step = step_of(f"expect: {text}")
    assert isinstance(step, Expect)
    return {check.key: check.expected for check in step.checks}


# --- create, retrieve, list


@pytest.mark.parametrize(
    ("create", "name", "members"),
    [
        ("", None, ()),
        ("null", None, ()),
        ("{}", None, ()),
        ("{as: a}", "a", ()),
        (f"{{as: a{'b-_9' * 15}}}", f"a{'b-_9' * 15}", ()),
        (
            "{amount: -5, as: third, currency: null}",
            "third",
            (("amount", -5), ("currency", None)),
        ),
        ("{unknown: {}}", None, ()),
        (
            "{unknown: {colour: red, as: 1}, amount: '5'}",
            None,
            (("amount", "5"), ("colour", "red"), ("as", 1)),
        ),
    ],
)
def test_create_sends_its_members(
    create: str, name: str | None, members: tuple[tuple[str, Any], ...]
) -> None:
    assert step_of(f"create: {create}") == Create(place=HERE, name=name, members=members)


def test_create_knows_the_members_of_the_contract() -> None:
    assert tuple(CREATE_MEMBERS) == KNOWN_PARAMETERS
    create = step_of(f"create: {{{', '.join(f'{key}: x' for key in KNOWN_PARAMETERS)}}}")
    assert create == Create(place=HERE, members=tuple((key, "x") for key in KNOWN_PARAMETERS))


def test_retrieve_names_a_payment_or_an_id() -> None:
    assert step_of("retrieve: order") == Retrieve(place=HERE, payment="order")
    assert step_of("retrieve: {payment: order}") == Retrieve(place=HERE, payment="order")
    assert step_of("retrieve: {id: pay_unknown}") == Retrieve(place=HERE, id="pay_unknown")
    assert step_of("retrieve: {id: '../x ?'}") == Retrieve(place=HERE, id="../x ?")


@pytest.mark.parametrize(
    ("listing", "query", "after"),
    [
        ("", (), None),
        ("{}", (), None),
        ("{after: order}", (), "order"),
        (
            "{status: pending, limit: 10, after: order}",
            (("status", "pending"), ("limit", "10")),
            "order",
        ),
        ("{limit: -1}", (("limit", "-1"),), None),
        ("{limit: 0x10}", (("limit", "0x10"),), None),
        ("{limit: 1e3, status: yes}", (("limit", "1e3"), ("status", "yes")), None),
        ("{limit: '', method: \" \"}", (("limit", ""), ("method", " ")), None),
        (
            "{created_gte: 2026-01-01, created_lte: 2026-01-01T00:00:00Z}",
            (("created_gte", "2026-01-01"), ("created_lte", "2026-01-01T00:00:00Z")),
            None,
        ),
    ],
)
def test_list_sends_every_scalar_as_it_is_written(
    listing: str, query: tuple[tuple[str, str], ...], after: str | None
) -> None:
    assert step_of(f"list: {listing}") == List(place=HERE, query=query, after=after)


def test_list_knows_the_parameters_of_the_contract() -> None:
    assert tuple(LIST.keys) == KNOWN_QUERY


# --- the customer


@pytest.mark.parametrize(
    ("pay", "expected"),
    [
        ("phone: '0900 000-001'", {"method": "telebirr", "phone": "+251900000001"}),
        ("phone: '+251700000001'", {"method": "mpesa", "phone": "+251700000001"}),
        ("method: mpesa, phone: '700000001'", {"method": "mpesa", "phone": "+251700000001"}),
        ("bank: walia_test", {"method": "bank_transfer", "bank": "walia_test"}),
        (
            "bank: fidel_test, method: bank_transfer",
            {"method": "bank_transfer", "bank": "fidel_test"},
        ),
        ("method: cbe_birr", {"method": "cbe_birr"}),
        ("method: cbe_birr, phone: '700000001'", {"method": "cbe_birr", "phone": "+251700000001"}),
        ("method: cbe_birr, bank: walia_test", {"method": "cbe_birr", "bank": "walia_test"}),
    ],
)
def test_pay_derives_the_method_from_the_phone_or_the_bank(
    pay: str, expected: dict[str, str]
) -> None:
    step = step_of(f"pay: {{payment: order, {pay}}}")
    assert step == Pay(place=HERE, payment="order", **expected)


def test_cancel_names_a_payment() -> None:
    assert step_of("cancel: order") == Cancel(place=HERE, payment="order")
    assert step_of("cancel: {payment: order}") == Cancel(place=HERE, payment="order")


# --- the clock, and faults


@pytest.mark.parametrize(
    ("advance", "by_ms"),
    [("30s", 30_000), ("0s", 0), ("1.5h", 5_400_000), ("1ms", 1), ("next", None)],
)
def test_the_clock_moves_by_a_duration_or_to_the_next_due_item(
    advance: str, by_ms: int | None
) -> None:
    assert step_of(f"advance: {advance}") == Advance(place=HERE, by_ms=by_ms)


def test_a_fault_needs_no_when() -> None:
    assert step_of("fault: {then: {drop: true}}") == AddFault(
        place=HERE, rule=FaultRule(then=request_fault(drop=True))
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


def test_an_expectation_has_the_positions_of_its_keys() -> None:
    assert step_of("expect: {payment: order, status: failed, reason: timeout}") == Expect(
        place=HERE,
        payment="order",
        checks=(
            FieldCheck(place=Place(line=6, column=30), key="status", expected="failed"),
            FieldCheck(place=Place(line=6, column=46), key="reason", expected="timeout"),
        ),
    )


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
