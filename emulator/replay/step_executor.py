"""What a step does to the emulator, and what it is answered."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from emulator.domain.instants import parse_instant
from emulator.domain.payment_methods import DEFAULT_METHODS
from emulator.replay.client import Answer, Connection
from emulator.replay.names import Names, Unknown, refusal_text
from emulator.scenarios import steps
from emulator.scenarios.steps import Json, Step
from emulator.scenarios.writing import fault_rule_json

PAYMENTS = "/v1/payments"
CONTROL = "/_emulator"
# What a create says unless the script does.
USUAL_BODY: Mapping[str, Json] = {
    "amount": 10_000,
    "currency": "ETB",
    "methods": list(DEFAULT_METHODS),
    "success_url": "https://shop.example/success",
    "cancel_url": "https://shop.example/cancel",
}
# An advance that meets a limit of the emulator is taken up again so often.
MAX_ADVANCES = 100

_NEXT = b'{"to":"next"}'

_Act = steps.Pay | steps.CustomerAnswer | steps.Cancel | steps.Transition


class Impossible(Exception):
    """A step cannot be done at all; the message tells why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What came of a step, in short; the answer that it leaves behind for an `expect`.

    `payment` is the id of the payment that it is about.
    """

    outcome: str
    answer: Answer
    payment: str | None = None


class Performer:
    """Does what steps say, as the owner of one account; `now` is what its clock has shown last."""

    def __init__(self, connection: Connection, names: Names, *, now: str) -> None:
        self._connection = connection
        self._names = names
        self.now = now

    async def perform(self, step: Step) -> Done:
        """Do a step that asks the emulator for something. Raises Impossible, Unreachable."""
        try:
            return await self._perform(step)
        except Unknown as unknown:
            raise Impossible(str(unknown)) from None

    async def _perform(self, step: Step) -> Done:
        match step:
            case steps.Create():
                return await self._create(step)
            case steps.Retrieve():
                payment_id = step.id if step.payment is None else self._names.id_of(step.payment)
                path = f"{PAYMENTS}/{quote(payment_id or '', safe='')}"
                return _done(await self._connection.ask("GET", path), payment_id)
            case steps.List():
                return await self._list(step)
            case steps.Advance():
                return await self.advance(step.by_ms)
            case steps.AddFault():
                rule = fault_rule_json(step.rule)
                answer = await self._connection.ask_json("POST", f"{CONTROL}/faults", rule)
                return _done(answer, None)
            case steps.Pay() | steps.CustomerAnswer() | steps.Cancel() | steps.Transition():
                return await self._act(step)
            case steps.Expect() | steps.Repeat():
                raise AssertionError("whoever plays the script does these")

    async def _create(self, step: steps.Create) -> Done:
        body = {**USUAL_BODY, **dict(step.members)}
        answer = await self._connection.ask_json("POST", PAYMENTS, body)
        if step.name is not None:
            self._names.bind(step.name, answer)
        return _done(answer, answer.member("id") if answer.status == 201 else None)

    async def _list(self, step: steps.List) -> Done:
        query = list(step.query)
        if step.after is not None:
            query.append(("after", self._names.id_of(step.after)))
        path = f"{PAYMENTS}?{urlencode(query)}" if query else PAYMENTS
        answer = await self._connection.ask("GET", path)
        data = answer.member("data")
        if answer.is_refusal or not isinstance(data, list):
            return _done(answer, None)
        found = f"200 {len(data)} {'payment' if len(data) == 1 else 'payments'}"
        return Done(outcome=found, answer=answer)

    async def _act(self, step: _Act) -> Done:
        """Do to a payment what the contract has no request for."""
        payment_id = self._names.id_of(step.payment)
        verb, members = _call(step)
        said = {name: value for name, value in members.items() if value is not None}
        path = f"{CONTROL}/payments/{payment_id}/{verb}"
        if not said:
            return _done(await self._connection.ask("POST", path), payment_id)
        return _done(await self._connection.ask_json("POST", path, said), payment_id)

    async def advance(self, by_ms: int | None) -> Done:
        """Move the clock, and wait for all that happens on the way. Raises Impossible."""
        effects = 0
        for _ in range(MAX_ADVANCES):
            body = _NEXT if by_ms is None else _seconds(by_ms)
            answer = await self._connection.ask("POST", f"{CONTROL}/clock/advance", body)
            if answer.is_refusal:
                return Done(outcome=_outcome(answer), answer=answer)
            effects += len(answer.member("effects") or ())
            before, self.now = self.now, str(answer.member("now"))
            if answer.member("settled") is not False:
                told = f"{effects} {'effect' if effects == 1 else 'effects'}"
                return Done(outcome=told, answer=answer)
            passed_ms = parse_instant(self.now) - parse_instant(before)
            by_ms = max(0, (by_ms or passed_ms) - passed_ms)
        raise Impossible(f"it has not settled after {MAX_ADVANCES} advances")


def _call(step: _Act) -> tuple[str, Mapping[str, Json]]:
    """The last word of a call's path, and what is said in it; None is not said."""
    match step:
        case steps.Pay():
            return "pay", {"method": step.method, "phone": step.phone, "bank": step.bank}
        case steps.CustomerAnswer():
            return "answer", {"answer": step.answer}
        case steps.Cancel():
            return "cancel", {}
        case steps.Transition():
            return "transition", {
                "status": step.status,
                "method": step.method,
                "reason": step.reason,
                "unusual": step.unusual or None,
            }


def _seconds(by_ms: int) -> bytes:
    # Written out, since a float might not be the exact millisecond.
    return b'{"seconds":%d.%03d}' % divmod(by_ms, 1_000)


def _done(answer: Answer, payment_id: str | None) -> Done:
    return Done(outcome=_outcome(answer), answer=answer, payment=payment_id)


def _outcome(answer: Answer) -> str:
    if answer.lost is not None:
        return "no answer"
    if answer.is_refusal:
        return refusal_text(answer)
    status = answer.member("status")
    return f"{answer.status} {status}" if isinstance(status, str) else str(answer.status)
