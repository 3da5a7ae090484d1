"""Each command ends with each of its exit codes."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from xml.etree import ElementTree

import click
import pytest
from msgspec.structs import replace

from emulator.cli.commands import EXIT_CODES, cli
from emulator.cli.explore import exit_code
from emulator.tools.explore.exploration import Exploration, Limits
from emulator.tools.explore.report import junit, summary_lines
from tests.cli.processes import REPOSITORY, Server, free_port, run
from tests.cli.test_json_results import explored
from tests.tools.explore.small_shop import small_shop
from tests.tools.explore.test_waiting import WaitingClock, sharing
from tests.tools.rehearse.rehearsals import COMPLETE, HAPPY, SHOP_SUITE
from tests.tools.traffic_import.recorded import created, har_file, payment
from tests.world import OTHER_TEST_KEY, TEST_KEY

NOWHERE = f"http://127.0.0.1:{free_port()}"
# It takes a status that the script does not expect.
SCRIPT = """version: 1
name: paid
script:
  - create: {as: order}
  - expect: {payment: order, status: STATUS}
"""
UNKNOWN_METHOD = "version: 1\nname: a\noutcomes: [{when: {method: cash}, then: handset}]\n"
KEYS = ("--key", TEST_KEY, "--other-key", OTHER_TEST_KEY)
Words = Sequence[str]


def script(directory: Path, status: str) -> str:
    return written(directory, SCRIPT.replace("STATUS", status))


def written(directory: Path, text: str) -> str:
    file = directory / "file"
    file.write_text(text)
    return str(file)


def recorded(directory: Path) -> str:
    return str(har_file(directory, created(payment())))


# The arguments of each command by its exit code, with the URL of an emulator and a directory.
CASES: dict[tuple[str, int], Callable[[str, Path], Words]] = {
    ("check", 0): lambda _, directory: [script(directory, "pending")],
    ("check", 1): lambda _, directory: [written(directory, UNKNOWN_METHOD)],
    ("check", 2): lambda _, directory: [script(directory, "paid")],
    ("checklist", 0): lambda url, _: ["--url", url],
    ("checklist", 1): lambda url, _: ["--url", url, "--fail-on", "not_exercised"],
    ("checklist", 2): lambda *_: ["--url", NOWHERE],
    ("doctor", 0): lambda url, _: ["--url", url],
    ("doctor", 1): lambda url, _: ["--url", url, "--webhook-url", NOWHERE],
    ("doctor", 2): lambda *_: ["--url", NOWHERE],
    ("explore", 2): lambda _, directory: [script(directory, "paid")],
    ("health", 0): lambda url, _: ["--port", url.rpartition(":")[2]],
    ("health", 1): lambda *_: ["--port", "x"],
    ("health", 2): lambda *_: ["--key", "x"],
    ("helper", 0): lambda *_: ["agent"],
    ("helper", 2): lambda *_: ["cobol"],
    ("import", 0): lambda _, directory: [recorded(directory), "-o", "-"],
    ("import", 1): lambda _, directory: [recorded(directory), "-o", "-", "--strict"],
    ("import", 2): lambda _, directory: [script(directory, "paid"), "-o", "-"],
    ("openapi", 0): lambda *_: [],
    ("openapi", 2): lambda *_: ["--yaml"],
    ("probe", 2): lambda url, _: [NOWHERE, "--url", url],
    ("record", 0): lambda url, _: ["--url", url],
    ("record", 2): lambda *_: ["--url", NOWHERE],
    ("rehearse", 2): lambda *_: ["--", sys.executable, "-c", "raise SystemExit(1)"],
    ("replay", 0): lambda _, directory: [script(directory, "pending")],
    ("replay", 1): lambda _, directory: [script(directory, "completed")],
    ("replay", 2): lambda _, directory: [script(directory, "paid")],
    ("schema", 0): lambda *_: ["--results"],
    ("schema", 2): lambda *_: ["--results", "--integration"],
    ("serve", 2): lambda *_: ["--port", "x"],
    ("summary", 0): lambda _, directory: [written(directory, explored().encode().decode())],
    ("summary", 2): lambda _, directory: [script(directory, "paid")],
    ("trigger", 0): lambda url, _: ["payment.created", "--url", url],
    ("trigger", 2): lambda *_: ["payment.created", "--url", NOWHERE],
    ("verify", 0): lambda url, _: ["--base-url", url, *KEYS],
    ("verify", 2): lambda *_: ["--base-url", NOWHERE, *KEYS],
}
# Those that need a server, a shop or a suite of their own, with the tests that show them.
_EXPLORE, _PROBE = "tests/tools/explore/test_command.py", "tests/tools/test_probe.py"
_HERE = "tests/cli/test_exit_codes.py"
OWN_TESTS = {
    ("serve", 0): ("tests/cli/test_stop.py", "test_a_signal_ends_it_with_exit_code_0"),
    ("explore", 0): (_EXPLORE, "test_a_correct_shop_has_no_failure"),
    ("explore", 1): (_EXPLORE, "test_a_race_is_found_saved_and_replayed"),
    ("explore", 3): (_HERE, "test_explore_ends_with_3_before_the_required_size_is_complete"),
    ("probe", 0): (_PROBE, "test_the_command_ends_with_0_if_each_answer_is_right"),
    ("probe", 1): (_PROBE, "test_the_endpoint_of_a_running_emulator_has_the_secret_and_the_form"),
    ("rehearse", 0): (_HERE, "test_rehearse_ends_with_1_after_a_finding_and_with_0_without"),
    ("rehearse", 1): (_HERE, "test_rehearse_ends_with_1_after_a_finding_and_with_0_without"),
    ("trigger", 1): (
        "tests/cli/test_trigger.py",
        "test_each_endpoint_without_success_has_its_reason",
    ),
    ("verify", 1): (
        "tests/tools/verify/test_command.py",
        "test_a_drift_is_printed_and_has_exit_code_1",
    ),
}


def test_each_exit_code_of_each_command_has_a_test() -> None:
    assert {*CASES, *OWN_TESTS} == {*EXIT_CODES}
    for file, name in OWN_TESTS.values():
        assert f"def {name}(" in (REPOSITORY / file).read_text(), name
    assert {command for command, _ in EXIT_CODES} == {*cli.list_commands(click.Context(cli))}


@pytest.mark.parametrize(("command", "code"), CASES)
def test_a_command_ends_with_its_exit_code(
    command: str, code: int, server: Server, tmp_path: Path
) -> None:
    words = CASES[command, code](server.url, tmp_path)
    ended = run(command, *words)
    assert ended.returncode == code, ended.stdout + ended.stderr


async def test_explore_ends_with_3_before_the_required_size_is_complete(tmp_path: Path) -> None:
    clock = WaitingClock()

    def pass_time(order: int) -> None:
        clock.waited_ms += 1_000 * (order == 2)

    with small_shop() as shop:
        shop.on_start = pass_time
        async with sharing(shop, tmp_path, clock) as session:
            limits = Limits(
                depth=1, seed=1, max_failures=1, max_time_ms=500, max_required_time_ms=500
            )
            exploration = Exploration(session, replace(limits, required_depth=1), lambda _: None)
            await exploration.run()
    assert (exploration.failures, exit_code(exploration)) == ([], 3)
    first, ran, missing, *_ = summary_lines(exploration)
    assert (first[:5], first.partition(" histories ")[2]) == (
        "1 of ",
        "with at most one anomaly: none failed",
    )
    assert ran.startswith("1 ran in 1.")
    assert missing.endswith(
        " histories up to --require-depth 1 did not run; allow more time with --max-time"
    )
    [suite] = ElementTree.fromstring(junit("shop", exploration))  # noqa: S314 - our own text
    assert [case[0].tag for case in suite if len(case)] == ["error"]
    assert suite.get("errors") == "1"


@pytest.mark.deep
def test_rehearse_ends_with_1_after_a_finding_and_with_0_without() -> None:
    for tests, code in ((HAPPY, 1), (COMPLETE, 0)):
        ended = run("rehearse", "--only", "payments-complete", "--", *SHOP_SUITE, *tests)
        assert ended.returncode == code, ended.stdout


def test_the_help_of_a_command_lists_its_exit_codes() -> None:
    lines = " ".join(run("health", "--help").stdout.split())
    assert lines.endswith(
        "Exit codes: 0: the server responds; 1: it does not, or an option is wrong;"
        " 2: an option is unknown."
    )
