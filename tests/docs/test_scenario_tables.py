"""The tables and limits of scenarios and scripts in the documents match the program."""

import re

from emulator.cli.replay import DEFAULT_CLOCK
from emulator.domain.payment_methods import DEFAULT_ORDER
from emulator.scenarios.loader import load_paths, parse_scenario
from emulator.scenarios.runner.assertions import REFUSAL_CHECKS
from emulator.scenarios.script import MAX_EXECUTED_STEPS, MAX_SCRIPT_STEPS, SCRIPT_STEPS
from emulator.server.control.requests import RequestQuery
from emulator.server.control.types import DEFAULT_LIMIT, MAX_LIMIT
from emulator.server.engine.accounts.scenarios import MAX_FAULTS, MAX_SCENARIOS
from emulator.server.engine.accounts.snapshots import MAX_SNAPSHOTS
from emulator.server.engine.state.journal import (
    MAX_ENTRIES,
    MAX_JOURNAL_BYTES,
    MAX_STORED_BODY_BYTES,
)
from emulator.settings import data_directory
from tests.docs.document import part, rows, text_of

FORMAT = "docs/reference/scenario-format.md"
SCENARIOS = "docs/guides/scenarios.md"
SCRIPTS = SCENARIOS
FAULTS = "docs/guides/faults.md"
REQUESTS = "docs/guides/inspecting-requests.md"
SNAPSHOTS = "docs/guides/snapshots.md"


def test_every_scenario_that_is_off_at_start_has_a_row() -> None:
    off = [s for s in load_paths([data_directory("scenarios")]) if not s.enabled]
    for page, title, is_of_webhooks in (
        (FAULTS, "Test a handler against faults", True),
        (SCENARIOS, "Ready-made cases", False),
    ):
        listed = [row[1].strip("`") for row in rows(part(page, title))]
        shipped = [f"{s.name}.yaml" for s in off if bool(s.webhooks) is is_of_webhooks]
        assert sorted(listed) == shipped, page


def test_the_examples_of_the_steps_are_a_script() -> None:
    steps = "".join(f"  - {row[1].strip('`')}\n" for row in rows(part(FORMAT, "Steps")))
    scenario = parse_scenario(f"version: 1\nname: steps\nscript:\n{steps}", "the table")
    assert len(scenario.script) == len(SCRIPT_STEPS)


def test_every_check_of_a_refusal_is_listed() -> None:
    _, _, text = part(FORMAT, "Steps").partition("**A refusal must be expected.**")
    names = [name.partition(":")[0] for name in re.findall("`([^`]+)`", text.partition("\n\n")[0])]
    assert set(names) - {"expect"} == REFUSAL_CHECKS


def test_every_filter_of_the_journal_has_a_row() -> None:
    listed = [row[0].strip("`") for row in rows(text_of(REQUESTS))]
    filters = [cell.partition("=")[0] for cell in listed if "=" in cell]
    assert sorted(filters) == sorted(RequestQuery.__struct_fields__)


LIMITS = [
    (SCENARIOS, f"{MAX_SCENARIOS} scenarios and {MAX_FAULTS} faults of its own"),
    (FORMAT, f"at most {MAX_SCRIPT_STEPS:,} steps"),
    (FORMAT, f"at most {MAX_EXECUTED_STEPS:,} with all repeats"),
    (SCRIPTS, f"more than {MAX_SCRIPT_STEPS:,} steps is refused"),
    (FORMAT, f"filled in: {DEFAULT_ORDER['amount']} cents in {DEFAULT_ORDER['currency']}"),
    (SCRIPTS, f"frozen at {DEFAULT_CLOCK.partition('@')[2]}"),
    (REQUESTS, f"default {DEFAULT_LIMIT}, at most {MAX_LIMIT:,}"),
    (REQUESTS, f"the newest {MAX_ENTRIES:,} requests"),
    (REQUESTS, f"at most {MAX_JOURNAL_BYTES // 1_048_576} MiB"),
    (REQUESTS, f"each up to {MAX_STORED_BODY_BYTES // 1_024} KiB"),
    (SNAPSHOTS, f"An account has at most {MAX_SNAPSHOTS} snapshots"),
]


def test_every_limit_is_as_documented() -> None:
    assert [limit for page, limit in LIMITS if limit not in " ".join(text_of(page).split())] == []
