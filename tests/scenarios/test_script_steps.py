"""What each step of a script says, and each way to say it wrong."""

import json
from typing import Any

import pytest

from emulator.api.parameters import KNOWN as KNOWN_PARAMETERS
from emulator.api.queries import KNOWN as KNOWN_QUERY
from emulator.domain.faults import Fault
from emulator.domain.payment import Payment, Reason, Status
from emulator.domain.payment_methods import BANKS
from emulator.domain.webhooks import EVENT_TYPES_IN_ORDER
from emulator.domain.wire import payment_json
from emulator.scenarios.loader import parse_scenario
from emulator.scenarios.problems import Problem, ScenarioError
from emulator.scenarios.steps import (
    AddFault,
    Advance,
    Answer,
    Cancel,
    Create,
    Expect,
    FieldCheck,
    List,
    Pay,
    Place,
    Retrieve,
    Step,
    Transition,
)
from emulator.scenarios.values import FaultRule
from emulator.scenarios.vocabulary import (
    ANSWER_CHECKS,
    ANSWERS,
    CREATE_MEMBERS,
    EXPECT_KEYS,
    LIST_KEYS,
    PAYMENT_FIELDS,
)

HEAD = "version: 1\nname: case\nscript:\n  - create: {as: order}\n  - create: {as: other}\n"
HERE = Place(line=6, column=5)


def step_of(text: str) -> Step:
    return parse_scenario(f"{HEAD}  - {text}\n", "case.yaml").script[-1]


def problems_of(text: str) -> tuple[Problem, ...]:
    with pytest.raises(ScenarioError) as raised:
        step_of(text)
    return raised.value.problems


def assert_one_problem(text: str, column: int, message: str) -> None:
    (problem,) = problems_of(text)
    assert (problem.line, problem.column) == (6, column), problem
    assert problem.message == message


def checked(text: str) -> dict[str, Any]:
    """What a step expects, by key."""
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
def test_create_sends_what_is_said(
    create: str, name: str | None, members: tuple[tuple[str, Any], ...]
) -> None:
    assert step_of(f"create: {create}") == Create(place=HERE, name=name, members=members)


def test_create_knows_the_members_of_the_contract() -> None:
    assert tuple(CREATE_MEMBERS) == KNOWN_PARAMETERS
    create = step_of(f"create: {{{', '.join(f'{key}: x' for key in KNOWN_PARAMETERS)}}}")
    assert create == Create(place=HERE, members=tuple((key, "x") for key in KNOWN_PARAMETERS))


NAMES = "1 to 64 small letters, digits, - and _, a letter first"


@pytest.mark.parametrize(
    ("create", "column", "message"),
    [
        ("order", 13, "create must be a mapping, not 'order'"),
        ("[as, order]", 13, "create must be a mapping, not a list"),
        ("{amuont: 5}", 14, "create has no key 'amuont'; did you mean 'amount'?"),
        (
            "{zzz: 5}",
            14,
            "create has no key 'zzz'; it can have as, amount, currency, methods, success_url, "
            "cancel_url, metadata, idempotency_key, expires_in and unknown",
        ),
        ("{amount: 1, amount: 2}", 25, "'amount' must be given once in create"),
        ("{as: Order}", 18, f"as must be {NAMES}, not 'Order'"),
        ("{as: 1st}", 18, f"as must be {NAMES}, not '1st'"),
        ("{as: ''}", 18, f"as must be {NAMES}, not ''"),
        (f"{{as: {'a' * 65}}}", 18, f"as must be {NAMES}, not '{'a' * 65}'"),
        ("{as: no}", 18, 'as must be text, not no; put it in quotes: "…"'),
        ("{as: }", 18, "as must be text, not empty"),
        ("{as: [a]}", 18, "as must be text, not a list"),
        ("{unknown: 1}", 23, "unknown must be a mapping, not 1"),
        ("{unknown: {1: 1}}", 24, 'a key of unknown must be text, not 1; put it in quotes: "…"'),
        (
            "{unknown: {amount: 1}}",
            24,
            "'amount' is known to the API, so it belongs beside 'unknown'",
        ),
    ],
)
def test_a_mistake_in_create_names_its_place(create: str, column: int, message: str) -> None:
    assert_one_problem(f"create: {create}", column, message)


def test_retrieve_names_a_payment_or_an_id() -> None:
    assert step_of("retrieve: order") == Retrieve(place=HERE, payment="order")
    assert step_of("retrieve: {payment: order}") == Retrieve(place=HERE, payment="order")
    assert step_of("retrieve: {id: pay_unknown}") == Retrieve(place=HERE, id="pay_unknown")
    assert step_of("retrieve: {id: '../x ?'}") == Retrieve(place=HERE, id="../x ?")


@pytest.mark.parametrize(
    ("retrieve", "column", "message"),
    [
        ("", 14, "retrieve must be the name of a payment, or {id: …}, not empty"),
        ("7", 15, "retrieve must be the name of a payment, or {id: …}, not 7"),
        ("[order]", 15, "retrieve must be the name of a payment, or {id: …}, not a list"),
        ("{}", 15, "retrieve must have 'payment' or 'id'"),
        ("{paymnt: order}", 16, "retrieve has no key 'paymnt'; did you mean 'payment'?"),
        (
            "{payment: order, id: pay_x}",
            36,
            "'id' makes no sense beside 'payment': either says which it is",
        ),
        ("{id: 7}", 20, 'id must be text, not 7; put it in quotes: "…"'),
        ("{id: ''}", 20, "id must not be empty"),
    ],
)
def test_a_mistake_in_retrieve_names_its_place(retrieve: str, column: int, message: str) -> None:
    assert_one_problem(f"retrieve: {retrieve}", column, message)


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
    assert tuple(LIST_KEYS) == KNOWN_QUERY


@pytest.mark.parametrize(
    ("listing", "column", "message"),
    [
        ("all", 11, "list must be a mapping, not 'all'"),
        ("{limt: 1}", 12, "list has no key 'limt'; did you mean 'limit'?"),
        ("{limit: }", 19, 'limit must be text or a number, not empty; an empty text is written ""'),
        ("{limit: [1]}", 19, "limit must be text or a number, not a list"),
        ("{after: }", 19, "after must be text, not empty"),
        ("{after: 7}", 19, 'after must be text, not 7; put it in quotes: "…"'),
    ],
)
def test_a_mistake_in_list_names_its_place(listing: str, column: int, message: str) -> None:
    assert_one_problem(f"list: {listing}", column, message)


# --- what people do


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
def test_pay_finds_out_the_method_that_is_meant(pay: str, expected: dict[str, str]) -> None:
    step = step_of(f"pay: {{payment: order, {pay}}}")
    assert step == Pay(place=HERE, payment="order", **expected)


BANK_NAMES = "walia_test, gelada_test, semien_test or fidel_test"


@pytest.mark.parametrize(
    ("pay", "column", "message"),
    [
        ("order", 10, "pay must be a mapping, not 'order'"),
        (
            "{phone: '0900000001'}",
            10,
            "pay must have 'payment': the name that 'create' gave it",
        ),
        ("{payment: order}", 10, "pay must have 'phone' or 'bank': whose account is to pay"),
        (
            "{payment: order, method: telebirr}",
            10,
            "pay must have 'phone': the number that pays by telebirr",
        ),
        (
            "{payment: order, method: mpesa}",
            10,
            "pay must have 'phone': the number that pays by mpesa",
        ),
        ("{payment: order, method: bank_transfer}", 10, f"pay must have 'bank': {BANK_NAMES}"),
        (
            "{payment: order, phon: '0900000001'}",
            27,
            "pay has no key 'phon'; did you mean 'phone'?",
        ),
        (
            "{payment: order, phone: '123'}",
            34,
            "'123' is not an Ethiopian mobile number, such as 0900000001",
        ),
        (
            "{payment: order, phone: +251900000001}",
            34,
            'phone must be text, not +251900000001; put it in quotes: "…"',
        ),
        (
            "{payment: order, bank: walia_tst}",
            33,
            f"bank must be {BANK_NAMES}, not 'walia_tst'; did you mean 'walia_test'?",
        ),
        (
            "{payment: order, method: Telebirr, phone: '0900000001'}",
            35,
            "method must be a word such as telebirr, mpesa or bank_transfer, not 'Telebirr'; "
            "did you mean 'telebirr'?",
        ),
        (
            "{payment: order, method: telebirr, phone: '0700000001'}",
            52,
            "+251700000001 is a number of mpesa, so it never pays by telebirr",
        ),
        (
            "{payment: order, method: bank_transfer, phone: '0900000001'}",
            57,
            "a bank_transfer has a bank and no phone",
        ),
        (
            "{payment: order, method: mpesa, bank: walia_test}",
            48,
            "mpesa has a phone and no bank",
        ),
        (
            "{payment: order, phone: '0900000001', bank: walia_test}",
            54,
            "no payment has both a phone and a bank",
        ),
    ],
)
def test_a_mistake_in_pay_names_its_place(pay: str, column: int, message: str) -> None:
    assert_one_problem(f"pay: {pay}", column, message)


@pytest.mark.parametrize("bank", BANKS)
def test_every_bank_can_be_paid_by(bank: str) -> None:
    assert step_of(f"pay: {{payment: order, bank: {bank}}}") == Pay(
        place=HERE, payment="order", method="bank_transfer", bank=bank
    )


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_person_gives_one_of_five_answers(answer: str) -> None:
    assert step_of(f"answer: {{payment: order, answer: {answer}}}") == Answer(
        place=HERE, payment="order", answer=answer
    )


ANSWER_WORDS = "approve, wrong_pin, insufficient_balance, cancel or decline"


@pytest.mark.parametrize(
    ("answer", "column", "message"),
    [
        ("approve", 13, "answer must be a mapping, not 'approve'"),
        ("{answer: approve}", 13, "answer must have 'payment': the name that 'create' gave it"),
        ("{payment: order}", 13, f"answer must have 'answer': {ANSWER_WORDS}"),
        (
            "{payment: order, answer: aprove}",
            38,
            f"answer must be {ANSWER_WORDS}, not 'aprove'; did you mean 'approve'?",
        ),
        ("{payment: order, answer: yes}", 38, f"answer must be {ANSWER_WORDS}, not yes"),
        (
            "{payment: order, answer: approve, phone: x}",
            47,
            "answer has no key 'phone'; it can have payment and answer",
        ),
    ],
)
def test_a_mistake_in_answer_names_its_place(answer: str, column: int, message: str) -> None:
    assert_one_problem(f"answer: {answer}", column, message)


def test_cancel_names_a_payment() -> None:
    assert step_of("cancel: order") == Cancel(place=HERE, payment="order")
    assert step_of("cancel: {payment: order}") == Cancel(place=HERE, payment="order")


@pytest.mark.parametrize(
    ("cancel", "column", "message"),
    [
        ("", 12, "cancel must be the name of a payment, not empty"),
        ("[order]", 13, "cancel must be the name of a payment, not a list"),
        ("{}", 13, "cancel must have 'payment': the name that 'create' gave it"),
        ("{payment: }", 23, "payment must be text, not empty"),
    ],
)
def test_a_mistake_in_cancel_names_its_place(cancel: str, column: int, message: str) -> None:
    assert_one_problem(f"cancel: {cancel}", column, message)


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.PENDING])
def test_a_transition_leads_to_every_status_but_the_first(status: Status) -> None:
    assert step_of(f"transition: {{payment: order, status: {status}}}") == Transition(
        place=HERE, payment="order", status=status
    )


@pytest.mark.parametrize("reason", Reason)
def test_a_transition_may_have_every_reason(reason: Reason) -> None:
    step = step_of(f"transition: {{payment: order, status: failed, reason: {reason}}}")
    assert step == Transition(place=HERE, payment="order", status=Status.FAILED, reason=reason)


STATUSES = "processing, completed, failed, expired or refunded"


@pytest.mark.parametrize(
    ("transition", "column", "message"),
    [
        ("failed", 17, "transition must be a mapping, not 'failed'"),
        ("{payment: order}", 17, "transition must have 'status': what the payment becomes"),
        (
            "{status: failed}",
            17,
            "transition must have 'payment': the name that 'create' gave it",
        ),
        ("{payment: order, status: pending}", 42, f"status must be {STATUSES}, not 'pending'"),
        (
            "{payment: order, status: refundet}",
            42,
            f"status must be {STATUSES}, not 'refundet'; did you mean 'refunded'?",
        ),
        (
            "{payment: order, status: completed, reason: timeout}",
            61,
            "reason belongs to 'status: failed' alone",
        ),
        (
            "{payment: order, status: failed, reason: }",
            58,
            "reason must be insufficient_balance, user_cancelled, timeout, wrong_pin, "
            "bank_declined, limit_exceeded or provider_error, not empty",
        ),
        (
            "{payment: order, status: completed, unusual: yes}",
            62,
            "unusual must be true or false, not yes",
        ),
        (
            "{payment: order, status: completed, method: 1}",
            61,
            'method must be text, not 1; put it in quotes: "…"',
        ),
    ],
)
def test_a_mistake_in_transition_names_its_place(
    transition: str, column: int, message: str
) -> None:
    assert_one_problem(f"transition: {transition}", column, message)


# --- the clock, and faults


@pytest.mark.parametrize(
    ("advance", "by_ms"),
    [("30s", 30_000), ("0s", 0), ("1.5h", 5_400_000), ("1ms", 1), ("next", None)],
)
def test_the_clock_moves_by_a_duration_or_to_what_is_due(advance: str, by_ms: int | None) -> None:
    assert step_of(f"advance: {advance}") == Advance(place=HERE, by_ms=by_ms)


@pytest.mark.parametrize(
    ("advance", "column", "message"),
    [
        ("", 13, "advance must be a duration such as 30s, or next, not empty"),
        ("30", 14, "advance must be a duration such as 30s, or next, not 30"),
        ("{to: next}", 14, "advance must be a duration such as 30s, or next, not a mapping"),
        ("''", 14, "advance must be a duration such as 30s, or next, not ''"),
        (
            "nxt",
            14,
            "advance must be a duration such as 30s, or next, not 'nxt'; did you mean 'next'?",
        ),
        (
            "30 s",
            14,
            "advance must be a duration: '30 s' is not a number and one of ms, s, m, h, d, "
            "such as 30s",
        ),
        ("4000d", 14, "advance must be a duration: '4000d' is longer than ten years"),
    ],
)
def test_a_mistake_in_advance_names_its_place(advance: str, column: int, message: str) -> None:
    assert_one_problem(f"advance: {advance}", column, message)


def test_a_fault_needs_no_when() -> None:
    assert step_of("fault: {then: {drop: true}}") == AddFault(
        place=HERE, rule=FaultRule(then=Fault(drop=True))
    )


@pytest.mark.parametrize(
    ("fault", "column", "message"),
    [
        ("", 11, "fault must be a mapping, not empty"),
        ("{when: {}}", 12, "fault must have 'then': what goes wrong, such as {status: 500}"),
        ("{then: {status: 200}}", 28, "status must be a whole number from 400 to 599, not 200"),
        ("{whn: {}, then: {drop: true}}", 13, "fault has no key 'whn'; did you mean 'when'?"),
    ],
)
def test_a_mistake_in_fault_names_its_place(fault: str, column: int, message: str) -> None:
    assert_one_problem(f"fault: {fault}", column, message)


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


def test_what_is_expected_of_a_payment_stands_with_its_place() -> None:
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
def test_every_field_of_the_payment_may_be_anything_with_or_without_a_name(field: str) -> None:
    for value in ("null", "5", "x", "{a: []}"):
        assert checked(f"{{payment: order, {field}: {value}}}") == checked(f"{{{field}: {value}}}")


EVENTS = (
    "payment.created, payment.processing, payment.completed, payment.failed, payment.expired "
    "or payment.refunded"
)


@pytest.mark.parametrize(
    ("expect", "column", "message"),
    [
        ("", 12, "expect must be a mapping, not empty"),
        ("failed", 13, "expect must be a mapping, not 'failed'"),
        ("{}", 13, "expect must have something to check, such as 'status'"),
        ("{payment: order}", 13, "expect must have something to check, such as 'status'"),
        ("{stauts: failed}", 14, "expect has no key 'stauts'; did you mean 'status'?"),
        ("{http_stats: 500}", 14, "expect has no key 'http_stats'; did you mean 'http_status'?"),
        ("{status: complted}", 22, None),
        ("{status: }", 22, None),
        ("{reason: bored}", 22, None),
        ("{method: 1}", 22, 'method must be text, not 1; put it in quotes: "…"'),
        (
            "{events: payment.created}",
            22,
            "events must be a list of event types, not 'payment.created'",
        ),
        ("{events: }", 22, "events must be a list of event types, not empty"),
        (
            "{events: [completed]}",
            23,
            f"an entry of events must be {EVENTS}, not 'completed'; "
            "did you mean 'payment.completed'?",
        ),
        ("{forged: [ping]}", 23, f"an entry of forged must be {EVENTS}, not 'ping'"),
        ("{webhooks: [[]]}", 25, f"an entry of webhooks must be {EVENTS}, not a list"),
        ("{http_status: 99}", 27, "http_status must be a whole number from 100 to 599, not 99"),
        ("{http_status: 600}", 27, "http_status must be a whole number from 100 to 599, not 600"),
        ("{http_status: OK}", 27, "http_status must be a whole number from 100 to 599, not 'OK'"),
        ("{code: 400}", 20, 'code must be text, not 400; put it in quotes: "…"'),
        ("{param: [amount]}", 21, "param must be text, not a list"),
        ("{retry_after: -1}", 27, "retry_after must be a whole number from 0 to 86,400, not -1"),
        ("{retry_after: 1s}", 27, "retry_after must be a whole number from 0 to 86,400, not '1s'"),
        ("{replayed: yes}", 24, "replayed must be true or false, not yes"),
        ("{lost: 1}", 20, "lost must be true or false, not 1"),
        ("{has_more: null}", 24, "has_more must be true or false, not empty"),
        (
            "{payments: order}",
            24,
            "payments must be a list of payments, by their names, not 'order'",
        ),
        ("{payments: [7]}", 25, 'a payment must be text, not 7; put it in quotes: "…"'),
        ("{payment: 7, status: failed}", 23, 'payment must be text, not 7; put it in quotes: "…"'),
        ("{payment: order, same_as: [other]}", 39, "same_as must be text, not a list"),
        ("{amount: 0x10}", 22, None),
        ("{metadata: {a: yes}}", 28, None),
        (
            "{same_as: order}",
            14,
            "'same_as' compares with a payment, so it needs 'payment' beside it",
        ),
    ],
)
def test_a_mistake_in_expect_names_its_place(expect: str, column: int, message: str | None) -> None:
    (problem,) = problems_of(f"expect: {expect}")
    assert (problem.line, problem.column) == (6, column), problem
    if message is not None:
        assert problem.message == message


@pytest.mark.parametrize("key", ANSWER_CHECKS)
def test_what_is_of_the_last_answer_is_not_of_a_payment(key: str) -> None:
    values = {"http_status": "200", "code": "x", "param": "x", "retry_after": "1", "payments": "[]"}
    value = values.get(key, "true")
    assert list(checked(f"{{{key}: {value}}}")) == [key]
    assert_one_problem(
        f"expect: {{payment: order, {key}: {value}}}",
        30,
        f"'{key}' is of the last answer, so it cannot stand beside 'payment'",
    )


@pytest.mark.parametrize(
    ("beside", "senseless"), [("", {"same_as"}), ("payment: order, ", set(ANSWER_CHECKS))]
)
def test_an_unknown_key_is_told_what_makes_sense_there(beside: str, senseless: set[str]) -> None:
    (problem,) = problems_of(f"expect: {{{beside}qqqqq: 1}}")
    offered = [key for key in EXPECT_KEYS if key not in senseless]
    assert problem.message == (
        f"expect has no key 'qqqqq'; it can have {', '.join(offered[:-1])} and {offered[-1]}"
    )


def test_every_mistake_of_a_step_is_reported() -> None:
    problems = problems_of("expect: {payment: ordr, stauts: x, http_status: 1, events: [x, y]}")
    assert [problem.column for problem in problems] == [23, 29, 40, 53, 65, 68]
