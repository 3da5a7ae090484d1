"""An account's scenarios and faults over HTTP: seen, put, switched, removed."""

from collections.abc import Iterable

from starlette.requests import Request
from starlette.responses import Response

from emulator.control.bodies import MAX_SHOWN_NAME_CHARACTERS, Source, unknown_parameter
from emulator.control.calls import Calls
from emulator.control.fields import required
from emulator.control.replies import no_content, reply
from emulator.domain.errors import (
    DuplicateParameter,
    InvalidFault,
    InvalidScenario,
    MissingParameter,
    UnknownScenario,
)
from emulator.engine.accounts.scenarios import Scenarios
from emulator.engine.state.rules import Listed, PostedFault
from emulator.scenarios.loader import parse_scenario, read_fault_rule_text
from emulator.scenarios.problems import Problem, ScenarioError
from emulator.scenarios.values import RuleSection, Scenario
from emulator.scenarios.writing import (
    expiry_rule_json,
    fault_rule_json,
    outcome_rule_json,
    step_json,
    webhook_rule_json,
)

_FAULT_MEMBERS = ("when", "then", "times")
_MAX_PROBLEMS_SHOWN = 10


class ScenarioCalls:
    """`/scenarios`: those of the account in the order of their precedence."""

    def __init__(self, calls: Calls, scenarios: Scenarios) -> None:
        self._calls = calls
        self._scenarios = scenarios

    async def list(self, request: Request) -> Response:
        call = await self._calls.decode(request)
        return reply({"data": [_shown(listed) for listed in call.account.rules.listed]})

    async def get(self, request: Request) -> Response:
        call = await self._calls.decode(request)
        listed = call.account.rules.named(_name(request))
        if listed is None:
            raise UnknownScenario(_name(request))
        return reply({**_shown(listed), **_content(listed.scenario)})

    async def put(self, request: Request) -> Response:
        call, source = await self._calls.decode_source(request, takes_yaml=True)
        try:
            scenario = parse_scenario(source.text, "", name=_name(request))
        except ScenarioError as error:
            raise InvalidScenario(_told(error.problems), param=error.problems[0].key) from None
        is_new, listed = await self._scenarios.put(call.account, scenario, source.text)
        return reply(_shown(listed), status=201 if is_new else 200)

    async def delete(self, request: Request) -> Response:
        call = await self._calls.decode(request, body=())
        await self._scenarios.remove(call.account, _name(request))
        return no_content()

    async def switch(self, request: Request) -> Response:
        call = await self._calls.decode(request, body=("enabled",))
        is_enabled = required(call.fields.flag("enabled"), "enabled")
        listed = await self._scenarios.switch(call.account, _name(request), is_enabled=is_enabled)
        return reply(_shown(listed))


class FaultCalls:
    """`/faults`: fault rules without a file, the newest and strongest first."""

    def __init__(self, calls: Calls, scenarios: Scenarios) -> None:
        self._calls = calls
        self._scenarios = scenarios

    async def list(self, request: Request) -> Response:
        call = await self._calls.decode(request)
        uses = await self._scenarios.uses_of_faults(call.account)
        faults = call.account.rules.overrides.faults
        return reply({"data": [_shown_fault(fault, uses.get(fault.id, 0)) for fault in faults]})

    async def add(self, request: Request) -> Response:
        call, source = await self._calls.decode_source(request, takes_yaml=False)
        _check_fault_members(source)
        try:
            rule = read_fault_rule_text(source.text, "")
        except ScenarioError as error:
            told = (problem.message for problem in error.problems[:_MAX_PROBLEMS_SHOWN])
            raise InvalidFault("; ".join(told), param=error.problems[0].key) from None
        fault = await self._scenarios.add_fault(call.account, rule, source.text)
        return reply(_shown_fault(fault, 0), status=201)

    async def clear(self, request: Request) -> Response:
        call = await self._calls.decode(request, body=())
        await self._scenarios.remove_fault(call.account, None)
        return no_content()

    async def delete(self, request: Request) -> Response:
        call = await self._calls.decode(request, body=())
        await self._scenarios.remove_fault(call.account, request.path_params["fault_id"])
        return no_content()


def _name(request: Request) -> str:
    return str(request.path_params["name"])


def _told(problems: Iterable[Problem]) -> str:
    told = [f"line {one.line}, column {one.column}: {one.message}" for one in problems]
    more = len(told) - _MAX_PROBLEMS_SHOWN
    return "; ".join(told[:_MAX_PROBLEMS_SHOWN]) + (f"; and {more} more" if more > 0 else "")


def _shown(listed: Listed) -> dict[str, object]:
    scenario = listed.scenario
    return {
        "name": scenario.name,
        "description": scenario.description,
        "enabled": listed.is_enabled,
        "origin": listed.origin,
        "rules": {section.value: len(getattr(scenario, section.value)) for section in RuleSection},
        "has_script": bool(scenario.script),
    }


def _content(scenario: Scenario) -> dict[str, object]:
    """What a scenario says, as its file would."""
    return {
        "outcomes": [outcome_rule_json(rule) for rule in scenario.outcomes],
        "expiry": [expiry_rule_json(rule) for rule in scenario.expiry],
        "faults": [fault_rule_json(rule) for rule in scenario.faults],
        "webhooks": [webhook_rule_json(rule) for rule in scenario.webhooks],
        "script": [step_json(step) for step in scenario.script],
    }


def _shown_fault(fault: PostedFault, uses: int) -> dict[str, object]:
    """A fault rule; of one with `times`, how often it has struck."""
    shown = {"id": fault.id, **fault_rule_json(fault.rule)}
    return shown if fault.rule.times is None else {**shown, "used": uses}


def _check_fault_members(source: Source) -> None:
    """Raises UnknownParameter, DuplicateParameter, MissingParameter."""
    for name in source.members:
        if name not in _FAULT_MEMBERS:
            raise unknown_parameter(name, _FAULT_MEMBERS)
    if source.repeated:
        raise DuplicateParameter(source.repeated[0][:MAX_SHOWN_NAME_CHARACTERS])
    if source.members.get("then") is None:
        raise MissingParameter("then")
