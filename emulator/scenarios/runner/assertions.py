"""Evaluates `expect` steps: fields of a payment, of the last response, and received webhooks."""

from collections.abc import Mapping, Sequence

from emulator.domain.payment import Reason, Status
from emulator.domain.transitions import TIMED_OUT
from emulator.http.client import EmulatorClient
from emulator.http.emulator_calls import EVENTS, MAX_ENTRIES, PAYMENT
from emulator.http.response import HttpResponse
from emulator.scenarios.runner.results import Explanation, Failure, Mismatch, is_same
from emulator.scenarios.runner.step_executor import NamedPayments, UnknownPaymentName
from emulator.scenarios.runner.trace import WebhookInbox
from emulator.scenarios.values import Expect, FieldCheck, Json

WEBHOOK_CHECKS = frozenset({"webhooks", "forged"})
REFUSAL_CHECKS = frozenset({"http_status", "code", "param", "retry_after", "lost"})
"""Checks that accept a refusal of the step before."""

_ABSENT = Explanation("not there")


class _NoValue(Exception):
    """There is no value to compare; the message says why."""


class Assertions:
    """Evaluates the checks of a case; `last` is the last response to the script.

    It sends requests only to the control API: faults count the requests to `/v1`.
    """

    def __init__(
        self, client: EmulatorClient, names: NamedPayments, inbox: WebhookInbox | None
    ) -> None:
        self._client = client
        self._names = names
        self._inbox = inbox
        # Of the step that is evaluated, by the payment's id.
        self._details: dict[str, HttpResponse] = {}
        self.last: HttpResponse | None = None

    async def failure(self, step: Expect) -> Failure | None:
        """All mismatches of a step; None if there are none. Raises PaymentsEmulatorError."""
        self._details.clear()
        mismatches = []
        for check in step.checks:
            seen = await self._seen(check, step.payment)
            if not is_same(check.expected, seen):
                mismatch = Mismatch(
                    place=check.place,
                    subject=check.key,
                    expected=check.expected,
                    seen=seen,
                    note=await self._note(check, seen, step.payment),
                )
                mismatches.append(mismatch)
        if not mismatches:
            return None
        return Failure(
            place=step.place,
            message=_mismatch_message(mismatches, step.payment),
            mismatches=tuple(mismatches),
        )

    async def _note(self, check: FieldCheck, seen: Json, payment: str | None) -> str | None:
        """Why a value is another one than expected, if that is known."""
        if check.key in WEBHOOK_CHECKS and self._inbox is not None:
            return self._inbox.delivery_failure()
        if (check.key, check.expected, seen) != ("status", Status.EXPIRED, Status.FAILED):
            return None
        reason = FieldCheck(key="reason", expected=Reason.TIMEOUT, place=check.place)
        return TIMED_OUT if await self._seen(reason, payment) == Reason.TIMEOUT else None

    async def _seen(self, check: FieldCheck, payment: str | None) -> Json:
        """The value, or why there is none."""
        try:
            if check.key in WEBHOOK_CHECKS:
                return await self._received(payment, is_genuine=check.key == "webhooks")
            if payment is not None:
                return await self._of_payment(check, payment)
            if check.key == "events":
                response = await self._client.send(EVENTS(limit=MAX_ENTRIES))
                return [event["type"] for event in reversed(response.member("data") or ())]
            return await self._of_response(check)
        except (_NoValue, UnknownPaymentName) as reason:
            return Explanation(reason)

    async def _detail(self, payment_id: str) -> Mapping[str, Json]:
        """A payment in the control API. Raises _NoValue."""
        if payment_id not in self._details:
            self._details[payment_id] = await self._client.send(PAYMENT(payment_id))
        response = self._details[payment_id]
        if response.is_error or not isinstance(response.json, dict):
            message = response.error.get("message") or response.failure
            raise _NoValue(message or f"status {response.status}")
        return response.json

    async def _of_payment(self, check: FieldCheck, payment: str) -> Json:
        payment_id = self._names.id_of(payment)
        detail = await self._detail(payment_id)
        match check.key:
            case "reason":
                return detail.get("reason")
            case "events":
                return [event["type"] for event in detail["timeline"] if event["type"]]
            case "same_as":
                other, other_id = check.expected, self._names.id_of(check.expected)
                if payment_id != other_id:
                    raise _NoValue(f"{payment} is {payment_id}, {other} is {other_id}")
                return other
            case key:
                return detail["payment"].get(key, _ABSENT)

    async def _received(self, payment: str | None, *, is_genuine: bool) -> Json:
        if self._inbox is None:
            raise AssertionError("a script that expects webhooks has an inbox")
        payment_id = None if payment is None else self._names.id_of(payment)
        return [
            webhook.type
            for webhook in await self._inbox.webhooks()
            if webhook.is_genuine is is_genuine and payment_id in (None, webhook.payment)
        ]

    async def _of_response(self, check: FieldCheck) -> Json:
        key, last = check.key, self.last
        if last is None:
            raise _NoValue("there is no earlier request")
        if key == "lost":
            return last.failure is not None
        if last.failure is not None:
            raise _NoValue(f"no complete response: {last.failure}")
        values = {
            "http_status": last.status,
            "code": last.error.get("code"),
            "param": last.error.get("param"),
            "retry_after": _retry_after(last.header("retry-after")),
            "replayed": last.is_replay,
        }
        if key in values:
            return values[key]
        if key == "reason":
            # The contract's object does not have it.
            payment_id = last.member("id")
            if last.member("object") != "payment" or not isinstance(payment_id, str):
                raise _NoValue("the last response is not a payment")
            return (await self._detail(payment_id)).get("reason")
        data, is_of_list = last.member("data"), key in {"payments", "has_more"}
        if is_of_list and not isinstance(data, list):
            raise _NoValue("the last response is not a list")
        return self._listed(data, check.expected) if key == "payments" else self._member(key, last)

    @staticmethod
    def _member(key: str, last: HttpResponse) -> Json:
        if not isinstance(last.json, dict):
            raise _NoValue("the last response is not an object")
        return last.json.get(key, _ABSENT)

    def _listed(self, data: Sequence[Json], expected: Json) -> Json:
        """The names of listed payments; of several names of a payment, the expected one."""
        expected_names = {self._names.ids.get(name): name for name in expected}
        payment_ids = [str(payment.get("id")) for payment in data]
        return [expected_names.get(id_) or self._names.name_of(id_) for id_ in payment_ids]


def _mismatch_message(mismatches: Sequence[Mismatch], payment: str | None) -> str:
    *first, last = [mismatch.subject for mismatch in mismatches]
    subjects = f"{', '.join(first)} and {last}" if first else last
    owner = "" if payment is None else f" of {payment}"
    return f"{subjects}{owner}: not as expected"


def _retry_after(header: str | None) -> int | str | None:
    return int(header) if header is not None and header.isdecimal() else header
