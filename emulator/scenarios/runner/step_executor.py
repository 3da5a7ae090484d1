"""Executes the steps of a script with requests to the emulator."""

from msgspec import Struct

from emulator.domain.instants import parse_instant
from emulator.domain.payment_methods import DEFAULT_ORDER
from emulator.http import emulator_calls as calls
from emulator.http.client import EmulatorClient
from emulator.http.response import HttpResponse
from emulator.reporting import counted
from emulator.scenarios import values
from emulator.scenarios.runner.results import latest_name
from emulator.scenarios.scenario_file import fault_rule_json
from emulator.scenarios.values import Json, Step

# The maximum number of calls for one advance that reaches a limit of the emulator.
MAX_ADVANCES = 100

_ACTIONS = {
    values.Pay: calls.PAY,
    values.CustomerAnswer: calls.ANSWER,
    values.Cancel: calls.CANCEL,
    values.Transition: calls.TRANSITION,
}


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
                f"create was refused with {response.summary}, so {name} is not known"
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

    def __init__(self, client: EmulatorClient, names: NamedPayments, *, now: str) -> None:
        self._client = client
        self._names = names
        self.now = now

    async def execute(self, step: Step) -> StepOutcome:
        """Execute a step that sends requests. Raises ImpossibleStep, PaymentsEmulatorError."""
        match step:
            case values.Create():
                return await self._create(step)
            case values.Retrieve():
                payment_id = step.id if step.payment is None else self._names.id_of(step.payment)
                call = calls.RETRIEVE_PAYMENT(payment_id or "")
                return _outcome(await self._client.send(call), payment_id)
            case values.List():
                return await self._list(step)
            case values.AdvanceStep():
                return await self.advance(step.by_ms)
            case values.AddFault():
                call = calls.ADD_FAULT(body=fault_rule_json(step.rule))
                return _outcome(await self._client.send(call))
            case values.Pay() | values.CustomerAnswer() | values.Cancel() | values.Transition():
                payment_id = self._names.id_of(step.payment)
                return _outcome(await self._client.send(_action(step, payment_id)), payment_id)
            case _:
                raise AssertionError("the case runner executes this step")

    async def _create(self, step: values.Create) -> StepOutcome:
        body = {**DEFAULT_ORDER, **dict(step.members)}
        response = await self._client.send(calls.CREATE_PAYMENT(body=body))
        if step.name is not None:
            self._names.bind(step.name, response)
        return _outcome(response, response.member("id") if response.status == 201 else None)

    async def _list(self, step: values.List) -> StepOutcome:
        after = {} if step.after is None else {"after": self._names.id_of(step.after)}
        call = calls.LIST_PAYMENTS(**dict(step.query), **after)
        response = await self._client.send(call)
        data = response.member("data")
        if response.is_error or not isinstance(data, list):
            return _outcome(response)
        return StepOutcome(text=f"200 {counted(len(data), 'payment')}", response=response)

    async def advance(self, by_ms: int | None) -> StepOutcome:
        """Move the clock and wait for all effects. Raises ImpossibleStep, PaymentsEmulatorError."""
        effects = 0
        for _ in range(MAX_ADVANCES):
            target = {"to": "next"} if by_ms is None else {"seconds": by_ms / 1_000}
            response = await self._client.send(calls.ADVANCE(body=target))
            if response.is_error:
                return _outcome(response)
            effects += len(response.member("effects") or ())
            before, self.now = self.now, str(response.member("now"))
            if response.member("settled") is not False:
                return StepOutcome(text=counted(effects, "effect"), response=response)
            passed_ms = parse_instant(self.now) - parse_instant(before)
            by_ms = max(0, (by_ms or passed_ms) - passed_ms)
        raise ImpossibleStep(f"it has not settled after {MAX_ADVANCES} advances")


def _action(step: Step, payment_id: str) -> calls.EmulatorCall[Json]:
    """The call of the control API for an action; its body has the members of the step."""
    names = (name for name in step.__struct_fields__ if name not in ("place", "payment"))
    members = calls.without_none({name: getattr(step, name) for name in names})
    return _ACTIONS[type(step)](payment_id, body=members or None)


def _outcome(response: HttpResponse, payment_id: str | None = None) -> StepOutcome:
    return StepOutcome(text=_outcome_text(response), response=response, payment=payment_id)


def _outcome_text(response: HttpResponse) -> str:
    if response.failure is not None:
        return "no response"
    status = response.member("status")
    if response.is_error or not isinstance(status, str):
        return response.summary
    return f"{response.status} {status}"
