"""Adds, switches and removes the scenarios and faults of an account."""

from collections.abc import Iterable

from emulator import ids
from emulator.domain.errors import (
    ScenarioIsPermanent,
    TooManyFaults,
    TooManyScenarios,
    UnknownFault,
)
from emulator.domain.payment import Payment
from emulator.scenarios.values import FaultRule, RuleSection, Scenario
from emulator.server.engine.state.account import Account, Owner, applied_source
from emulator.server.engine.state.rules import Library, Listed, LoadScenarios, Origin, PostedFault
from emulator.server.storage import payments, scenarios
from emulator.server.storage.batch import Transaction
from emulator.server.storage.database import Database, reads, writes

MAX_SCENARIOS = 200
MAX_FAULTS = 200


class Scenarios:
    """Changes the scenarios and faults of one account, in one transaction each."""

    def __init__(self, database: Database, library: Library) -> None:
        self._database = database
        self._library = library

    @writes()
    def reload(
        self,
        tx: Transaction,
        accounts: Iterable[Account],
        load: LoadScenarios,
        names: Iterable[str],
    ) -> None:
        """Use edited files in all accounts; the counts of the named scenarios are reset."""
        self._library.replace(load)
        for account in (account for account in accounts if not account.is_closed):
            own = {scenario.name for scenario in account.rules.overrides.scenarios}
            for name in set(names) - own:
                scenarios.reset_counts(tx, account.number, name)
                _start(tx, account, name)
            _override(tx, account)

    @writes()
    def put(
        self, tx: Transaction, account: Account, scenario: Scenario, source: str
    ) -> tuple[bool, Listed]:
        """Add a scenario to an account, or replace its own one; it is the strongest from now on.

        It is on unless its file disables it, and the counts of its rules are reset. Returns
        whether the account had no own scenario of this name. Raises TooManyScenarios,
        InvalidApiKey.
        """
        account.check_open()
        overrides, name = account.rules.overrides, scenario.name
        others = overrides.without(name)
        if len(others.scenarios) >= MAX_SCENARIOS:
            raise TooManyScenarios(MAX_SCENARIOS)
        scenarios.put(tx, account.number, name, source)
        self._reset_counts(tx, account, name)
        own = (scenario, *others.scenarios)
        _override(tx, account, scenarios=own, switches=others.switches)
        return len(own) > len(overrides.scenarios), account.rules.listed_as(name)

    @writes()
    def remove(self, tx: Transaction, account: Account, name: str) -> None:
        """Remove a scenario of the account; one of the same name from a file applies again.

        Raises UnknownScenario, ScenarioIsPermanent for one that is only in a file, InvalidApiKey.
        """
        account.check_open()
        if account.rules.listed_as(name).origin is not Origin.CONTROL:
            raise ScenarioIsPermanent(name)
        scenarios.delete(tx, account.number, name)
        self._reset_counts(tx, account, name)
        others = account.rules.overrides.without(name)
        _override(tx, account, scenarios=others.scenarios, switches=others.switches)

    @staticmethod
    def _reset_counts(tx: Transaction, account: Account, source: str) -> None:
        scenarios.reset_counts(tx, account.number, source)
        scenarios.switch(tx, account.number, source, is_enabled=None)
        _start(tx, account, source)

    @writes()
    def switch(self, tx: Transaction, account: Account, name: str, *, is_enabled: bool) -> Listed:
        """Switch a scenario on or off; its counts are reset.

        Raises UnknownScenario, InvalidApiKey.
        """
        account.check_open()
        listed = account.rules.listed_as(name)
        if listed.is_enabled is is_enabled:
            return listed
        self._reset_counts(tx, account, name)
        scenarios.switch(tx, account.number, name, is_enabled=is_enabled)
        _override(tx, account, switches={**account.rules.overrides.switches, name: is_enabled})
        return account.rules.listed_as(name)

    @writes()
    def add_fault(
        self, tx: Transaction, account: Account, rule: FaultRule, source: str
    ) -> PostedFault:
        """Add a fault rule for requests. Raises TooManyFaults, InvalidApiKey."""
        account.check_open()
        if len(account.rules.overrides.faults) >= MAX_FAULTS:
            _remove_used_up(tx, account)
        faults = account.rules.overrides.faults
        if len(faults) >= MAX_FAULTS:
            raise TooManyFaults(MAX_FAULTS)
        number = scenarios.next_fault(tx, account.number)
        posted = PostedFault(id=ids.fault_id(account.test.stream, number), number=number, rule=rule)
        scenarios.add_fault(tx, account.number, number, posted.id, source)
        _start(tx, account, posted.id)
        _override(tx, account, faults=(posted, *faults))
        return posted

    @reads()
    def uses(self, tx: Transaction, account: Account) -> dict[tuple[str, str, int], int]:
        """How often each rule with `times` has applied, by its source, section and index.

        The source is the name of a scenario or the id of a posted fault.
        """
        return scenarios.all_uses(tx, account.number)

    @writes()
    def remove_fault(self, tx: Transaction, account: Account, fault_id: str | None) -> None:
        """Remove one fault rule, or (None) all that were posted.

        Raises UnknownFault, InvalidApiKey.
        """
        account.check_open()
        faults = account.rules.overrides.faults
        removed = [fault for fault in faults if fault_id in (None, fault.id)]
        if fault_id is not None and not removed:
            raise UnknownFault(fault_id)
        _remove_faults(tx, account, removed)

    @writes()
    def place(self, tx: Transaction, owner: Owner, payment_id: str, name: str) -> Payment:
        """Apply a scenario to one payment, where it is the strongest, whether on or off.

        Raises UnknownPayment, UnknownScenario, InvalidApiKey.
        """
        account = owner.account
        account.check_open()
        payment = payments.find(tx, owner.number, payment_id)
        if not account.rules.listed_as(name).is_enabled:
            _start(tx, account, applied_source(name, payment.position))
        scenarios.apply(tx, payment.position, name)
        tx.set(account, "payment_scenarios", {**account.payment_scenarios, payment.position: name})
        return payment


def _remove_used_up(tx: Transaction, account: Account) -> None:
    """Remove the faults whose `times` are used up, to make space for new ones."""
    uses = scenarios.all_uses(tx, account.number)
    faults = account.rules.overrides.faults
    place = (RuleSection.FAULTS.value, 0)
    used_up = [fault for fault in faults if uses.get((fault.id, *place), 0) == fault.rule.times]
    _remove_faults(tx, account, used_up)


def _remove_faults(tx: Transaction, account: Account, removed: list[PostedFault]) -> None:
    for fault in removed:
        scenarios.delete_fault(tx, account.number, fault.id)
        scenarios.reset_counts(tx, account.number, fault.id)
        scenarios.delete_start(tx, account.number, fault.id)
    remaining = tuple(fault for fault in account.rules.overrides.faults if fault not in removed)
    _override(tx, account, faults=remaining)


def _start(tx: Transaction, account: Account, source: str) -> None:
    """Count the time of a scenario's or fault's rules from the present."""
    now = account.clock.now()
    scenarios.start(tx, account.number, source, now)
    tx.set(account, "scenario_starts", {**account.scenario_starts, source: now})


def _override(tx: Transaction, account: Account, **changes: object) -> None:
    """Change the overrides of an account within the transaction."""
    rules = account.rules
    tx.set(account, "rules", rules.with_overrides(rules.overrides.changed(**changes)))
