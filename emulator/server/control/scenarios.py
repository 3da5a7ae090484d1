"""The calls on the scenarios of an account, and on fault rules that belong to no scenario."""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, TypeVar

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import asdict

from emulator.domain import errors
from emulator.domain.errors import InvalidFault, InvalidScenario, MissingParameter
from emulator.domain.instants import format_instant
from emulator.files.yaml_writer import yaml_text
from emulator.scenarios import scenario_file
from emulator.scenarios.entries import ScenarioError, in_one_line
from emulator.scenarios.loader import parse_scenario, read_fault_rule_text
from emulator.scenarios.values import RuleSection
from emulator.server.api.bodies import YamlBody
from emulator.server.control.calls import Call, check_names
from emulator.server.control.document import scenario_schemas
from emulator.server.control.resources import Kind, operation, shown
from emulator.server.control.types import (
    YAML,
    AccountId,
    Body,
    Count,
    FaultId,
    InstantText,
    ScenarioName,
    identifies,
)
from emulator.server.engine.accounts.scenarios import MAX_FAULTS, MAX_SCENARIOS
from emulator.server.engine.state.rules import Listed, Origin, PostedFault
from emulator.server.openapi.declarations import (
    JSON,
    JsonObject,
    RequestBody,
    Resource,
    doc,
    ref,
)

# A longer text is read on a thread, since that may take a second.
MAX_CHARACTERS_AT_ONCE = 16 * 1024

T = TypeVar("T")
_MEMBERS = ("when", "then", "times")


class SwitchScenario(Body, frozen=True):
    """Whether the scenario is enabled."""

    enabled: Annotated[bool, doc("Whether the scenario is enabled.")]


class RuleCounts(Struct, frozen=True):
    """The number of rules in each section."""

    outcomes: Count
    expiry: Count
    checkout: Count
    faults: Count
    webhooks: Count


class LimitedRule(Struct, frozen=True):
    """A rule with `times`."""

    section: Annotated[str, doc("Its section.", "faults")]
    rule: Annotated[Count, doc("Its index in the section, from 0.")]
    times: Annotated[int, Meta(ge=1, description="The maximum number of uses.")]
    used: Annotated[Count, doc("The number of uses in this account.")]


class ScenarioSummary(Struct, frozen=True):
    """A scenario of the account."""

    name: Annotated[ScenarioName, doc("Its name.")]
    description: Annotated[str, doc("Its description.", "Success is sent twice.")]
    enabled: Annotated[bool, doc("Whether it is enabled in this account.")]
    origin: Origin
    rules: RuleCounts
    limited_rules: Annotated[list[LimitedRule], doc("The rules with `times`, and their uses.")]
    has_script: Annotated[bool, doc("Whether it has a script, for `replay` and `run`.")]


class ScenarioJson(ScenarioSummary, frozen=True):
    """A scenario with its rules and its script."""

    outcomes: Annotated[list[Any], Meta(extra_json_schema={"items": ref("OutcomeRule")})]
    expiry: Annotated[list[Any], Meta(extra_json_schema={"items": ref("ExpiryRule")})]
    checkout: Annotated[list[Any], Meta(extra_json_schema={"items": ref("CheckoutRule")})]
    faults: Annotated[list[Any], Meta(extra_json_schema={"items": ref("FaultRule")})]
    webhooks: Annotated[list[Any], Meta(extra_json_schema={"items": ref("WebhookRule")})]
    script: Annotated[list[Any], Meta(extra_json_schema={"items": ref("ScenarioStep")})]


class RunStep(Struct, frozen=True):
    """A step that was played."""

    text: Annotated[str, doc("The step, as in a file.", "advance: 30s")]
    result: Annotated[str, doc("The result, or `failed: ` and the reason.", "1 effect")]
    at: Annotated[InstantText, doc("Its instant, on the clock of the account of the run.")]


class ScriptRun(Struct, frozen=True):
    """The steps that were played; the last one may have failed."""

    account: Annotated[AccountId, doc("The identifier of the account of the run.")]
    steps: list[RunStep]


async def _summaries(call: Call) -> list[ScenarioSummary]:
    uses = await call.engine.scenarios.uses(call.account)
    return [_summary(listed, uses) for listed in call.account.rules.listed]


async def _scenario(call: Call, name: str) -> ScenarioJson:
    listed = call.account.rules.listed_as(name)
    written = {
        section: key.kind.write(getattr(listed.scenario, section))
        for section, key in scenario_file.SECTIONS.items()
    }
    summary = _summary(listed, await call.engine.scenarios.uses(call.account))
    return ScenarioJson(**asdict(summary), **written)


_SCENARIO = Kind(
    noun="scenario",
    path="/scenarios/{name}",
    id=Annotated[
        ScenarioName,
        Meta(
            pattern=f"^{scenario_file.NAME_PATTERN.pattern}$", description="The name of a scenario."
        ),
    ],
    item=ScenarioSummary,
    unknown=errors.UnknownScenario,
    order="highest precedence first",
)


@_SCENARIO.operation(
    "PUT /scenarios/{name}",
    errors.InvalidScenario,
    errors.TooManyScenarios,
    description="Stores a scenario, in JSON or YAML, with the name in the path: 201, or"
    " 200 if it replaces one that was stored by this call. The newest scenario has the"
    " highest precedence. It is enabled unless it contains `enabled: false`. An error"
    " lists the mistakes with their lines and columns. An account stores at most"
    f" {MAX_SCENARIOS} scenarios.",
    body=RequestBody("PutScenario", "The scenario, in JSON or in YAML.", (JSON, YAML)),
)
async def put_scenario(call: Call, name: str, body: YamlBody) -> tuple[int, ScenarioSummary]:
    """Create or replace a scenario."""
    try:
        forms = call.engine.webhooks.forms(call.account)
        read = partial(parse_scenario, name=name, forms=forms)
        scenario = await read_text(read, body.text)
    except ScenarioError as error:
        found = [f"line {at.line}, column {at.column}: {at.message}" for at in error.problems]
        raise InvalidScenario(in_one_line(found), param=error.problems[0].section) from None
    is_new, listed = await call.engine.scenarios.put(call.account, scenario, body.text)
    return 201 if is_new else 200, _summary(listed, {})


@_SCENARIO.operation("PUT /scenarios/{name}/enabled")
async def switch_scenario(call: Call, name: str, body: SwitchScenario) -> ScenarioSummary:
    """Enable or disable a scenario.

    Enables or disables a scenario for this account. Enabling resets the counters of its rules.
    """
    scenarios = call.engine.scenarios
    listed = await scenarios.switch(call.account, name, is_enabled=body.enabled)
    return _summary(listed, await scenarios.uses(call.account))


@_SCENARIO.operation(
    "POST /scenarios/{name}/run",
    errors.ScenarioWithoutScript,
    response="The steps that were played.",
    description="Plays the script of a scenario until the first step that fails, as `replay` does,"
    " in a new account with a frozen clock and without webhook endpoints of its own. This account,"
    " `script of NAME`, remains until the next run of the scenario deletes it, so that a scenario"
    " has at most one. A run ends after a minute of real time.",
)
async def run_scenario(call: Call, name: str) -> ScriptRun:
    """Run the script of a scenario."""
    # Only here, because the client needs a tenth of a second to import.
    from emulator.server.control.script_run import run_script, step_result

    scenario = call.account.rules.listed_as(name).scenario
    if not scenario.script:
        raise errors.ScenarioWithoutScript(name)
    whole = await _scenario(call, name)
    rules = {section: getattr(whole, section) for section in RuleCounts.__struct_fields__}
    account, played, failure = await run_script(
        call.request.app, call.engine, scenario, text=await asyncio.to_thread(yaml_text, rules)
    )
    steps = [RunStep(each.text, step_result(each), each.at) for each in played]
    if failure is not None and not (played and played[-1].failure):
        at = played[-1].at if played else format_instant(call.account.clock.now())
        steps.append(RunStep("the script", f"failed: {failure.message}", at))
    return ScriptRun(account, steps)


async def read_text(read: Callable[[str, str], T], text: str) -> T:
    """Read a body as a scenario or as a fault rule. Raises what `read` raises."""
    if len(text) <= MAX_CHARACTERS_AT_ONCE:
        return read(text, "")
    return await asyncio.to_thread(read, text, "")


def _summary(listed: Listed, uses: Mapping[tuple[str, str, int], int]) -> ScenarioSummary:
    """`uses` are the uses of rules by scenario, section and index."""
    scenario = listed.scenario
    sections = {name: getattr(scenario, name) for name in RuleCounts.__struct_fields__}
    return shown(
        ScenarioSummary,
        scenario,
        enabled=listed.is_enabled,
        origin=listed.origin,
        rules=RuleCounts(**{name: len(rules) for name, rules in sections.items()}),
        limited_rules=[
            LimitedRule(name, index, rule.times, uses.get((scenario.name, name, index), 0))
            for name, rules in sections.items()
            for index, rule in enumerate(rules)
            if rule.times is not None
        ],
        has_script=bool(scenario.script),
    )


SCENARIOS = Resource(
    tag="Scenarios",
    description="Rules that determine the outcomes of payments. An account can enable and disable"
    " the shipped scenarios and store its own.",
    operations=(
        _SCENARIO.list(
            _summaries,
            "Lists the scenarios of the account, enabled and disabled, highest precedence first.",
        ),
        _SCENARIO.get(
            _scenario,
            "Returns one scenario with its rules and its script, in the format of a scenario file.",
            item=ScenarioJson,
        ),
        put_scenario,
        _SCENARIO.delete(
            lambda call, name: call.engine.scenarios.remove(call.account, name),
            "Deletes a scenario that was stored by this API. A file with the same name applies"
            " again. A scenario from a file cannot be deleted (409).",
            errors.ScenarioIsPermanent,
        ),
        switch_scenario,
        run_scenario,
    ),
    schemas=scenario_schemas,
)


class FaultJson(Struct, frozen=True):
    """A fault rule that was added by this API."""

    id: Annotated[FaultId, doc("Its identifier, with the prefix `flt_`.")]
    # These three have the same schemas as in a rule of a scenario.
    when: JsonObject
    then: JsonObject
    times: int | UnsetType = UNSET
    used: Annotated[int, Meta(ge=0, description="With `times`, the uses.")] | UnsetType = UNSET


async def _faults(call: Call) -> list[FaultJson]:
    uses = await call.engine.scenarios.uses(call.account)
    faults = call.account.rules.overrides.faults
    place = (RuleSection.FAULTS.value, 0)
    return [_fault_json(fault, uses.get((fault.id, *place), 0)) for fault in faults]


@operation(
    "POST /faults",
    "The fault rule.",
    errors.MissingParameter,
    errors.InvalidFault,
    errors.TooManyFaults,
    description="Adds a fault rule, without a file, for requests to `/v1` after this"
    f" call. An account has at most {MAX_FAULTS} such rules. A rule that was applied"
    " `times` times does not count.",
    body=RequestBody("AddFault", "The fault rule."),
    status=201,
)
async def add_fault(call: Call, body: YamlBody) -> FaultJson:
    """Add a fault."""
    check_names(body.members, body.repeated, _MEMBERS)
    if body.members.get("then") is None:
        raise MissingParameter("then")
    try:
        rule = await read_text(read_fault_rule_text, body.text)
    except ScenarioError as error:
        message = in_one_line([problem.message for problem in error.problems])
        raise InvalidFault(message, param=error.problems[0].section) from None
    return _fault_json(await call.engine.scenarios.add_fault(call.account, rule, body.text), 0)


@operation("DELETE /faults", "Deleted.")
async def clear_faults(call: Call) -> None:
    """Delete all faults.

    Deletes all fault rules that were added by this API. The faults of scenarios remain.
    """
    await call.engine.scenarios.remove_fault(call.account, None)


def _fault_json(fault: PostedFault, uses: int) -> FaultJson:
    """A fault rule; for one with `times`, also the number of its uses."""
    used = UNSET if fault.rule.times is None else uses
    return FaultJson(id=fault.id, **scenario_file.fault_rule_json(fault.rule), used=used)


_FAULT = Kind(
    noun="fault",
    path="/faults/{fault_id}",
    id=Annotated[FaultId, identifies("a fault rule")],
    item=FaultJson,
    unknown=errors.UnknownFault,
    order="newest and highest precedence first",
)
POSTED_FAULTS = Resource(
    tag="Faults",
    description="Rules that make requests to `/v1` fail, without a scenario file.",
    operations=(
        _FAULT.list(
            _faults,
            "Lists the fault rules that were added by this API, newest and highest precedence"
            " first. For a rule with `times`, `used` is the number of times that it was applied.",
        ),
        add_fault,
        clear_faults,
        _FAULT.delete(
            lambda call, fault_id: call.engine.scenarios.remove_fault(call.account, fault_id),
            "Deletes one fault rule.",
        ),
    ),
)
