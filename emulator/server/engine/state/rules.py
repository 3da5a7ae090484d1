"""The scenarios and faults of one account, in the order in which they are considered."""

import logging
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from functools import cached_property
from typing import Any, Literal, TypeVar

import msgspec
import msgspec.structs

from emulator.domain.errors import UnknownScenario
from emulator.domain.message_text import nearest_word_hint
from emulator.scenarios.entries import ScenarioError
from emulator.scenarios.rules import PlacedRule, RuleKey
from emulator.scenarios.values import FaultRule, RuleSection, Scenario
from emulator.server.storage import scenarios
from emulator.server.storage.batch import Transaction

T = TypeVar("T")
logger = logging.getLogger(__name__)


class Origin(StrEnum):
    """Where a scenario comes from, the strongest first."""

    CONTROL = "control"
    FILE = "file"
    SHIPPED = "shipped"


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario that an account has, and whether it is on there."""

    scenario: Scenario
    origin: Origin
    is_enabled: bool


class PostedFault(msgspec.Struct, frozen=True, kw_only=True):
    """A fault rule that was added to an account by a request, without a file."""

    id: str
    number: int
    rule: FaultRule


class AccountOverrides(msgspec.Struct, frozen=True, kw_only=True):
    """An account's own scenarios and faults, newest first, and its switched scenarios."""

    scenarios: tuple[Scenario, ...] = ()
    switches: dict[str, bool] = {}
    faults: tuple[PostedFault, ...] = ()

    def changed(self, **changes: object) -> "AccountOverrides":
        return msgspec.structs.replace(self, **changes)

    def without(self, name: str) -> "AccountOverrides":
        """The overrides without the scenario of this name and without its switch."""
        return self.changed(
            scenarios=tuple(other for other in self.scenarios if other.name != name),
            switches={other: is_on for other, is_on in self.switches.items() if other != name},
        )


PlacedFault = PlacedRule[FaultRule]


def _placed_fault(source: str, place: int, rule: FaultRule) -> PlacedFault:
    return PlacedRule(rule=rule, key=RuleKey(source, RuleSection.FAULTS, place))


LoadScenarios = Callable[[Literal["all", "on", "none"]], "tuple[tuple[Origin, Scenario], ...]"]
"""Reads the scenarios of the settings, and shipped ones: all, those on at start, or none."""


class Library:
    """The scenarios of the settings and the shipped ones, the strongest first; read when needed."""

    def __init__(self, load: LoadScenarios) -> None:
        self._load = load

    @cached_property
    def scenarios(self) -> tuple[tuple[Origin, Scenario], ...]:
        return self._load("all")

    @cached_property
    def on_at_start(self) -> tuple[Scenario, ...]:
        return tuple(scenario for _, scenario in self._load("on") if scenario.enabled)

    @cached_property
    def beyond_outcomes(self) -> tuple[Scenario, ...]:
        """Scenarios that may have more than outcomes; enabled shipped scenarios have only outcomes.

        So the first payment does not wait for the files of the shipped ones.
        """
        return tuple(scenario for scenario in self.given if scenario.enabled)

    @property
    def given(self) -> tuple[Scenario, ...]:
        """The scenarios of the settings, on or off."""
        return tuple(scenario for _, scenario in self._load("none"))

    @cached_property
    def initial_rules(self) -> "Rules":
        """The rules of accounts without overrides."""
        return Rules(self)

    def replace(self, load: LoadScenarios) -> None:
        """Use other scenarios; `with_overrides` applies them to the rules of an account."""
        vars(self).clear()
        self._load = load


class Rules:
    """The scenarios of one account. A value: rebuilt when the overrides of the account change."""

    def __init__(self, library: Library, overrides: AccountOverrides | None = None) -> None:
        self._library = library
        self.overrides = overrides or AccountOverrides()

    def with_overrides(self, overrides: AccountOverrides) -> "Rules":
        """The rules with these overrides; accounts without overrides share one value."""
        is_initial = overrides == AccountOverrides()
        return self._library.initial_rules if is_initial else Rules(self._library, overrides)

    @cached_property
    def listed(self) -> tuple[Listed, ...]:
        """All scenarios, on or off, in the order of precedence."""
        own = [(Origin.CONTROL, scenario) for scenario in self.overrides.scenarios]
        taken = {scenario.name for _, scenario in own}
        others = [pair for pair in self._library.scenarios if pair[1].name not in taken]
        switches = self.overrides.switches
        return tuple(
            Listed(
                scenario=scenario,
                origin=origin,
                is_enabled=switches.get(scenario.name, scenario.enabled),
            )
            for origin, scenario in (*own, *others)
        )

    @property
    def unshipped(self) -> tuple[Scenario, ...]:
        """The account's own scenarios, and the settings' scenarios, on or off."""
        own = self.overrides.scenarios
        taken = {scenario.name for scenario in own}
        return (*own, *(each for each in self._library.given if each.name not in taken))

    def named(self, name: str) -> Listed | None:
        return next((listed for listed in self.listed if listed.scenario.name == name), None)

    def listed_as(self, name: str) -> Listed:
        """The scenario of this name. Raises UnknownScenario, with the nearest name."""
        listed = self.named(name)
        if listed is None:
            names = [each.scenario.name for each in self.listed]
            raise UnknownScenario(name, hint=nearest_word_hint(name, names))
        return listed

    @cached_property
    def scenarios(self) -> tuple[Scenario, ...]:
        """The enabled scenarios, the highest precedence first."""
        if self._is_initial:
            return self._library.on_at_start
        return tuple(listed.scenario for listed in self.listed if listed.is_enabled)

    @property
    def _is_initial(self) -> bool:
        """Whether all scenarios are the library's scenarios, each on or off as at start."""
        return not (self.overrides.scenarios or self.overrides.switches)

    @property
    def _beyond_outcomes(self) -> tuple[Scenario, ...]:
        return self._library.beyond_outcomes if self._is_initial else self.scenarios

    @cached_property
    def faults(self) -> tuple[PlacedFault, ...]:
        """The faults of requests, the strongest first."""
        posted = [_placed_fault(fault.id, 0, fault.rule) for fault in self.overrides.faults]
        written = [
            _placed_fault(scenario.name, index, rule)
            for scenario in self._beyond_outcomes
            for index, rule in enumerate(scenario.faults)
        ]
        return (*posted, *written)

    @cached_property
    def with_expiry(self) -> tuple[Scenario, ...]:
        """Scenarios that set how long a checkout stays open; usually none does."""
        return tuple(scenario for scenario in self._beyond_outcomes if scenario.expiry)

    @cached_property
    def has_checkout_rules(self) -> bool:
        return any(scenario.checkout for scenario in self.scenarios)

    @cached_property
    def has_webhook_rules(self) -> bool:
        return any(scenario.webhooks for scenario in self._beyond_outcomes)


def stored_overrides(tx: Transaction, account: int) -> AccountOverrides:
    """The overrides of an account, read from the database.

    What cannot be read was written by a later version; it is left out with a warning.
    """
    sources, faults = scenarios.sources(tx, account), scenarios.faults(tx, account)
    return AccountOverrides(
        scenarios=tuple(_readable("scenario", _read_scenario, sources)) if sources else (),
        switches=scenarios.switches(tx, account),
        faults=tuple(_readable("fault", _read_fault, faults)) if faults else (),
    )


def _read_scenario(name: str, source: str) -> Scenario:
    from emulator.scenarios.loader import parse_scenario

    return parse_scenario(source, name, name=name)


def _read_fault(number: int, fault_id: str, source: str) -> PostedFault:
    from emulator.scenarios.loader import read_fault_rule_text

    return PostedFault(id=fault_id, number=number, rule=read_fault_rule_text(source, fault_id))


def _readable(kind: str, read: Callable[..., T], rows: Iterable[tuple[Any, ...]]) -> Iterator[T]:
    for row in rows:
        try:
            yield read(*row)
        except ScenarioError as error:
            logger.warning("a stored %s cannot be read: %s", kind, error)
