"""The pages about scenarios, faults, snapshots and recordings, and about one scenario."""

from collections.abc import Mapping
from typing import Any

from emulator.scenarios.values import RuleSection
from emulator.server.dashboard.view_request import ViewRequest
from emulator.server.engine.recording.yaml_writer import yaml_text

_CREATE = {"request": "create_payment"}

ONE_CLICK_FAULTS: Mapping[str, Mapping[str, Any]] = {
    "The next create returns 500 after the commit": {
        "when": _CREATE,
        "then": {"status": 500, "point": "after_commit"},
        "times": 1,
    },
    "The next create returns 500 before the commit": {
        "when": _CREATE,
        "then": {"status": 500},
        "times": 1,
    },
    "The next create gets no response after the commit": {
        "when": _CREATE,
        "then": {"drop": True, "point": "after_commit"},
        "times": 1,
    },
    "The next request gets no response": {"then": {"drop": True}, "times": 1},
    "The next response ends in its middle": {"then": {"truncate": True}, "times": 1},
    "The next request returns 429 with Retry-After: 3": {
        "then": {"status": 429, "retry_after": 3},
        "times": 1,
    },
    "The next request takes 10 s": {"then": {"latency": "10s"}, "times": 1},
    "Every request takes 1 s": {"then": {"latency": "1s"}},
    "Every second retrieve returns 500": {
        "when": {"request": "retrieve_payment", "every": 2},
        "then": {"status": 500},
    },
}
"""The fault rules that one button each adds, by its text."""

EXAMPLE = """\
description: Every payment over 1,000 birr fails.
outcomes:
  - when: {amount: {gte: 100000}}
    then:
      - {status: failed, reason: insufficient_balance}
"""


async def scenario_list(page: ViewRequest) -> Mapping[str, Any]:
    """The scenarios, the posted faults and the snapshots of the account."""
    scenarios = (await page.get("/scenarios"))["data"]
    return {
        # The enabled ones first, each group in the order of precedence.
        "scenarios": sorted(scenarios, key=lambda scenario: not scenario["enabled"]),
        "faults": [(fault, _rule_text(fault)) for fault in (await page.get("/faults"))["data"]],
        "one_click_faults": ONE_CLICK_FAULTS,
        "snapshots": (await page.get("/snapshots"))["data"],
        "example": EXAMPLE,
        "curl": page.curl("/scenarios"),
    }


async def scenario_details(page: ViewRequest) -> Mapping[str, Any]:
    """A scenario with its rules, their remaining uses, and its text."""
    scenario = await page.get(f"/scenarios/{page.item}")
    limited = {(each["section"], each["rule"]): each for each in scenario["limited_rules"]}
    sections = {section.value: scenario[section.value] for section in RuleSection}
    document = {"description": scenario["description"], **sections, "script": scenario["script"]}
    return {
        "scenario": scenario,
        "curl": page.curl(f"/scenarios/{page.item}"),
        "rules": [
            (section, _rule_text(rule), limited.get((section, index)))
            for section, rules in sections.items()
            for index, rule in enumerate(rules)
        ],
        "text": yaml_text({name: value for name, value in document.items() if value}),
    }


def _rule_text(rule: Mapping[str, Any]) -> str:
    """A rule as it is written in a file."""
    return yaml_text({name: rule[name] for name in rule if name not in ("id", "used")})
