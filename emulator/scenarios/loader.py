"""Reads the texts of scenario files and of lone fault rules."""

from dataclasses import dataclass

from emulator.scenarios.entries import Entry, FileContext, is_empty
from emulator.scenarios.faults import LONE_FAULT_RULE
from emulator.scenarios.nodes import MapNode, problems_in
from emulator.scenarios.problems import Problem, ScenarioError
from emulator.scenarios.scenario_file import NAME_FORM, NAME_PATTERN, SCENARIO, named_scenario
from emulator.scenarios.values import FaultRule, Scenario
from emulator.scenarios.yaml_tree import read_tree


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The result of reading one file: a scenario, or problems. `line`, `column`: of its name."""

    scenario: Scenario | None
    problems: tuple[Problem, ...]
    line: int = 1
    column: int = 1


def parse_scenario(text: str, source: str, *, name: str | None = None) -> Scenario:
    """Read a scenario file; `source` is what problems call it.

    With a `name`, from elsewhere, the text may leave out `version` and `name`, and must not have
    another name. Raises ScenarioError with every problem of the file.
    """
    reading = read_scenario(text, source, name=name)
    if reading.scenario is None:
        raise ScenarioError(reading.problems)
    return reading.scenario


def read_scenario(text: str, source: str, *, name: str | None = None) -> Reading:
    """As `parse_scenario`, for callers that collect the problems of several files."""
    context = FileContext(source)
    tree = read_tree(text, context)
    if tree is None:
        return Reading(scenario=None, problems=context.problems)
    entry = Entry(node=tree, label="a scenario", context=context)
    mapping = SCENARIO if name is None else named_scenario(name)
    members = mapping.members(entry)
    if members is None:
        return Reading(scenario=None, problems=problems_in(tree, context))
    if name is not None and not NAME_PATTERN.fullmatch(name):
        entry.note(f"the name in the address must be {NAME_FORM}, not {name!r}")
    scenario = mapping.build(members)
    place = members.known.get("name", entry).node
    return Reading(
        scenario=None if context.problems else scenario,
        problems=problems_in(tree, context),
        line=place.line,
        column=place.column,
    )


def read_fault_rule_text(text: str, source: str) -> FaultRule:
    """Read a rule that stands alone; a member that is null is as good as absent.

    Raises ScenarioError with every problem of the text, which `source` is the name of.
    """
    context = FileContext(source)
    tree = read_tree(text, context, holds="a fault rule")
    if tree is None:
        raise ScenarioError(context.problems)
    entry = Entry(node=tree, label="a fault rule", context=context)
    if isinstance(tree, MapNode):
        given = [pair for pair in tree.pairs if not is_empty(entry._replace(node=pair[1]))]
        entry = entry._replace(node=tree._replace(pairs=tuple(given)))
    rule = LONE_FAULT_RULE.read(entry)
    if rule is None or context.problems:
        raise ScenarioError(problems_in(entry.node, context))
    return rule
