"""The calls on fault rules that belong to no scenario."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from emulator.domain import errors
from emulator.domain.errors import InvalidFault, MissingParameter
from emulator.scenarios import scenario_file
from emulator.scenarios.loader import read_fault_rule_text
from emulator.scenarios.problems import ScenarioError, in_one_line
from emulator.scenarios.values import RuleSection
from emulator.server.api.bodies import YamlBody
from emulator.server.control.calls import Call, check_names, operation
from emulator.server.control.resources import Kind
from emulator.server.control.scenarios import read_text
from emulator.server.control.types import FaultId, identifies
from emulator.server.engine.accounts.scenarios import MAX_FAULTS
from emulator.server.engine.state.rules import PostedFault
from emulator.server.openapi.declarations import JsonObject, RequestBody, Resource, doc

_MEMBERS = ("when", "then", "times")


class FaultPath(Struct, frozen=True):
    fault_id: Annotated[FaultId, identifies("a fault rule")]


class FaultJson(Struct, frozen=True):
    """A fault rule that was added by this API."""

    id: Annotated[FaultId, doc("Its identifier, with the prefix `flt_`.")]
    # These three have the same schemas as in a rule of a scenario.
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
    body=RequestBody("The fault rule.", "AddFault"),
    status=201,
)
async def add_fault(call: Call, body: YamlBody) -> FaultJson:
    """Add a fault."""
    # Unlike for other bodies, an unknown member takes precedence over one that occurs twice.
    check_names(body.members, [], _MEMBERS)
    check_names((), body.repeated, _MEMBERS)
    if body.members.get("then") is None:
        raise MissingParameter("then")
    try:
        rule = await read_text(read_fault_rule_text, body.text)
    except ScenarioError as error:
        message = in_one_line([problem.message for problem in error.problems])
        raise InvalidFault(message, param=error.problems[0].key) from None
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
    path_type=FaultPath,
    item=FaultJson,
    unknown=(errors.UnknownFault,),
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
