"""What an account says of scenarios and faults, read back from the database."""

import logging

from emulator.engine.state.rules import AccountOverrides, PostedFault
from emulator.scenarios.loader import parse_scenario, read_fault_rule_text
from emulator.scenarios.problems import ScenarioError
from emulator.scenarios.values import Scenario
from emulator.storage import scenarios
from emulator.storage.batch import Transaction

logger = logging.getLogger(__name__)


def stored_overrides(tx: Transaction, account: int) -> AccountOverrides:
    """What an account says, as the database has it."""
    own: list[Scenario] = []
    for name, source in scenarios.sources(tx, account):
        try:
            own.append(parse_scenario(source, name, name=name))
        except ScenarioError as error:
            # Written by a version that knew more; all else of the account can be used.
            logger.warning("a stored scenario cannot be read: %s", error)
    faults: list[PostedFault] = []
    for number, fault_id, source in scenarios.faults(tx, account):
        try:
            rule = read_fault_rule_text(source, fault_id)
        except ScenarioError as error:
            logger.warning("a stored fault cannot be read: %s", error)
        else:
            faults.append(PostedFault(id=fault_id, number=number, rule=rule))
    return AccountOverrides(
        scenarios=tuple(own),
        switches=scenarios.switches(tx, account),
        faults=tuple(faults),
    )
