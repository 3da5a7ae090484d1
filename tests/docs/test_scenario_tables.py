"""What the documents say of scenarios and scripts is what the program accepts."""

import re

import pytest

from emulator.cli.replaying import USUAL_CLOCK
from emulator.control.pages import DEFAULT_LIMIT, LARGEST_LIMIT
from emulator.control.requests import FILTERS
from emulator.domain.faults import LARGEST_FAULT_STATUS, SMALLEST_FAULT_STATUS
from emulator.domain.webhooks import Tamper
from emulator.engine.journal import LARGEST_JOURNAL_BYTES, LARGEST_KEPT_BYTES, MOST_ENTRIES
from emulator.engine.scenarios import MOST_FAULTS, MOST_SCENARIOS
from emulator.engine.snapshots import MOST_SNAPSHOTS
from emulator.replay.performing import USUAL_BODY
from emulator.replay.seeing import REFUSAL_CHECKS
from emulator.scenarios.library import load_paths
from emulator.scenarios.loader import parse_scenario
from emulator.scenarios.vocabulary import (
    ANSWER_CHECKS,
    ANSWER_KEYS,
    ANSWERS,
    CANCEL_KEYS,
    CREATE_KEYS,
    CREATE_MEMBERS,
    EXPECT_KEYS,
    FAULT_RULE_KEYS,
    FAULT_THEN_KEYS,
    FAULT_WHEN_KEYS,
    LIST_KEYS,
    LONGEST_LATENCY_MS,
    MOST_COPIES,
    MOST_SCRIPT_STEPS,
    MOST_STEPS_PLAYED,
    PAY_KEYS,
    REPEAT_KEYS,
    RETRIEVE_KEYS,
    SCRIPT_STEPS,
    TRANSITION_KEYS,
    WEBHOOK_THEN_KEYS,
)
from emulator.settings import data_directory
from tests.docs.document import part, rows, text_of

FORMAT = "docs/reference/scenario-format.md"
SCENARIOS = "docs/guides/scenarios.md"
SCRIPTS = "docs/guides/scripts.md"
HANDLERS = "docs/guides/webhook-handlers.md"
REQUESTS = "docs/guides/inspecting-requests.md"
SNAPSHOTS = "docs/guides/snapshots.md"


def test_every_option_of_a_webhook_rule_has_a_row() -> None:
    listed = {
        row[0].strip("`").partition(":")[0]: row[1]
        for row in rows(part(FORMAT, "Effects on deliveries"))
    }
    assert list(listed) == list(WEBHOOK_THEN_KEYS)
    assert f"up to {MOST_COPIES}" in listed["copies"]
    assert set(re.findall("`([a-z]+)`", listed["tamper"])) == {word.value for word in Tamper}


@pytest.mark.parametrize(
    ("page", "title", "is_of_webhooks"),
    [(HANDLERS, "Test a handler against faults", True), (SCENARIOS, "Ready-made cases", False)],
)
def test_every_scenario_that_is_off_at_start_has_a_row(
    page: str, title: str, is_of_webhooks: bool
) -> None:
    listed = [row[1].strip("`") for row in rows(part(page, title))]
    off = [
        f"{scenario.name}.yaml"
        for scenario in load_paths([data_directory("scenarios")])
        if not scenario.enabled and bool(scenario.webhooks) is is_of_webhooks
    ]
    assert sorted(listed) == off


def test_every_key_of_a_fault_rule_has_a_row() -> None:
    listed = [_names(row[0])[0] for row in rows(part(FORMAT, "Faults"))]
    assert listed == [*FAULT_WHEN_KEYS, *FAULT_THEN_KEYS]


def test_every_step_of_a_script_has_a_row_with_its_keys() -> None:
    listed = {_names(row[0])[0]: " ".join(row[1:]) for row in rows(part(FORMAT, "Steps"))}
    assert list(listed) == list(SCRIPT_STEPS)
    keys = {
        # The others are those of the API.
        "create": set(CREATE_KEYS) - set(CREATE_MEMBERS),
        "retrieve": RETRIEVE_KEYS,
        "list": LIST_KEYS,
        "pay": PAY_KEYS,
        "answer": ANSWER_KEYS,
        "cancel": CANCEL_KEYS,
        "transition": TRANSITION_KEYS,
        "fault": FAULT_RULE_KEYS,
        "repeat": REPEAT_KEYS,
    }
    for step, its_keys in keys.items():
        assert set(its_keys) <= set(re.findall("[a-z_]+", listed[step])), step
    assert set(ANSWERS) <= set(_names(listed["answer"]))


def test_the_examples_of_the_steps_are_a_script() -> None:
    steps = "".join(f"  - {row[1].strip('`')}\n" for row in rows(part(FORMAT, "Steps")))
    scenario = parse_scenario(f"version: 1\nname: steps\nscript:\n{steps}", "the table")
    assert len(scenario.script) == len(SCRIPT_STEPS)


def test_every_key_of_an_expectation_has_a_row() -> None:
    table = rows(part(FORMAT, "Expectations"))
    assert [name for row in table for name in _names(row[0])] == list(EXPECT_KEYS)
    for first, of_payment, of_answer in table:
        if _names(first)[0] in ANSWER_CHECKS:
            assert of_answer
            assert not of_payment
        else:
            assert of_payment


def test_every_key_that_speaks_of_a_refusal_is_told() -> None:
    told = (
        part(FORMAT, "Steps").partition("**A refusal must be expected.**")[2].partition("\n\n")[0]
    )
    assert set(_names(told)) - {"expect"} == REFUSAL_CHECKS


def test_every_filter_of_the_journal_has_a_row() -> None:
    listed = [row[0].strip("`") for row in rows(text_of(REQUESTS))]
    filters = [cell.partition("=")[0] for cell in listed if "=" in cell]
    assert filters == [*FILTERS, "limit", "before"]


@pytest.mark.parametrize(
    ("page", "limit"),
    [
        (SCENARIOS, f"{MOST_SCENARIOS} scenarios and {MOST_FAULTS} faults of its own"),
        (FORMAT, f"{SMALLEST_FAULT_STATUS} to {LARGEST_FAULT_STATUS}"),
        (FORMAT, f"up to {LONGEST_LATENCY_MS // 60_000}m"),
        (FORMAT, f"at most {MOST_SCRIPT_STEPS:,} steps"),
        (FORMAT, f"at most {MOST_STEPS_PLAYED:,} with all repeats"),
        (SCRIPTS, f"more than {MOST_SCRIPT_STEPS:,} steps is refused"),
        (FORMAT, f"filled in: {USUAL_BODY['amount']} cents in {USUAL_BODY['currency']}"),
        (SCRIPTS, f"frozen at {USUAL_CLOCK.partition('@')[2]}"),
        (REQUESTS, f"default {DEFAULT_LIMIT}, at most {LARGEST_LIMIT:,}"),
        (REQUESTS, f"the newest {MOST_ENTRIES:,} requests"),
        (REQUESTS, f"at most {LARGEST_JOURNAL_BYTES // 1_048_576} MiB"),
        (REQUESTS, f"each up to {LARGEST_KEPT_BYTES // 1_024} KiB"),
        (SNAPSHOTS, f"An account has at most {MOST_SNAPSHOTS} snapshots"),
    ],
)
def test_every_limit_is_as_documented(page: str, limit: str) -> None:
    assert limit in " ".join(text_of(page).split())


def _names(text: str) -> list[str]:
    """What stands in backticks, each up to its colon."""
    return [name.partition(":")[0] for name in re.findall("`([^`]+)`", text)]
