"""Evaluates `expect` steps: fields of a payment, of the last response, and received webhooks."""

from collections.abc import Mapping, Sequence

from emulator.domain.payment import Reason, Status
from emulator.domain.transitions import TIMED_OUT
from emulator.http.client import EmulatorClient
from emulator.http.emulator_calls import EVENTS, MAX_ENTRIES, PAYMENT
from emulator.http.response import HttpResponse
from emulator.scenarios.runner.results import Explanation, Failure, Mismatch, is_same, side_by_side
from emulator.scenarios.runner.step_executor import NamedPayments, UnknownPaymentName
from emulator.scenarios.runner.trace import WebhookInbox
from emulator.scenarios.values import Expect, FieldCheck, Json

WEBHOOK_CHECKS = frozenset({"webhooks", "forged"})
REFUSAL_CHECKS = frozenset({"http_status", "code", "param", "retry_after", "lost"})
"""Checks that accept a refusal of the step before."""

_NO_REQUEST = Explanation("there is no earlier request")
_ABSENT = Explanation("not there")
_NO_LIST = Explanation("the last response is not a list")
_NO_OBJECT = Explanation("the last response is not an object")
_NO_PAYMENT = Explanation("the last response is not a payment")


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
        self.last: HttpResponse | None = None

    async def failure(self, step: Expect) -> Failure | None:
        """All mismatches of a step; None if there are none. Raises PaymentsEmulatorError."""
        detail: Mapping[str, Json] | Explanation = {}
        if step.payment is not None:
            detail = await self._named_detail(step.payment)
        mismatches = []
        for check in step.checks:
            seen = await self._seen(check, step.payment, detail)
            if not is_same(check.expected, seen):
                note = await self._note(check, seen, step.payment, detail)
                mismatches.append(_mismatch(check, seen, note))
        if not mismatches:
            return None
        return Failure(
            place=step.place,
            message=_mismatch_message(mismatches, step.payment),
            mismatches=tuple(mismatches),
        )

    async def _note(
        self,
        check: FieldCheck,
        seen: Json,
        payment: str | None,
        detail: Mapping[str, Json] | Explanation,
    ) -> str | None:
        """Why a value is another one than expected, if that is known."""
        if check.key in WEBHOOK_CHECKS and self._inbox is not None:
            return self._inbox.delivery_failure()
        if (check.key, check.expected, seen) != ("status", Status.EXPIRED, Status.FAILED):
            return None
        reason = FieldCheck(key="reason", expected=Reason.TIMEOUT, place=check.place)
        return TIMED_OUT if await self._seen(reason, payment, detail) == Reason.TIMEOUT else None

    async def _seen(
        self, check: FieldCheck, payment: str | None, detail: Mapping[str, Json] | Explanation
    ) -> Json:
        if check.key in WEBHOOK_CHECKS:
            return await self._received(payment, is_genuine=check.key == "webhooks")
        if payment is not None:
            if isinstance(detail, Explanation):
                return detail
            return self._of_payment(check, payment, detail)
        if check.key == "events":
            return await self._events()
        if self.last is None:
            return _NO_REQUEST
        if self.last.failure is None and check.key == "reason":
            return await self._reason(self.last)
        return self._of_response(check, self.last)

    async def _named_detail(self, payment: str) -> Mapping[str, Json] | Explanation:
        try:
            return await self._detail(self._names.id_of(payment))
        except UnknownPaymentName as unknown:
            return Explanation(unknown)

    async def _reason(self, last: HttpResponse) -> Json:
        """The reason of the last response's payment; the contract's object does not have it."""
        payment_id = last.member("id")
        if last.member("object") != "payment" or not isinstance(payment_id, str):
            return _NO_PAYMENT
        detail = await self._detail(payment_id)
        return detail if isinstance(detail, Explanation) else detail.get("reason")

    async def _detail(self, payment_id: str) -> Mapping[str, Json] | Explanation:
        """A payment in the control API, or why it is not available."""
        response = await self._client.send(PAYMENT(payment_id))
        if response.is_error or not isinstance(response.json, dict):
            message = response.error.get("message") or response.failure
            return Explanation(message or f"status {response.status}")
        return response.json

    def _of_payment(self, check: FieldCheck, payment: str, detail: Mapping[str, Json]) -> Json:
        match check.key:
            case "reason":
                return detail.get("reason")
            case "events":
                return [event["type"] for event in detail["timeline"] if event["type"]]
            case "same_as":
                return self._same(payment, check.expected)
            case key:
                return detail["payment"].get(key, _ABSENT)

    def _same(self, payment: str, other: str) -> Json:
        """The other name if it stands for the same payment, otherwise the two ids."""
        try:
            payment_id, other_id = self._names.id_of(payment), self._names.id_of(other)
        except UnknownPaymentName as unknown:
            return Explanation(unknown)
        if payment_id == other_id:
            return other
        return Explanation(f"{payment} is {payment_id}, {other} is {other_id}")

    async def _events(self) -> Json:
        response = await self._client.send(EVENTS(limit=MAX_ENTRIES))
        return [event["type"] for event in reversed(response.member("data") or ())]

    async def _received(self, payment: str | None, *, is_genuine: bool) -> Json:
        if self._inbox is None:
            raise AssertionError("a script that expects webhooks has an inbox")
        payment_id = None
        if payment is not None:
            try:
                payment_id = self._names.id_of(payment)
            except UnknownPaymentName as unknown:
                return Explanation(unknown)
        return [
            webhook.type
            for webhook in await self._inbox.webhooks()
            if webhook.is_genuine is is_genuine and payment_id in (None, webhook.payment)
        ]

    def _of_response(self, check: FieldCheck, last: HttpResponse) -> Json:
        key = check.key
        if key == "lost":
            return last.failure is not None
        if last.failure is not None:
            return Explanation(f"no complete response: {last.failure}")
        match key:
            case "http_status":
                return last.status
            case "code" | "param":
                return last.error.get(key)
            case "retry_after":
                return _retry_after(last.header("retry-after"))
            case "replayed":
                return last.is_replay
            case "payments":
                return self._listed(last.member("data"), check.expected)
            case "has_more":
                is_list = isinstance(last.member("data"), list)
                return last.json.get(key, _ABSENT) if is_list else _NO_LIST
            case _:
                return last.json.get(key, _ABSENT) if isinstance(last.json, dict) else _NO_OBJECT

    def _listed(self, data: Json, expected: Json) -> Json:
        """The names of listed payments; of several names of a payment, the expected one."""
        if not isinstance(data, list):
            return _NO_LIST
        expected_names = {self._names.ids.get(name): name for name in expected}
        payment_ids = [str(payment.get("id")) for payment in data]
        return [expected_names.get(id_) or self._names.name_of(id_) for id_ in payment_ids]


def _mismatch(check: FieldCheck, seen: Json, note: str | None) -> Mismatch:
    rows = side_by_side(check.expected, seen)
    return Mismatch(place=check.place, subject=check.key, rows=rows, note=note)


def _mismatch_message(mismatches: Sequence[Mismatch], payment: str | None) -> str:
    *first, last = [mismatch.subject for mismatch in mismatches]
    subjects = f"{', '.join(first)} and {last}" if first else last
    owner = "" if payment is None else f" of {payment}"
    return f"{subjects}{owner} {'are' if first else 'is'} not as expected"


def _retry_after(header: str | None) -> int | str | None:
    return int(header) if header is not None and header.isdecimal() else header
