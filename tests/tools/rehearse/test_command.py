"""The command `rehearse`: its tables, files and exit codes, its variants, and how it ends."""

import json
import os
import re
import shutil
import signal
import sys
from pathlib import Path
from subprocess import PIPE
from xml.etree import ElementTree

import pytest

from emulator.domain.user_error import UserError
from emulator.reporting import PLAIN
from emulator.scenarios.values import VariantKind
from emulator.scenarios.webhook_form_file import shipped_form
from emulator.tools.rehearse.rehearsal import MAX_DELAYS_MS, MAX_DURATION_FACTOR
from emulator.tools.rehearse.report import table_lines
from emulator.tools.rehearse.variants import read_variants
from tests.cli.invocation import invoke, output, problem_lines, usage_error
from tests.cli.processes import HEARS_CTRL_C, REPOSITORY, ended, launch
from tests.depth import usually
from tests.tools.rehearse.rehearsals import COMPLETE, HAPPY, SHOP_SUITE, rehearse, shipped

SHIPPED = 42
# It requests the list of payments, and fails if that fails.
READS = """
import os, urllib.request
headers = {"Authorization": "Bearer " + os.environ["PAYMENTS_EMULATOR_TEST_KEY"]}
url = os.environ["PAYMENTS_EMULATOR_URL"] + "/v1/payments"
urllib.request.urlopen(urllib.request.Request(url, headers=headers)).close()
"""


def python(program: str) -> list[str]:
    return [sys.executable, "-S", "-E", "-c", program]


def scenario(directory: Path, name: str, *lines: str) -> Path:
    file = directory / f"{name}.yaml"
    file.write_text("\n".join(("version: 1", f"name: {name}", *lines, "")))
    return file


@pytest.mark.deep
def test_findings_are_in_two_tables_and_in_the_files(tmp_path: Path) -> None:
    files = {name: tmp_path / name for name in ("json", "junit")}
    flags = [word for name, file in files.items() for word in (f"--{name}", str(file))]
    suite = (*SHOP_SUITE, "no-retry", *HAPPY)
    code, printed = output("rehearse", "--jobs", "2", *flags, "--", *suite)
    lines = printed.splitlines()
    assert code == 1, printed
    assert lines[0] == "False answers that the suite did not notice: 4 of 8"
    found = lines.index("  payments-complete: Each payment completes at once.")
    assert lines[found + 1 : found + 4] == [
        "      the suite passed",
        "      Add a test that fails with `rehearse --only payments-complete`.",
        "      scenario: payments-complete",
    ]
    second = lines.index("Disturbances that the shop did not survive: 5 of 24")
    assert lines[second - 1] == ""
    assert lines[second + 1 : second + 6] == [
        "  create-429: The first create of each account is answered 429.",
        "      failed: test_happy_path (__main__.ShopTest.test_happy_path)",
        "      Change the shop, or your test if it calls the handler directly, until the tests pass"
        " with",
        "          `rehearse --only create-429`.",
        "      scenario: create-429",
    ]
    assert any(line.startswith(f"{SHIPPED} of {SHIPPED} variants ran in ") for line in lines)
    results = json.loads(files["json"].read_text())["results"]
    by_name = {result["variant"]: result for result in results}
    assert len(by_name) == SHIPPED
    assert sum(result["is_finding"] for result in results) == 9
    assert by_name["payments-complete"]["exit_code"] == 0
    assert by_name["create-cut"]["failed_tests"] == [
        "test_happy_path (__main__.ShopTest.test_happy_path)"
    ]
    [suite_element] = ElementTree.fromstring(files["junit"].read_text())  # noqa: S314 - ours
    failed = {case.get("name") for case in suite_element if len(case)}
    assert failed == {name for name, result in by_name.items() if result["is_finding"]}


@pytest.mark.deep
async def test_parallel_runs_give_the_same_results() -> None:
    variants = shipped(VariantKind.FALSE_ANSWER)
    runs = [
        await rehearse([*SHOP_SUITE, "no-retry", *COMPLETE], variants, jobs=jobs) for jobs in (1, 4)
    ]
    sequential, parallel = (
        [(each.variant, each.exit_code, each.failed_tests) for each in run.results] for run in runs
    )
    assert sequential == parallel
    assert [name for name, *_ in sequential] == [variant.name for variant in variants]


@pytest.mark.deep
def test_without_findings_the_exit_code_is_0() -> None:
    code, printed = output("rehearse", "--jobs", "2", "--", *SHOP_SUITE, *COMPLETE)
    assert code == 0, printed
    assert [line for line in printed.splitlines() if line][:2] == [
        "False answers that the suite did not notice: 0 of 8",
        "Disturbances that the shop did not survive: 0 of 24",
    ]


def test_a_suite_that_fails_without_a_variant_is_not_rehearsed() -> None:
    command = ["sh", "-c", "echo one; echo '\x1b[31mtwo\x1b[0m' >&2; exit 3"]
    result = invoke("rehearse", "--", *command)
    assert result.stdout == ""
    assert result.stderr == "one\ntwo\n"
    assert str(result.exception).startswith(
        "the suite fails without a variant, exit code 3; it must pass first: sh -c "
    )


def test_the_failed_tests_of_a_red_suite_are_named() -> None:
    result = invoke("rehearse", "--", "sh", "-c", "echo 'FAILED test_a.py::test_b'; exit 1")
    assert isinstance(result.exception, UserError)
    assert result.exception.lines[1:] == ("failed: test_a.py::test_b",)


def test_only_one_variant_runs_by_its_name() -> None:
    flags = ("--only", "payments-complete", "--only", "charset")
    _, printed = output("rehearse", *flags, "--", *python(READS))
    assert "\n2 of 2 variants ran in " in printed
    message = usage_error("rehearse", "--only", "payments-complet", "--", "true")
    assert message.startswith("flag --only: found 'payments-complet', expected one of ")
    assert message.endswith("Did you mean 'payments-complete'?")


def test_a_command_that_does_not_exist_fails() -> None:
    result = invoke("rehearse", "--", "no-such-command")
    assert "no-such-command" in result.stderr
    assert str(result.exception).startswith("the suite fails without a variant, exit code 127;")


def test_a_suite_that_uses_another_emulator_is_not_rehearsed() -> None:
    message = usage_error("rehearse", "--", "true")
    assert message == ("the suite sends no request to the address in PAYMENTS_EMULATOR_URL: true")


def test_the_tests_of_a_rehearsal_can_read_the_clock_file(tmp_path: Path) -> None:
    file = str(tmp_path / "clock")
    tests = (shutil.which("test") or "test", "-s", file)
    # They pass, so the file is there.
    message = usage_error("rehearse", "--clock-file", file, "--", *tests)
    assert message.startswith("the suite sends no request to the address in")


WRONG = {
    "without a command": ([], "Missing argument '-- COMMAND...'."),
    "too many jobs": (
        ["--jobs", "17", "--", "true"],
        "flag --jobs: found '17', expected an integer from 1 to 16",
    ),
    "no duration": (
        ["--max-time", "1 year", "--", "true"],
        "flag --max-time: '1 year' is not a number and one of ms, s, m, h, d, such as 30s",
    ),
    "no time": (
        ["--max-time", "0s", "--", "sleep", "1000"],
        "the suite fails without a variant, it did not end within 0 s; it must pass first: sleep",
    ),
    "one clock for all runs": (
        ["--clock-file", "clock", "-j", "2", "--", "true"],
        "flag --jobs: found --clock-file, expected 1: each run has its own clock",
    ),
    "no URL": (
        ["--webhook-url", "localhost", "--", "true"],
        "flag --webhook-url: found 'localhost', expected",
    ),
}


@pytest.mark.parametrize(("arguments", "message"), WRONG.values(), ids=WRONG)
def test_wrong_options_are_refused(arguments: list[str], message: str) -> None:
    assert usage_error("rehearse", *arguments).startswith(message)


def test_variants_that_the_form_of_webhooks_cannot_have_are_left_out(tmp_path: Path) -> None:
    form = shipped_form("unsigned")
    shipped, problems = read_variants([], form)
    assert (problems, len(shipped)) == ([], len(read_variants([])[0]) - 1)
    assert "webhooks-forged" not in {variant.name for variant in shipped}
    scenario(tmp_path, "mine", "webhooks: [{when: {}, then: {tamper: signature}}]")
    _, [problem] = read_variants([tmp_path], form)
    assert problem.message.startswith("tamper must not be signature: ")


@pytest.mark.deep
def test_own_variants_follow_the_shipped_ones_of_their_kind(tmp_path: Path) -> None:
    false = ("rehearsal: false-answer", "faults: [{when: {}, then: {status: 500}}]")
    scenario(tmp_path, "all-fail", *false)
    scenario(tmp_path, "slow", "faults: [{when: {}, then: {latency: 5ms}}]")
    variants, problems = read_variants([tmp_path])
    names = [variant.name for variant in variants]
    assert (problems, len(names)) == ([], SHIPPED + 2)
    assert (names[8], names[19]) == ("all-fail", "slow")
    flags = ("--variants", str(tmp_path), "--jobs", "2")
    code, printed = output("rehearse", *flags, "--", *python(READS))
    assert code == 1
    assert "did not notice: 7 of 9" in printed
    assert "did not survive: 1 of " in printed
    assert "\n  not applicable: " in printed
    assert "read-500-once" in printed


PROBLEMS = {
    "disabled": (
        ("enabled: false", "faults: [{when: {}, then: {status: 500}}]"),
        "a variant must have a rule, and must not have 'enabled: false'",
    ),
    "without a rule": ((), "a variant must have a rule, and must not have 'enabled: false'"),
    "of no kind": (
        ("rehearsal: truth",),
        "rehearsal must be false-answer or disturbance, not 'truth'",
    ),
}


@pytest.mark.parametrize(("lines", "message"), PROBLEMS.values(), ids=PROBLEMS)
def test_a_wrong_variant_is_a_mistake_of_its_file(
    lines: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    file = scenario(tmp_path, "own", *lines)
    [problem] = problem_lines("rehearse", "--variants", str(tmp_path), "--", "true")
    assert (problem.startswith(str(file)), message in problem) == (True, True)


def test_a_mistake_in_a_scenario_of_the_configuration_is_printed(tmp_path: Path) -> None:
    file = scenario(tmp_path, "own", "faults: 1")
    config = tmp_path / "config.yaml"
    config.write_text(f"scenarios: [{file}]\n")
    [problem] = problem_lines("rehearse", "--config", str(config), "--", "true")
    assert problem.startswith(f"{file}:3:9: faults must be a list")


def test_a_name_of_a_shipped_variant_is_taken(tmp_path: Path) -> None:
    scenario(tmp_path, "webhooks-lost", "faults: [{when: {}, then: {status: 500}}]")
    _, [problem] = read_variants([tmp_path])
    assert problem.message.startswith("the name 'webhooks-lost' is taken by ")


SETS_ITS_OWN = """
own = {"outcomes": [{"when": {}, "then": [{"status": "completed"}]}]}
for path in ("own", "late-success/enabled"):
    body = json.dumps(own if path == "own" else {"enabled": True}).encode()
    headers = {"Content-Type": "application/json"}
    url = os.environ["PAYMENTS_EMULATOR_URL"] + "/_emulator/scenarios/" + path
    urllib.request.urlopen(urllib.request.Request(url, body, headers, method="PUT")).close()
"""


async def test_scenarios_that_tests_set_are_counted() -> None:
    [variant] = [each for each in read_variants([])[0] if each.name == "payments-fail"]
    run = await rehearse(python(f"import json{READS}{SETS_ITS_OWN}"), [variant])
    [result] = run.results
    assert (result.is_finding, result.own_scenarios) == (True, 2)


async def test_webhooks_that_a_handler_does_not_answer_are_counted() -> None:
    run = await rehearse(python(READS))
    run.unanswered = {"no variant": 1, "create-cut": 2}
    *_, line, _ = table_lines(run, PLAIN)
    expected = "Webhooks that the shop did not answer within 15 s: 1 with no variant"
    assert line == f"{expected}, 2 with create-cut"


HANGS_WHEN_READS_FAIL = f"""
import time
try:{READS.replace(chr(10), chr(10) + "    ")}
except OSError:
    print("waiting", flush=True)
    time.sleep(1_000)
"""


async def test_the_time_of_runs_follows_from_the_first_run() -> None:
    run = await rehearse(python(READS))
    limit_ms = await run._run_without_variant()
    assert MAX_DELAYS_MS < limit_ms < MAX_DELAYS_MS + MAX_DURATION_FACTOR * 60_000


async def test_the_suite_runs_once_for_all_forms_that_do_not_hide_each_other() -> None:
    forms = [variant for variant in read_variants([])[0] if variant.file is None]
    run = await rehearse(python(READS), forms)
    alone = [variant for variant in forms if not variant.is_combinable]
    assert len({id(result.last_lines) for result in run.results}) == 1 + len(alone)
    assert len(run.results) == len(forms) > 5 * len(alone)


# While it runs, it holds the other end of the pipe.
WAITS_WHEN_READS_FAIL = HANGS_WHEN_READS_FAIL.replace(
    'print("waiting", flush=True)', 'alive = open("alive", "w")'
)


@pytest.mark.sampled
@pytest.mark.parametrize(
    "number", usually([signal.SIGINT], deep=[signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
)
def test_a_signal_ends_the_suite_and_prints_the_results_so_far(
    number: signal.Signals, tmp_path: Path
) -> None:
    (tmp_path / "suite.py").write_text(WAITS_WHEN_READS_FAIL)
    os.mkfifo(tmp_path / "alive")
    files = ("--json=run.json", "--junit=run.xml")
    process = launch(
        *("rehearse", *files, "--", sys.executable, "-S", "-E", "suite.py"),
        stdout=PIPE,
        stderr=PIPE,
        variables={"PYTHONPATH": str(REPOSITORY)},
        command=HEARS_CTRL_C,
        directory=tmp_path,
    )
    with ended(process):
        with (tmp_path / "alive").open() as alive:
            process.send_signal(number)
            assert alive.read() == ""
        printed, _ = process.communicate()
    codes = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -signal.SIGKILL}
    assert process.returncode == codes[number]
    lines = printed.splitlines()
    if number is not signal.SIGKILL:
        assert lines[0] == "False answers that the suite did not notice: 5 of 5"
        assert re.match(r"5 of \d+ variants ran in ", lines[-1])
        document = json.loads((tmp_path / "run.json").read_text())
        assert (document["is_complete"], len(document["results"])) == (False, 5)
        assert len(ElementTree.parse(tmp_path / "run.xml").getroot()[0]) == 5  # noqa: S314
