"""Builds the JSON Schema of scenario files, for completion in editors, from the declared keys.

Reading a file checks what a schema cannot express: the order of steps, the phone against the
method, duplicate keys, duplicate names, and the payment names that a script uses.
"""

from emulator.scenarios.kinds import JsonSchema
from emulator.scenarios.scenario_file import SCENARIO
from emulator.scenarios.script import STEP, step_schema


def scenario_schema() -> JsonSchema:
    """The JSON Schema (2020-12) of scenario files."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Scenario of the ETB payments sandbox emulator",
        "description": "Rules and a script that decide how payments, requests and webhooks behave.",
        **SCENARIO.schema(),
        "$defs": {STEP: step_schema()},
    }
