"""The states of payments, compared with a small model (contract, section 3; design 5)."""

import asyncio
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import httpx
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from emulator.domain.instants import format_instant
from tests.depth import usually
from tests.world import METHODS, START_MS, World, headers, order, world

HANDSET_MS = 30_000
STATUSES = ("pending", "processing", "completed", "failed", "expired", "refunded")
REASONS = (
    *("insufficient_balance", "user_cancelled", "timeout", "wrong_pin", "bank_declined"),
    *("limit_exceeded", "provider_error"),
)
EDGES = {
    *(("pending", "processing"), ("pending", "expired"), ("processing", "completed")),
    *(("processing", "failed"), ("completed", "refunded")),
}
UNUSUAL_EDGES = {("failed", "completed"), ("expired", "completed")}
ASKS = "handset"

# What the shipped scenarios say happens after a submit: when, status, reason.
Outcome = tuple[int, str, str | None] | str
PAYERS: dict[tuple[str, str], Outcome] = {
    ("telebirr", "0900000001"): (0, "completed", None),
    ("telebirr", "+251 90 000 0002"): (0, "failed", "insufficient_balance"),
    ("telebirr", "251900000003"): (30_000, "failed", "timeout"),
    ("telebirr", "0900-000-004"): (0, "failed", "user_cancelled"),
    ("telebirr", "0911111111"): ASKS,
    ("mpesa", "0700000001"): (0, "completed", None),
    ("mpesa", "0700000002"): (0, "failed", "insufficient_balance"),
    ("mpesa", "0700000003"): (30_000, "failed", "timeout"),
    ("mpesa", "0700000004"): (0, "failed", "user_cancelled"),
    ("mpesa", "0711111111"): ASKS,
    ("bank_transfer", "walia_test"): ASKS,
    ("bank_transfer", "gelada_test"): ASKS,
    ("bank_transfer", "fidel_test"): (0, "failed", "provider_error"),
}
ANSWERS: dict[str, tuple[str, str | None]] = {
    "approve": ("completed", None),
    "wrong_pin": ("failed", "wrong_pin"),
    "insufficient_balance": ("failed", "insufficient_balance"),
    "cancel": ("failed", "user_cancelled"),
    "decline": ("failed", "bank_declined"),
}
SPANS_MS = st.sampled_from([0, 1, 29_999, 30_000, 59_999, 60_000, 1_800_000, 86_400_000]) | (
    st.integers(0, 2_000_000)
)


class Due(NamedTuple):
    """Something that will happen by itself."""

    at: int
    sequence: int
    status: str
    reason: str | None
    is_handset: bool


@dataclass
class Modelled:
    """A payment, and what is going to happen to it."""

    id: str
    methods: list[str]
    created_at: int
    expires_at: int
    status: str = "pending"
    method: str | None = None
    reason: str | None = None
    completed_at: int | None = None
    due: list[Due] = field(default_factory=list)

    def shown(self) -> dict[str, str | None]:
        """The members of the payment object that can change or depend on the clock."""
        return {
            "id": self.id,
            "status": self.status,
            "method": self.method,
            "created_at": format_instant(self.created_at),
            "expires_at": format_instant(self.expires_at),
            "completed_at": None
            if self.completed_at is None
            else format_instant(self.completed_at),
        }


class Model:
    """The states of payments by the design, in memory."""

    def __init__(self) -> None:
        self.now = START_MS
        self.payments: list[Modelled] = []
        self.events: list[tuple[str, str, int]] = []
        self.sequence = 0

    def create(self, payment_id: str, methods: list[str], expires_in_s: int) -> Modelled:
        payment = Modelled(payment_id, methods, self.now, self.now + expires_in_s * 1000)
        self.payments.append(payment)
        self.events.append((payment_id, "created", self.now))
        self.schedule(payment, payment.expires_at, "expired", None)
        return payment

    def schedule(
        self, payment: Modelled, at: int, status: str, reason: str | None, is_handset: bool = False
    ) -> None:
        self.sequence += 1
        payment.due.append(Due(at, self.sequence, status, reason, is_handset))

    def change(
        self, payment: Modelled, status: str, reason: str | None = None, at: int | None = None
    ) -> None:
        at = self.now if at is None else at
        payment.status, payment.reason = status, reason
        if status == "completed":
            payment.completed_at = at
        self.events.append((payment.id, status, at))

    def submit(self, payment: Modelled, method: str, outcome: Outcome) -> None:
        payment.due.clear()
        payment.method = method
        self.change(payment, "processing")
        if isinstance(outcome, tuple):
            after_ms, status, reason = outcome
            if after_ms:
                self.schedule(payment, self.now + after_ms, status, reason)
            else:
                self.change(payment, status, reason)
            return
        at = self.now + HANDSET_MS
        if method == "bank_transfer":
            at = max(at, payment.expires_at)
        self.schedule(payment, at, "failed", "timeout", is_handset=True)

    def advance(self, ms: int) -> list[tuple[str, str, int]]:
        """Everything due, in order of due time and then of creation; what happened."""
        until, before = self.now + ms, len(self.events)
        while due := [
            (one, payment) for payment in self.payments for one in payment.due if one.at <= until
        ]:
            one, payment = min(due, key=lambda pair: pair[0][:2])
            payment.due.remove(one)
            self.change(payment, one.status, one.reason, one.at)
        self.now = until
        return self.events[before:]


class LifeOfPayments(RuleBasedStateMachine):
    """What the program shows is what the model says, after every step."""

    payments = Bundle("payments")

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.stack = AsyncExitStack()
        self.model = Model()
        self.emulator: World

    def run(self, call: Coroutine[Any, Any, Any]) -> Any:
        return self.runner.run(call)

    @initialize()
    def open(self) -> None:
        self.emulator = self.run(self.stack.enter_async_context(world()))

    def teardown(self) -> None:
        self.run(self.stack.aclose())
        self.runner.close()

    def control(self, method: str, path: str, body: Any = None) -> httpx.Response:
        response: httpx.Response = self.run(self.emulator.control(method, path, body))
        return response

    def get(self, **parameters: Any) -> Any:
        response = self.run(
            self.emulator.api.get("/v1/payments", params=parameters, headers=headers())
        )
        assert response.status_code == 200
        return response.json()["data"]

    def refused(self, response: httpx.Response, status: int, code: str) -> None:
        assert (response.status_code, response.json()["error"]["code"]) == (status, code)

    @rule(
        target=payments,
        methods=st.permutations(METHODS).flatmap(
            lambda all_methods: st.integers(1, 3).map(lambda count: all_methods[:count])
        ),
        expires_in=st.sampled_from([1, 20, 30, 60, 1800, 86_400]),
    )
    def create(self, methods: list[str], expires_in: int) -> Modelled:
        body = order(methods=methods, expires_in=expires_in)
        response = self.run(self.emulator.api.post("/v1/payments", json=body, headers=headers()))
        assert response.status_code == 201
        return self.model.create(response.json()["id"], methods, expires_in)

    @rule(payment=payments, payer=st.sampled_from(sorted(PAYERS)))
    def pay(self, payment: Modelled, payer: tuple[str, str]) -> None:
        method, account = payer
        body = {"method": method, "bank" if method == "bank_transfer" else "phone": account}
        response = self.control("POST", f"/payments/{payment.id}/pay", body)
        if method not in payment.methods:
            self.refused(response, 400, "invalid_method")
        elif payment.status != "pending":
            self.refused(response, 409, "payment_not_payable")
        else:
            assert response.status_code == 200
            self.model.submit(payment, method, PAYERS[payer])

    @rule(payment=payments, answer=st.sampled_from(sorted(ANSWERS)))
    def answer(self, payment: Modelled, answer: str) -> None:
        response = self.control("POST", f"/payments/{payment.id}/answer", {"answer": answer})
        unfit = "wrong_pin" if payment.method == "bank_transfer" else "decline"
        if answer == unfit or not any(one.is_handset for one in payment.due):
            self.refused(response, 409, "invalid_state_transition")
        else:
            assert response.status_code == 200
            payment.due.clear()
            self.model.change(payment, *ANSWERS[answer])

    @rule(payment=payments)
    def cancel(self, payment: Modelled) -> None:
        response = self.control("POST", f"/payments/{payment.id}/cancel")
        if payment.status == "pending":
            assert response.status_code == 200
        else:
            self.refused(response, 409, "invalid_state_transition")

    @rule(
        payment=payments,
        status=st.sampled_from(STATUSES),
        reason=st.none() | st.sampled_from(REASONS),
        unusual=st.booleans(),
    )
    def transition(self, payment: Modelled, status: str, reason: str | None, unusual: bool) -> None:
        body = {"status": status, "reason": reason, "unusual": unusual}
        response = self.control("POST", f"/payments/{payment.id}/transition", body)
        edge = (payment.status, status)
        if edge not in EDGES and not (unusual and edge in UNUSUAL_EDGES):
            self.refused(response, 409, "invalid_state_transition")
        elif reason is not None and status != "failed":
            self.refused(response, 400, "invalid_reason")
        else:
            assert response.status_code == 200
            payment.due.clear()
            if status == "failed":
                reason = reason or "provider_error"
            if payment.method is None and status != "expired":
                payment.method = payment.methods[0]
            self.model.change(payment, status, reason)

    @rule(span_ms=SPANS_MS)
    def advance(self, span_ms: int) -> None:
        response = self.control("POST", "/clock/advance", {"seconds": span_ms / 1000})
        happened = [
            (effect["payment"], effect["type"].removeprefix("payment."), effect["at"])
            for effect in response.json()["effects"]
        ]
        expected = self.model.advance(span_ms)
        assert happened == [(one, status, format_instant(at)) for one, status, at in expected]

    @precondition(lambda self: any(payment.due for payment in self.model.payments))
    @rule()
    def advance_to_next(self) -> None:
        due_at = min(one.at for payment in self.model.payments for one in payment.due)
        response = self.control("POST", "/clock/advance", {"to": "next"})
        happened = self.model.advance(due_at - self.model.now)
        assert response.json()["now"] == format_instant(due_at)
        assert len(response.json()["effects"]) == len(happened)

    @invariant()
    def the_list_is_as_the_model_says(self) -> None:
        if not self.model.payments:
            return
        expected = [payment.shown() for payment in reversed(self.model.payments)]
        assert [{key: one[key] for key in expected[0]} for one in self.get(limit=100)] == expected

    @rule(status=st.sampled_from(STATUSES), method=st.none() | st.sampled_from(["mpesa"]))
    def the_filters_find_what_the_model_says(self, status: str, method: str | None) -> None:
        parameters = {"status": status, "limit": 100} | ({"method": method} if method else {})
        expected = [
            payment.id
            for payment in reversed(self.model.payments)
            if payment.status == status and method in (None, payment.method)
        ]
        assert [payment["id"] for payment in self.get(**parameters)] == expected

    @rule(payment=payments)
    def the_detail_is_as_the_model_says(self, payment: Modelled) -> None:
        detail = self.control("GET", f"/payments/{payment.id}").json()
        assert detail["reason"] == payment.reason
        assert detail["payment"] == self.run(self.emulator.retrieve(payment.id))
        assert detail["payment"]["status"] == payment.status
        assert [one["at"] for one in detail["scheduled"]] == [
            format_instant(one.at) for one in sorted(payment.due)
        ]
        assert [(one["type"], one["at"]) for one in detail["timeline"]] == [
            (f"payment.{status}", format_instant(at))
            for payment_id, status, at in self.model.events
            if payment_id == payment.id
        ]

    @rule()
    def the_events_are_in_the_order_of_what_happened(self) -> None:
        events = self.control("GET", "/events?limit=1000").json()["data"]
        assert [(one["data"]["id"], one["type"], one["timestamp"]) for one in reversed(events)] == [
            (payment_id, f"payment.{status}", format_instant(at))
            for payment_id, status, at in self.model.events
        ]


TestLifeOfPayments = LifeOfPayments.TestCase
TestLifeOfPayments.settings = settings(max_examples=usually(15, deep=60), stateful_step_count=30)
