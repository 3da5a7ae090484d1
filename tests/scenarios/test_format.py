"""Each line of `format.txt` is a text with the problems that reading it notes.

A section's name says where the text stands. Before the text is its verdict: `valid`, `refused` by
the reader and by the JSON Schema, or refused by the `reader` alone, since a schema cannot express
the rule, or the parser of YAML does not show the mistake. `python -m tests.scenarios.test_format`
writes the verdicts and problems of all lines.
"""

import json
import re
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from emulator.scenarios.entries import Problem, ScenarioError
from emulator.scenarios.faults import LONE_FAULT_RULE
from emulator.scenarios.loader import parse_scenario, read_fault_rule_text
from emulator.scenarios.scenario_file import scenario_schema

FILE = Path(__file__).with_name("format.txt")
VALIDATOR = Draft202012Validator(scenario_schema())
LONE_VALIDATOR = Draft202012Validator(LONE_FAULT_RULE.schema())
HEAD = "version: 1\nname: case\n"
TEXT, LONE_FAULT = "text", "lone fault"
# Texts of these sections have several lines, and are written as JSON.
ESCAPED = {TEXT, LONE_FAULT}
TEMPLATES = {
    TEXT: "$",
    LONE_FAULT: "$",
    "file": f"{HEAD}$\n",
    "payment when": f"{HEAD}outcomes:\n  - when: $\n    then: []\n",
    "outcome rule": f"{HEAD}outcomes:\n  [ $ ]\n",
    "outcome steps": f"{HEAD}outcomes:\n  - when: {{}}\n    then:   [$]\n",
    "expiry rule": f"{HEAD}expiry:\n  [ $ ]\n",
    "checkout rule": f"{HEAD}checkout:\n  - $\n",
    "fault rule": f"{HEAD}faults:\n  - $\n",
    "fault when": f"{HEAD}faults:\n  - when: $\n    then: {{drop: true}}\n",
    "fault then": f"{HEAD}faults:\n  - when: {{}}\n    then: $\n",
    "webhook rule": f"{HEAD}webhooks:\n  - $\n",
    "webhook when": f"{HEAD}webhooks:\n  - when: $\n    then: {{copies: 2}}\n",
    "webhook then": f"{HEAD}webhooks:\n  - when: {{}}\n    then: $\n",
    "step": f"{HEAD}script:\n  - create: {{as: order}}\n  - create: {{as: other}}\n  - $\n",
    "script item": f"{HEAD}script:\n  $\n",
}


def cases() -> list[tuple[str, str, str, str]]:
    """The section, the text, the verdict and the problems of each line."""
    found = []
    section = ""
    for line in FILE.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = line[1:-1]
        elif line:
            text, _, problems = line[8:].partition(" -> ")
            found.append((section, text, line[:8].rstrip(), problems))
    return found


def problems_of(section: str, text: str) -> tuple[Problem, ...]:
    try:
        if section == LONE_FAULT:
            read_fault_rule_text(text, "case.yaml")
        else:
            parse_scenario(text, "case.yaml")
    except ScenarioError as error:
        return error.problems
    return ()


def is_refused_by_schema(section: str, text: str) -> bool:
    try:
        # Through JSON, since that is all that an editor's schema knows of.
        document = json.loads(json.dumps(yaml.safe_load(text)))
    except (yaml.YAMLError, TypeError, ValueError):
        return False
    return not (LONE_VALIDATOR if section == LONE_FAULT else VALIDATOR).is_valid(document)


def check(section: str, written: str) -> tuple[str, str]:
    """The verdict, and the problems as the file has them."""
    text = TEMPLATES[section].replace("$", json.loads(written) if section in ESCAPED else written)
    problems = problems_of(section, text)
    is_refused = is_refused_by_schema(section, text)
    if not problems:
        return ("schema only" if is_refused else "valid"), ""
    notes = " && ".join(f"{each.line}:{each.column} {each.message}" for each in problems)
    # What follows is of the parser, of which there are two.
    notes = re.sub("(must be YAML): .*", r"\1", notes)
    return ("refused" if is_refused else "reader"), notes


@pytest.mark.parametrize("section", TEMPLATES)
def test_a_text_is_valid_or_has_problems_with_their_places(section: str) -> None:
    for _, text, *recorded in filter(lambda case: case[0] == section, cases()):
        assert [*check(section, text)] == recorded, text


def main() -> None:
    lines = []
    for section in TEMPLATES:
        lines.append(f"\n[{section}]")
        for _, text, _, _ in filter(lambda case: case[0] == section, cases()):
            verdict, problems = check(section, text)
            lines.append(f"{verdict:8}{text}{f' -> {problems}' if problems else ''}")
    FILE.write_text("\n".join(lines).lstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
