"""Executes the steps of a script with requests to the emulator."""

from collections.abc import Mapping
from urllib.parse import quote, urlencode

from msgspec import Struct

from emulator.domain.instants import parse_instant
from emulator.domain.payment_methods import DEFAULT_ORDER
from emulator.http.client import HttpClient, HttpResponse
from emulator.reporting import counted
from emulator.scenarios import values
from emulator.scenarios.scenario_file import fault_rule_json
from emulator.scenarios.values import Json, Step
from emulator.tools.replay.emulator_api import CONTROL, PAYMENTS, refusal_text
from emulator.tools.replay.results import latest_name

# The maximum number of calls for one advance that reaches a limit of the emulator.
MAX_ADVANCES = 100

_NEXT = b'{"to":"next"}'

_PaymentAction = values.Pay | values.CustomerAnswer | values.Cancel | values.Transition


class ImpossibleStep(Exception):
    """A step cannot be executed; the message says why."""


class UnknownPaymentName(ImpossibleStep):
    """A name stands for no payment; the message says why."""


class NamedPayments:
    """The payments by the names of the `create` steps so far."""

    def __init__(self) -> None:
        self.ids: dict[str, str] = {}
        self._why_unknown: dict[str, str] = {}

    def bind(self, name: str, response: HttpResponse) -> None:
        """Bind a name to the payment in the response to `create`.

        After a lost response the name is unknown; after a refusal it keeps its payment.
        """
        payment_id = response.member("id")
        if response.status == 201 and isinstance(payment_id, str):
            self.ids[name] = payment_id
        elif response.failure is not None:
            self.ids.pop(name, None)
            self._why_unknown[name] = (
                f"create got no response, so {name} is unknown;"
                " retry it with the same idempotency_key"
            )
        else:
            self._why_unknown[name] = (
                f"create was refused with {refusal_text(response)}, so {name} is not known"
            )

    def id_of(self, name: str) -> str:
        """Raises UnknownPaymentName."""
        payment_id = self.ids.get(name)
        if payment_id is None:
            message = self._why_unknown.get(name, f"no create before has named {name}")
            raise UnknownPaymentName(message)
        return payment_id

    def name_of(self, payment_id: str) -> str:
        """The latest name of a payment, or its id if it has none."""
        return latest_name(self.ids, payment_id) or payment_id


class StepOutcome(Struct, frozen=True, kw_only=True):
    """The outcome of a step in short, and the response that a following `expect` examines.

    `payment` is the id of the step's payment.
    """

    text: str
    response: HttpResponse
    payment: str | None = None


class StepExecutor:
    """Executes steps with the key of one account; `now` is the latest known time of its clock."""

    def __init__(self, client: HttpClient, names: NamedPayments, *, now: str) -> None:
        self._client = client
        self._names = names
        self.now = now

    async def execute(self, step: Step) -> StepOutcome:
        """Execute a step that sends requests. Raises ImpossibleStep, Unreachable."""
        match step:
            case values.Create():
                return await self._create(step)
            case values.Retrieve():
                payment_id = step.id if step.payment is None else self._names.id_of(step.payment)
                path = f"{PAYMENTS}/{quote(payment_id or '', safe='')}"
                return _outcome(await self._client.request("GET", path), payment_id)
            case values.List():
                return await self._list(step)
            case values.Advance():
                return await self.advance(step.by_ms)
            case values.AddFault():
                rule = fault_rule_json(step.rule)
                return _outcome(await self._client.request_json("POST", f"{CONTROL}/faults", rule))
            case values.Pay() | values.CustomerAnswer() | values.Cancel() | values.Transition():
                return await self._act(step)
            case values.Expect() | values.Repeat():
                raise AssertionError("the case runner executes these steps")

    async def _create(self, step: values.Create) -> StepOutcome:
        body = {**DEFAULT_ORDER, **dict(step.members)}
        response = await self._client.request_json("POST", PAYMENTS, body)
        if step.name is not None:
            self._names.bind(step.name, response)
        return _outcome(response, response.member("id") if response.status == 201 else None)

    async def _list(self, step: values.List) -> StepOutcome:
        query = list(step.query)
        if step.after is not None:
            query.append(("after", self._names.id_of(step.after)))
        path = f"{PAYMENTS}?{urlencode(query)}" if query else PAYMENTS
        response = await self._client.request("GET", path)
        data = response.member("data")
        if response.is_error or not isinstance(data, list):
            return _outcome(response)
        return StepOutcome(text=f"200 {counted(len(data), 'payment')}", response=response)

    async def _act(self, step: _PaymentAction) -> StepOutcome:
        """Change a payment by a call of the control API; the contract has none for it."""
        payment_id = self._names.id_of(step.payment)
        name, members = _control_call(step)
        body = {member: value for member, value in members.items() if value is not None}
        path = f"{CONTROL}/payments/{payment_id}/{name}"
        if not body:
            return _outcome(await self._client.request("POST", path), payment_id)
        return _outcome(await self._client.request_json("POST", path, body), payment_id)

    async def advance(self, by_ms: int | None) -> StepOutcome:
        """Move the clock and wait for all effects. Raises ImpossibleStep, Unreachable."""
        effects = 0
        for _ in range(MAX_ADVANCES):
            body = _NEXT if by_ms is None else _seconds(by_ms)
            response = await self._client.request("POST", f"{CONTROL}/clock/advance", body)
            if response.is_error:
                return _outcome(response)
            effects += len(response.member("effects") or ())
            before, self.now = self.now, str(response.member("now"))
            if response.member("settled") is not False:
                return StepOutcome(text=counted(effects, "effect"), response=response)
            passed_ms = parse_instant(self.now) - parse_instant(before)
            by_ms = max(0, (by_ms or passed_ms) - passed_ms)
        raise ImpossibleStep(f"it has not settled after {MAX_ADVANCES} advances")


def _control_call(step: _PaymentAction) -> tuple[str, Mapping[str, Json]]:
    """The last segment of the path and the members of the body; None is an absent member."""
    match step:
        case values.Pay():
            return "pay", {"method": step.method, "phone": step.phone, "bank": step.bank}
        case values.CustomerAnswer():
            return "answer", {"answer": step.answer}
        case values.Cancel():
            return "cancel", {}
        case values.Transition():
            return "transition", {
                "status": step.status,
                "method": step.method,
                "reason": step.reason,
                "unusual": step.unusual or None,
            }


def _seconds(by_ms: int) -> bytes:
    # Not a float, which might not be the exact millisecond.
    return b'{"seconds":%d.%03d}' % divmod(by_ms, 1_000)


def _outcome(response: HttpResponse, payment_id: str | None = None) -> StepOutcome:
    return StepOutcome(text=_outcome_text(response), response=response, payment=payment_id)


def _outcome_text(response: HttpResponse) -> str:
    if response.failure is not None:
        return "no response"
    status = response.member("status")
    if response.is_error or not isinstance(status, str):
        return refusal_text(response)
    return f"{response.status} {status}"
