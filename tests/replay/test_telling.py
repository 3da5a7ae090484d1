"""Steps in one line each, much as they stand in their files."""

import pytest

from emulator.replay.step_text import name_of, step_text
from tests.replay.made import step


@pytest.mark.parametrize(
    "script",
    [
        "create: {as: third, amount: 15000, methods: [telebirr, mpesa]}",
        'create: {amount: "15000", currency: null, metadata: {"on": "1"}}',
        "retrieve: order",
        "retrieve: {id: pay_nobody}",
        "list: {limit: 2, status: pending, after: order}",
        'pay: {payment: order, method: telebirr, phone: "+251900000001"}',
        "pay: {payment: order, method: bank_transfer, bank: walia_test}",
        "answer: {payment: order, answer: approve}",
        "cancel: order",
        "transition: {payment: order, status: failed, reason: timeout, unusual: true}",
        "advance: 30s",
        "advance: next",
        "fault: {when: {request: create_payment, nth: 2}, then: {drop: true, point: after_commit}}",
        "expect: {payment: order, status: failed, events: [payment.created], reason: null}",
        'expect: {success_url: https://shop.example/ok?a=1, code: "no"}',
    ],
)
def test_a_step_is_told_as_one_would_write_it(script: str) -> None:
    assert step_text(step(script)) == script


def test_of_a_repeat_its_steps_are_told_on_their_own() -> None:
    repeat = step("repeat: {times: 3, steps: [{retrieve: order}]}")
    assert step_text(repeat) == "repeat: {times: 3}"
    assert name_of(repeat) == "repeat"


def test_a_long_step_is_told_in_full() -> None:
    text = f"create: {{metadata: {{note: {'a' * 200}}}}}"
    assert step_text(step(text)) == text
