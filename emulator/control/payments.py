"""What can be done to a payment and seen of it beyond the contract."""

import re
from collections.abc import Mapping
from decimal import Decimal

from starlette.requests import Request
from starlette.responses import Response

from emulator.control.calls import Calls
from emulator.control.fields import required, word_of
from emulator.control.replies import reply, written
from emulator.domain.instants import format_instant
from emulator.domain.payment import Event, Payment, Reason, Status
from emulator.domain.received_values import not_accepted
from emulator.domain.timers import ATTEMPT, ComingAttempt, Timer
from emulator.domain.transitions import Change
from emulator.domain.wire import payment_json
from emulator.engine.accounts.scenarios import Scenarios
from emulator.engine.payments.customer import Customer, PhoneAnswer, Submission
from emulator.engine.payments.payments import PaymentDetail, PaymentHistory
from emulator.engine.state.account import Owner

DEFAULT_TIMEOUT_S = "30"
MAX_TIMEOUT_MS = 300_000

# As JSON writes a number; leading zeros are allowed.
_SECONDS = re.compile(r"-?[0-9]{1,20}(?:\.[0-9]{1,20})?(?:[eE][+-]?[0-9]{1,6})?", re.ASCII)


class PaymentCalls:
    """`/payments/{id}`: the customer's part, changes by hand, the timeline, waiting."""

    def __init__(
        self, calls: Calls, customer: Customer, history: PaymentHistory, scenarios: Scenarios
    ) -> None:
        self._calls = calls
        self._customer = customer
        self._history = history
        self._scenarios = scenarios

    async def pay(self, request: Request) -> Response:
        call = await self._calls.decode(request, body=("method", "phone", "bank"))
        submission = Submission(
            method=required(call.fields.text("method"), "method"),
            phone=call.fields.text("phone"),
            bank=call.fields.text("bank"),
        )
        return _payment(await self._customer.pay(call.owner, _id(request), submission))

    async def answer(self, request: Request) -> Response:
        call = await self._calls.decode(request, body=("answer",))
        answer = required(call.fields.word("answer", PhoneAnswer), "answer")
        return _payment(await self._customer.answer(call.owner, _id(request), answer))

    async def cancel(self, request: Request) -> Response:
        call = await self._calls.decode(request, body=())
        return _payment(await self._customer.cancel(call.owner, _id(request)))

    async def transition(self, request: Request) -> Response:
        call = await self._calls.decode(request, body=("status", "method", "reason", "unusual"))
        change = Change(
            to=required(call.fields.word("status", Status), "status"),
            method=call.fields.text("method"),
            reason=call.fields.word("reason", Reason),
            unusual=call.fields.flag("unusual") or False,
        )
        return _payment(await self._customer.transition(call.owner, _id(request), change))

    async def place(self, request: Request) -> Response:
        call = await self._calls.decode(request, body=("name",))
        name = required(call.fields.text("name"), "name")
        return _payment(await self._scenarios.place(call.owner, _id(request), name))

    async def get(self, request: Request) -> Response:
        call = await self._calls.decode(request)
        return reply(_shown(call.owner, await self._history.detail(call.owner, _id(request))))

    async def wait(self, request: Request) -> Response:
        call = await self._calls.decode(request, query=("status", "timeout"))
        status = word_of(required(call.query.get("status"), "status"), Status, "status")
        reached, payment = await self._history.wait(
            call.owner, _id(request), status, timeout_ms=_timeout_ms(call.query)
        )
        return reply({"reached": reached, "payment": written(payment_json(payment))})


def _id(request: Request) -> str:
    return str(request.path_params["payment_id"])


def _timeout_ms(query: Mapping[str, str]) -> int:
    """A wait is real time: what is finer than a millisecond is dropped, not refused."""
    value = query.get("timeout", DEFAULT_TIMEOUT_S)
    if _SECONDS.fullmatch(value):
        seconds = Decimal(value)
        if 0 <= seconds <= MAX_TIMEOUT_MS // 1000:
            return int(seconds * 1000)
    raise not_accepted("timeout", value, f"a number of seconds from 0 to {MAX_TIMEOUT_MS // 1000}")


def _payment(payment: Payment) -> Response:
    return reply(written(payment_json(payment)))


def _shown(owner: Owner, detail: PaymentDetail) -> dict[str, object]:
    scheduled = [_scheduled(one, detail.payment) for one in detail.scheduled]
    return {
        "payment": written(payment_json(detail.payment)),
        "reason": detail.payment.reason,
        "mode": owner.mode,
        "phone": detail.payment.phone,
        "bank": detail.payment.bank,
        "scenario": owner.account.scenario_name_of(detail.payment.position),
        "timeline": [_event(owner, event) for event in detail.timeline],
        "next": scheduled[0] if scheduled else None,
        "scheduled": scheduled,
    }


def _event(owner: Owner, event: Event) -> dict[str, object]:
    return {
        "id": owner.event_id(event),
        "at": format_instant(event.at),
        "type": event.type,
        "status": event.status,
        "method": event.method,
        "reason": event.reason,
        "request": event.request_id,
    }


def _scheduled(one: Timer | ComingAttempt, payment: Payment) -> dict[str, object]:
    at = format_instant(one.due_at)
    if isinstance(one, ComingAttempt):
        return {
            "at": at,
            "kind": ATTEMPT,
            "payment": payment.id,
            "delivery": one.delivery_id,
            "event_type": one.event_type,
        }
    return {
        "at": at,
        "kind": one.kind,
        "payment": payment.id,
        "status": one.change.to,
        "reason": one.change.reason,
    }
