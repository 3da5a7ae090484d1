"""What an `expect` sees: of a payment, of the last answer, of the webhooks that have arrived."""

from collections.abc import Mapping, Sequence

from emulator.replay.client import Answer, Connection
from emulator.replay.diff import Words, is_same, side_by_side
from emulator.replay.names import Names, Unknown
from emulator.replay.results import Failure, Mismatch
from emulator.replay.step_executor import CONTROL
from emulator.replay.webhook_inbox import WebhookInbox
from emulator.scenarios.steps import Expect, FieldCheck, Json

MAX_EVENTS = 1_000
WEBHOOK_CHECKS = frozenset({"webhooks", "forged"})
# Whoever checks one of these says what becomes of a request that was refused.
REFUSAL_CHECKS = frozenset({"http_status", "code", "param", "retry_after", "lost"})

_NO_REQUEST = Words("no request came before")
_NOT_THERE = Words("not there")
_NO_LIST = Words("the last answer is no list")
_NO_OBJECT = Words("the last answer is no object")
_NO_PAYMENT = Words("the last answer is no payment")


class Assertions:
    """Looks at what a script expects; it never asks anything of `/v1`, where faults count."""

    def __init__(self, connection: Connection, names: Names, mailbox: WebhookInbox | None) -> None:
        self._connection = connection
        self._names = names
        self._mailbox = mailbox
        self.last: Answer | None = None

    async def failure(self, step: Expect) -> Failure | None:
        """What is not as expected, all of it. Raises Unreachable."""
        detail: Mapping[str, Json] | Words = {}
        if step.payment is not None:
            detail = await self._detail(step.payment)
        mismatches = []
        for check in step.checks:
            seen = await self._seen(check, step.payment, detail)
            if not is_same(check.expected, seen):
                mismatches.append(self._mismatch(check, seen))
        if not mismatches:
            return None
        return Failure(
            place=step.place,
            message=_not_as_expected(mismatches, step.payment),
            mismatches=tuple(mismatches),
        )

    def _mismatch(self, check: FieldCheck, seen: Json) -> Mismatch:
        note = None
        if check.key in WEBHOOK_CHECKS and self._mailbox is not None:
            note = self._mailbox.trouble()
        rows = side_by_side(check.expected, seen)
        return Mismatch(place=check.place, subject=check.key, rows=rows, note=note)

    async def _seen(
        self, check: FieldCheck, payment: str | None, detail: Mapping[str, Json] | Words
    ) -> Json:
        if check.key in WEBHOOK_CHECKS:
            return await self._arrived(payment, is_genuine=check.key == "webhooks")
        if payment is not None:
            return detail if isinstance(detail, Words) else self._of_payment(check, payment, detail)
        if check.key == "events":
            return await self._events()
        if self.last is None:
            return _NO_REQUEST
        if self.last.lost is None and check.key == "reason":
            return await self._reason(self.last)
        return self._of_answer(check, self.last)

    async def _detail(self, payment: str) -> Mapping[str, Json] | Words:
        """All that the emulator tells of a payment, or why it tells nothing."""
        try:
            payment_id = self._names.id_of(payment)
        except Unknown as unknown:
            return Words(unknown)
        return await self._told(payment_id)

    async def _reason(self, last: Answer) -> Json:
        """Why the payment failed that the last answer is; the contract's object does not say it."""
        payment_id = last.member("id")
        if last.member("object") != "payment" or not isinstance(payment_id, str):
            return _NO_PAYMENT
        detail = await self._told(payment_id)
        return detail if isinstance(detail, Words) else detail.get("reason")

    async def _told(self, payment_id: str) -> Mapping[str, Json] | Words:
        answer = await self._connection.ask("GET", f"{CONTROL}/payments/{payment_id}")
        if answer.is_refusal or not isinstance(answer.json, dict):
            return Words(answer.error.get("message") or answer.lost or f"status {answer.status}")
        return answer.json

    def _of_payment(self, check: FieldCheck, payment: str, detail: Mapping[str, Json]) -> Json:
        match check.key:
            case "reason":
                return detail.get("reason")
            case "events":
                return [event["type"] for event in detail["timeline"]]
            case "same_as":
                return self._same(payment, check.expected)
            case key:
                return detail["payment"].get(key, _NOT_THERE)

    def _same(self, payment: str, other: str) -> Json:
        """The other name where it is the same payment, else the two ids."""
        try:
            mine, its = self._names.id_of(payment), self._names.id_of(other)
        except Unknown as unknown:
            return Words(unknown)
        return other if mine == its else Words(f"{payment} is {mine}, {other} is {its}")

    async def _events(self) -> Json:
        answer = await self._connection.ask("GET", f"{CONTROL}/events?limit={MAX_EVENTS}")
        return [event["type"] for event in reversed(answer.member("data") or ())]

    async def _arrived(self, payment: str | None, *, is_genuine: bool) -> Json:
        if self._mailbox is None:
            raise AssertionError("a script that expects webhooks has a mailbox")
        wanted = None
        if payment is not None:
            try:
                wanted = self._names.id_of(payment)
            except Unknown as unknown:
                return Words(unknown)
        return [
            webhook.type
            for webhook in await self._mailbox.webhooks()
            if webhook.is_genuine is is_genuine and wanted in (None, webhook.payment)
        ]

    def _of_answer(self, check: FieldCheck, last: Answer) -> Json:
        key = check.key
        if key == "lost":
            return last.lost is not None
        if last.lost is not None:
            return Words(f"no whole answer: {last.lost}")
        match key:
            case "http_status":
                return last.status
            case "code" | "param":
                return last.error.get(key)
            case "retry_after":
                return _retry_after(last.headers.get("retry-after"))
            case "replayed":
                return last.is_replay
            case "payments":
                return self._listed(last.member("data"), check.expected)
            case "has_more":
                return last.json.get(key, _NOT_THERE) if _is_list(last) else _NO_LIST
            case _:
                return last.json.get(key, _NOT_THERE) if isinstance(last.json, dict) else _NO_OBJECT

    def _listed(self, data: Json, expected: Json) -> Json:
        """The payments of a list by their names; of several names the one that is expected."""
        if not isinstance(data, list):
            return _NO_LIST
        expected_names = {self._names.ids.get(name): name for name in expected}
        found = [str(payment.get("id")) for payment in data]
        return [expected_names.get(one) or self._names.name_of(one) for one in found]


def _not_as_expected(mismatches: Sequence[Mismatch], payment: str | None) -> str:
    *first, last = [mismatch.subject for mismatch in mismatches]
    told = f"{', '.join(first)} and {last}" if first else last
    whose = "" if payment is None else f" of {payment}"
    return f"{told}{whose} {'are' if first else 'is'} not as expected"


def _is_list(answer: Answer) -> bool:
    return isinstance(answer.member("data"), list)


def _retry_after(header: str | None) -> int | str | None:
    return int(header) if header is not None and header.isdecimal() else header
