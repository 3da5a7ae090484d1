"""What the document says of an account's scenarios and faults."""

from emulator.control.document.operations import JSON, Answer, Body, Link, Operation, Subject
from emulator.control.document.shapes import path_parameter
from emulator.control.recording import MEDIA_TYPE as YAML
from emulator.engine.scenarios import MOST_FAULTS, MOST_SCENARIOS
from emulator.scenarios.vocabulary import NAME_PATTERN

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
        description="The account's scenarios, on or off, in the order of their precedence.",
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
        summary="Look at a scenario",
        description="One scenario with all that it says, as its file would.",
        parameters=("ScenarioName",),
        answers={200: Answer(description="The scenario.", schema="Scenario")},
        codes={404: _UNKNOWN},
    ),
    Operation(
        method="put",
        path=_SCENARIO,
        id="put_scenario",
        summary="Give the account a scenario",
        description="In place of an earlier one of this name; the newest is the strongest. It is on"
        " unless it says `enabled: false`. Every mistake is told with its line and column. An"
        f" account has at most {MOST_SCENARIOS} of its own.",
        parameters=("ScenarioName",),
        body=Body(
            description="The scenario, in JSON or in YAML.",
            schema="PutScenario",
            media_types=(JSON, YAML),
        ),
        answers={
            200: Answer(
                description="The scenario, in place of the earlier one.", schema="ScenarioSummary"
            ),
            201: Answer(
                description="The scenario; the account had none of this name of its own.",
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
        summary="Take a scenario away",
        description="Only one that was given through this API; one of the same name from a file is"
        " back then.",
        parameters=("ScenarioName",),
        answers={204: Answer(description="It is gone.")},
        codes={404: _UNKNOWN, 409: ("scenario_is_permanent",)},
    ),
    Operation(
        method="put",
        path=f"{_SCENARIO}/enabled",
        id="switch_scenario",
        summary="Switch a scenario on or off",
        description="For this account. One that is switched on begins to count anew.",
        parameters=("ScenarioName",),
        body=Body(description="On or off.", schema="SwitchScenario"),
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
        description="The fault rules that were given without a file, the newest and strongest"
        " first.",
        answers={200: Answer(description="The fault rules.", schema="FaultList")},
    ),
    Operation(
        method="post",
        path="/_emulator/faults",
        id="add_fault",
        summary="Add a fault",
        description="Lets requests to `/v1` go wrong from now on. An account has at most"
        f" {MOST_FAULTS} of them; those that have retired make room.",
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
        summary="Take all faults away",
        description="Those of scenarios stay.",
        answers={204: Answer(description="They are gone.")},
    ),
    Operation(
        method="delete",
        path="/_emulator/faults/{fault_id}",
        id="delete_fault",
        summary="Take a fault away",
        description="Removes one fault rule.",
        parameters=("FaultId",),
        answers={204: Answer(description="It is gone.")},
        codes={404: ("fault_not_found",)},
    ),
)

SCENARIOS = Subject(
    tag="Scenarios",
    description="What is luck or waiting in real life, decided: each account switches scenarios on"
    " and off and has its own beside those that are shipped.",
    operations=_OF_SCENARIOS,
    parameters=_PARAMETERS,
)
FAULTS = Subject(
    tag="Faults",
    description="Rules by which requests to `/v1` go wrong, without a file.",
    operations=_OF_FAULTS,
)
