"""What the document says of an account's scenarios and faults."""

from emulator.control.document.operations import JSON, Answer, Body, Link, Operation, Subject
from emulator.control.document.shapes import path_parameter
from emulator.control.recording import MEDIA_TYPE as YAML
from emulator.engine.accounts.scenarios import MAX_FAULTS, MAX_SCENARIOS
from emulator.scenarios.scenario_file import NAME_PATTERN

_SCENARIO = "/_emulator/scenarios/{name}"
_UNKNOWN = ("scenario_not_found",)
_THE_SAME = {"name": "$request.path.name"}

_PARAMETERS = {
    "ScenarioName": path_parameter(
        "name",
        "The name of a scenario.",
        {"type": "string", "pattern": f"^{NAME_PATTERN.pattern}$"},
    ),
    "FaultId": path_parameter("fault_id", "The identifier of a fault rule."),
}

_OF_SCENARIOS = (
    Operation(
        method="get",
        path="/_emulator/scenarios",
        id="list_scenarios",
        summary="List scenarios",
        description="Lists the scenarios of the account, enabled and disabled, highest"
        " precedence first.",
        answers={
            200: Answer(
                description="The scenarios.",
                schema="ScenarioList",
                links=(
                    Link(to="get_scenario", parameters={"name": "$response.body#/data/0/name"}),
                    Link(to="switch_scenario", parameters={"name": "$response.body#/data/0/name"}),
                ),
            )
        },
    ),
    Operation(
        method="get",
        path=_SCENARIO,
        id="get_scenario",
        summary="Retrieve a scenario",
        description="Returns one scenario with its rules and its script, in the format of a"
        " scenario file.",
        parameters=("ScenarioName",),
        answers={200: Answer(description="The scenario.", schema="Scenario")},
        codes={404: _UNKNOWN},
    ),
    Operation(
        method="put",
        path=_SCENARIO,
        id="put_scenario",
        summary="Create or replace a scenario",
        description="Stores a scenario, in JSON or YAML, with the name in the path: 201, or 200"
        " if it replaces one that was stored by this call. The newest scenario has the highest"
        " precedence. It is enabled unless it contains `enabled: false`. An error lists the"
        f" mistakes with their lines and columns. An account stores at most {MAX_SCENARIOS}"
        " scenarios.",
        parameters=("ScenarioName",),
        body=Body(
            description="The scenario, in JSON or in YAML.",
            schema="PutScenario",
            media_types=(JSON, YAML),
        ),
        answers={
            200: Answer(
                description="The scenario, which replaced an earlier one.", schema="ScenarioSummary"
            ),
            201: Answer(
                description="The new scenario.",
                schema="ScenarioSummary",
                links=(
                    Link(to="get_scenario", parameters=_THE_SAME),
                    Link(to="switch_scenario", parameters=_THE_SAME),
                    Link(to="delete_scenario", parameters=_THE_SAME),
                ),
            ),
        },
        codes={400: ("invalid_scenario",), 409: ("too_many_scenarios",)},
    ),
    Operation(
        method="delete",
        path=_SCENARIO,
        id="delete_scenario",
        summary="Delete a scenario",
        description="Deletes a scenario that was stored by this API. A file with the same name"
        " applies again. A scenario from a file cannot be deleted (409).",
        parameters=("ScenarioName",),
        answers={204: Answer(description="Deleted.")},
        codes={404: _UNKNOWN, 409: ("scenario_is_permanent",)},
    ),
    Operation(
        method="put",
        path=f"{_SCENARIO}/enabled",
        id="switch_scenario",
        summary="Enable or disable a scenario",
        description="Enables or disables a scenario for this account. Enabling resets the"
        " counters of its rules.",
        parameters=("ScenarioName",),
        body=Body(description="Whether the scenario is enabled.", schema="SwitchScenario"),
        answers={200: Answer(description="The scenario.", schema="ScenarioSummary")},
        codes={400: ("missing_parameter", "invalid_enabled"), 404: _UNKNOWN},
    ),
)

_OF_FAULTS = (
    Operation(
        method="get",
        path="/_emulator/faults",
        id="list_faults",
        summary="List faults",
        description="Lists the fault rules that were added by this API, newest and highest"
        " precedence first. For a rule with `times`, `used` is the number of times that it was"
        " applied.",
        answers={200: Answer(description="The fault rules.", schema="FaultList")},
    ),
    Operation(
        method="post",
        path="/_emulator/faults",
        id="add_fault",
        summary="Add a fault",
        description="Adds a fault rule, without a file, for requests to `/v1` after this call."
        f" An account has at most {MAX_FAULTS} such rules. A rule that was applied `times` times"
        " does not count.",
        body=Body(description="The fault rule.", schema="AddFault"),
        answers={
            201: Answer(
                description="The fault rule.",
                schema="Fault",
                links=(Link(to="delete_fault", parameters={"fault_id": "$response.body#/id"}),),
            )
        },
        codes={400: ("missing_parameter", "invalid_fault"), 409: ("too_many_faults",)},
    ),
    Operation(
        method="delete",
        path="/_emulator/faults",
        id="clear_faults",
        summary="Delete all faults",
        description="Deletes all fault rules that were added by this API. The faults of"
        " scenarios remain.",
        answers={204: Answer(description="Deleted.")},
    ),
    Operation(
        method="delete",
        path="/_emulator/faults/{fault_id}",
        id="delete_fault",
        summary="Delete a fault",
        description="Deletes one fault rule.",
        parameters=("FaultId",),
        answers={204: Answer(description="Deleted.")},
        codes={404: ("fault_not_found",)},
    ),
)

SCENARIOS = Subject(
    tag="Scenarios",
    description="Rules that determine the outcomes of payments. An account can enable and"
    " disable the shipped scenarios and store its own.",
    operations=_OF_SCENARIOS,
    parameters=_PARAMETERS,
)
FAULTS = Subject(
    tag="Faults",
    description="Rules that make requests to `/v1` fail, without a scenario file.",
    operations=_OF_FAULTS,
)
