"""Payments, events and effects as JSON (contract, section 2.1)."""

import json
from typing import Any, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.domain.accounts import Mode
from emulator.domain.payment import (
    EVENT_TYPES,
    PAYMENT_MEMBERS,
    Event,
    OrderTerms,
    Payment,
    Reason,
    Status,
    Terms,
)
from emulator.domain.transitions import Change, Timer, TimerKind
from emulator.server.engine.state.wire import effect_json, event_json, payment_json
from tests.domain.sample_payments import sample_payment
from tests.world import METHODS, START_MS


@st.composite
def payments(draw: st.DrawFn) -> tuple[Payment, dict[str, Any]]:
    terms = {
        "checkout_url": "http://127.0.0.1:8081/c/x",
        **{name: draw(st.from_type(kind)) for name, kind in get_type_hints(OrderTerms).items()},
    }
    payment = sample_payment(
        draw(st.sampled_from(Status)),
        amount_minor=draw(st.integers(100, 2**53 - 1)),
        terms=Terms(**terms),
        method=draw(st.none() | st.sampled_from(METHODS)),
        reason=draw(st.none() | st.sampled_from(Reason)),
        completed_at=draw(st.none() | st.just(START_MS + 1)),
        phone="+251900000001",
        bank="walia_test",
    )
    return payment, terms


@given(payments())
def test_a_payment_is_encoded_as_in_the_contract(made: tuple[Payment, dict[str, Any]]) -> None:
    payment, terms = made
    completed_at = None if payment.completed_at is None else "2026-01-01T00:00:00.001Z"
    assert list(json.loads(payment_json(payment)).items()) == [
        ("id", "pay_x"),
        ("object", "payment"),
        ("amount", payment.amount_minor),
        ("currency", "ETB"),
        ("status", payment.status.value),
        ("method", payment.method),
        *terms.items(),
        ("created_at", "2026-01-01T00:00:00.000Z"),
        ("expires_at", "2026-01-01T00:30:00.000Z"),
        ("completed_at", completed_at),
    ]
    assert [*json.loads(payment_json(payment))] == [*PAYMENT_MEMBERS]


@pytest.mark.clause("6.3")
@given(payments(), st.sampled_from(Mode))
def test_an_event_has_the_payment_at_that_time(
    made: tuple[Payment, dict[str, Any]], mode: Mode
) -> None:
    payment, _ = made
    event = Event(
        position=1,
        payment=1,
        at=START_MS + 7,
        type=EVENT_TYPES[payment.status],
        status=payment.status,
        method=payment.method,
        reason=payment.reason,
        completed_at=payment.completed_at,
    )
    written = json.loads(event_json(event, payment, event_id="evt_x", mode=mode))
    assert list(written.items()) == [
        ("id", "evt_x"),
        ("object", "event"),
        ("type", EVENT_TYPES[payment.status]),
        ("timestamp", "2026-01-01T00:00:00.007Z"),
        ("mode", mode.value),
        ("data", json.loads(payment_json(payment))),
    ]


@pytest.mark.clause("6.2")
def test_there_is_a_type_of_event_for_each_status() -> None:
    assert [EVENT_TYPES[status] for status in Status] == [
        "payment.created",
        "payment.processing",
        "payment.completed",
        "payment.failed",
        "payment.expired",
        "payment.refunded",
    ]


@pytest.mark.parametrize(
    ("change", "more"),
    [
        (Change(to=Status.EXPIRED), {"type": "payment.expired", "status": "expired"}),
        (
            Change(to=Status.FAILED, reason=Reason.TIMEOUT),
            {"type": "payment.failed", "status": "failed", "reason": "timeout"},
        ),
    ],
)
def test_an_effect_names_the_change_and_the_payment(change: Change, more: dict[str, str]) -> None:
    timer = Timer(START_MS, 1, 1, TimerKind.EXPIRY, change)
    assert json.loads(effect_json(timer, sample_payment().id)) == {
        "at": "2026-01-01T00:00:00.000Z",
        "payment": "pay_x",
        "kind": "expiry",
        **more,
    }
