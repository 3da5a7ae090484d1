"""Writes the values of a scenario as JSON, which reads as the same values.

JSON is YAML too. Keys that have their default are left out.
"""

from emulator.scenarios.expiry import EXPIRY_RULE
from emulator.scenarios.faults import FAULT_RULE
from emulator.scenarios.outcomes import OUTCOME, OUTCOME_RULE
from emulator.scenarios.script import SCRIPT_STEP
from emulator.scenarios.webhook_faults import WEBHOOK_RULE, WEBHOOK_THEN

outcome_json = OUTCOME.write
outcome_rule_json = OUTCOME_RULE.write
expiry_rule_json = EXPIRY_RULE.write
fault_rule_json = FAULT_RULE.write
webhook_rule_json = WEBHOOK_RULE.write
delivery_fault_json = WEBHOOK_THEN.write
step_json = SCRIPT_STEP.write
