"""The calls on fault rules that belong to no scenario."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from emulator.domain import errors
from emulator.domain.errors import InvalidFault, MissingParameter
from emulator.scenarios.loader import read_fault_rule_text
from emulator.scenarios.problems import ScenarioError
from emulator.scenarios.scenario_file import fault_rule_json
from emulator.server.api.bodies import YamlBody
from emulator.server.control.calls import Call, check_names, operation
from emulator.server.control.scenarios import MAX_PROBLEMS_SHOWN, read_text
from emulator.server.control.types import FaultId
from emulator.server.engine.accounts.scenarios import MAX_FAULTS
from emulator.server.engine.state.rule_choice import FAULTS_SECTION
from emulator.server.engine.state.rules import PostedFault
from emulator.server.openapi.declarations import JsonObject, RequestBody, Resource, doc

_MEMBERS = ("when", "then", "times")


class FaultPath(Struct, frozen=True):
    fault_id: Annotated[FaultId, Meta(min_length=1, description="The identifier of a fault rule.")]


class FaultJson(Struct, frozen=True):
    """A fault rule that was added by this API."""

    id: Annotated[FaultId, doc("Its identifier, with the prefix `flt_`.")]
    # The schemas of these three are those of a rule in a scenario.
    when: JsonObject
    then: JsonObject
    times: int | UnsetType = UNSET
    used: (
        Annotated[
            int,
            Meta(
                ge=0,
                description="The number of times that it was applied; present only with `times`.",
            ),
        ]
        | UnsetType
    ) = UNSET


class FaultList(Struct, frozen=True):
    """The fault rules, newest and highest precedence first."""

    data: list[FaultJson]


@operation("GET /faults", "The fault rules.")
async def list_faults(call: Call) -> FaultList:
    """List faults.

    Lists the fault rules that were added by this API, newest and highest precedence first. For
    a rule with `times`, `used` is the number of times that it was applied.
    """
    uses = await call.engine.scenarios.uses(call.account)
    faults = call.account.rules.overrides.faults
    return FaultList([_json(fault, uses.get((fault.id, FAULTS_SECTION, 0), 0)) for fault in faults])


@operation(
    "POST /faults",
    "The fault rule.",
    errors.MissingParameter,
    errors.InvalidFault,
    errors.TooManyFaults,
    description="Adds a fault rule, without a file, for requests to `/v1` after this"
    f" call. An account has at most {MAX_FAULTS} such rules. A rule that was applied"
    " `times` times does not count.",
    body=RequestBody("The fault rule.", "AddFault"),
    status=201,
)
async def add_fault(call: Call, body: YamlBody) -> FaultJson:
    # Unlike for other bodies, an unknown member takes precedence over one that occurs twice.
    """Add a fault."""
    check_names(body.members, [], _MEMBERS)
    check_names((), body.repeated, _MEMBERS)
    if body.members.get("then") is None:
        raise MissingParameter("then")
    try:
        rule = await read_text(read_fault_rule_text, body.text)
    except ScenarioError as error:
        messages = (problem.message for problem in error.problems[:MAX_PROBLEMS_SHOWN])
        raise InvalidFault("; ".join(messages), param=error.problems[0].key) from None
    return _json(await call.engine.scenarios.add_fault(call.account, rule, body.text), 0)


@operation("DELETE /faults", "Deleted.")
async def clear_faults(call: Call) -> None:
    """Delete all faults.

    Deletes all fault rules that were added by this API. The faults of scenarios remain.
    """
    await call.engine.scenarios.remove_fault(call.account, None)


@operation("DELETE /faults/{fault_id}", "Deleted.", errors.UnknownFault)
async def delete_fault(call: Call, path: FaultPath) -> None:
    """Delete a fault.

    Deletes one fault rule.
    """
    await call.engine.scenarios.remove_fault(call.account, path.fault_id)


def _json(fault: PostedFault, uses: int) -> FaultJson:
    """A fault rule; for one with `times`, also the number of its uses."""
    used = UNSET if fault.rule.times is None else uses
    return FaultJson(id=fault.id, **fault_rule_json(fault.rule), used=used)


POSTED_FAULTS = Resource(
    tag="Faults",
    description="Rules that make requests to `/v1` fail, without a scenario file.",
    operations=(list_faults, add_fault, clear_faults, delete_fault),
)
