"""The commands `replay` and `record`."""

import re
import signal
from pathlib import Path
from subprocess import DEVNULL, PIPE
from xml.etree import ElementTree

import pytest

from emulator.domain.errors import InvalidApiKey
from tests.cli.invocation import (
    HEALTHY,
    error_line,
    imported_modules,
    invoke,
    other_server,
    output,
    problem_lines,
    run_on_terminal,
    run_with_closed_pipe,
    unfolded,
    usage_error,
)
from tests.cli.processes import HEARS_CTRL_C, REPOSITORY, Server, ended, launch
from tests.depth import usually

PASSES = """
- create: {as: order, methods: [telebirr]}
- pay: {payment: order, phone: "0900000003"}
- expect: {payment: order, status: processing, webhooks: [payment.created, payment.processing]}
- advance: 30s
- expect: {payment: order, status: failed, reason: timeout}
"""
FAILS = """
- create: {as: order}
- expect: {payment: order, status: completed}
"""
SLOW = """
- create: {as: order}
- fault: {then: {latency: 5m}}
- retrieve: order
"""
RULES = "outcomes:\n  - {when: {}, then: handset}\n"
NO_EMULATOR = "http://127.0.0.1:1"
REFUSED = f"the payments emulator at {NO_EMULATOR} does not respond: connection refused"


def write(directory: Path, name: str, script: str | None, rules: str = "") -> str:
    """Write a file; return its path."""
    file = directory / f"{name}.yaml"
    section = "" if script is None else f"script:{script}"
    file.write_text(f"version: 1\nname: {name}\n{rules}{section}", encoding="utf-8")
    return str(file)


def test_a_single_file_has_a_line_for_each_step(tmp_path: Path) -> None:
    file = write(tmp_path, "mine", PASSES)
    code, printed = output("replay", file)
    assert code == 0
    lines = printed.splitlines()
    assert lines[:8] == [
        f"mine  {file}",
        "  ok      create: {as: order, methods: [telebirr]}  → 201 pending",
        '  ok      pay: {payment: order, method: telebirr, phone: "+251900000003"}'
        "  → 200 processing",
        "  ok      expect: {payment: order, status: processing, webhooks: [payment.created,",
        "          payment.processing]}",
        "  ok      advance: 30s  → 2 effects",
        "  ok      expect: {payment: order, status: failed, reason: timeout}",
        "",
    ]
    assert re.fullmatch(
        r"  order: \w{8}  ETB 100.00  failed timeout  webhooks 3 of 3"
        r"  2026-01-01 00:00:00 UTC  …\w{8}",
        lines[8],
    )
    assert lines[9:] == ["", "1 case: 1 passed, 0 failed, 5 steps"]


def test_several_files_have_a_line_each_and_failures_their_steps(tmp_path: Path) -> None:
    write(tmp_path, "a-case", FAILS)
    write(tmp_path, "b-case", PASSES)
    write(tmp_path, "c-rules", None, RULES)
    results, report = tmp_path / "results.xml", tmp_path / "report.html"
    code, printed = output("replay", str(tmp_path), "--report", str(report))
    assert code == 1
    assert report.read_bytes().startswith(b"<!doctype html>")
    shown, summary = re.subn(r"\n  order: \w{8}  ETB 100.00  pending .*\n", "", printed)
    assert summary == 1
    assert unfolded(shown.split("\nCoverage")[0]) == unfolded(
        "FAILED  a-case  2 steps\n"
        "ok      b-case  5 steps\n"
        "\n"
        f"a-case  {tmp_path}/a-case.yaml\n"
        "  ok      create: {as: order}  → 201 pending\n"
        "  FAILED  expect: {payment: order, status: completed}\n"
        "\n"
        f"  {tmp_path}/a-case.yaml:5:28: status of order: not as expected"
        " (- expected, + actual)\n"
        "    -completed\n"
        "    +pending\n"
        "\n"
        "2 cases: 1 passed, 1 failed, 7 steps (1 file without a script skipped)\n"
    )
    _, verbose = output("replay", "-v", str(tmp_path), "--junit", str(results))
    assert "  ok      advance: 30s  → 2 effects\n" in verbose
    [[failed, passed]] = ElementTree.parse(results).getroot()  # noqa: S314 - our own file
    assert [case.attrib["name"] for case in (failed, passed)] == ["a-case", "b-case"]
    assert [element.tag for element in failed] == ["failure"]


def test_the_coverage_is_printed_of_a_directory_and_on_request(tmp_path: Path) -> None:
    file, other = (write(tmp_path, name, PASSES) for name in ("mine", "other"))
    title = "\n\nCoverage: 4 of "
    for given, is_shown in (
        ([file], False),
        ([file, other], False),
        ([str(tmp_path)], True),
        ([file, "--coverage"], True),
        ([file, "--fail-under", "1"], True),
    ):
        _, printed = output("replay", *given)
        assert (title in printed, "✓ processing → failed" in printed) == (is_shown, is_shown)


@pytest.mark.parametrize(("percent", "code"), [("2", 0), ("50", 1), ("100", 1)])
def test_a_coverage_that_is_too_low_fails_the_run(tmp_path: Path, percent: str, code: int) -> None:
    file = write(tmp_path, "mine", "\n- create: {}\n")
    actual, printed = output("replay", file, "--fail-under", percent)
    message = f"The coverage is under the {percent} % that --fail-under asks for.\n"
    assert (actual, printed.endswith(message)) == (code, code == 1)


def test_the_variables_of_serve_do_not_apply(tmp_path: Path) -> None:
    script = (
        '\n- create: {}\n- expect: {created_at: "2026-01-01T00:00:00.000Z"}'
        "\n- list: {}\n- expect: {payments: []}\n"
    )
    file = write(tmp_path, "mine", script)
    variables = {"EMULATOR_SEED": "5", "EMULATOR_METHODS": "mpesa", "EMULATOR_CLOCK": "real"}
    default = output("replay", file)
    assert "created_at: not as expected" not in default[1]
    assert output("replay", file, variables=variables) == default


def test_a_running_emulator_keeps_only_the_account_of_a_failure(
    tmp_path: Path, server: Server
) -> None:
    before = server.request("GET", "/_emulator/accounts").json
    code, printed = output("replay", write(tmp_path, "mine", PASSES), "--url", server.url)
    assert code == 0, printed
    assert server.request("GET", "/_emulator/accounts").json == before
    code, printed = output("replay", write(tmp_path, "bad", FAILS), "--url", f"{server.url}/")
    assert code == 1
    [kept] = re.findall(r"^The account (acct_\w+) of 'bad' was kept\.$", printed, re.MULTILINE)
    response = server.request("GET", f"/_emulator/accounts/{kept}")
    assert (response.status, response.json["name"]) == (200, "bad")
    assert server.request("DELETE", f"/_emulator/accounts/{kept}").status == 204


def test_nothing_is_played_if_the_key_is_unknown(tmp_path: Path, server: Server) -> None:
    files = [write(tmp_path, name, PASSES) for name in ("a-case", "b-case")]
    message = usage_error("replay", *files, "--url", server.url, "--key", "test_unknown_key")
    assert message.startswith("the emulator refused a request: 401 invalid_api_key: ")


def test_nothing_is_played_if_a_file_is_wrong(tmp_path: Path) -> None:
    write(tmp_path, "a-case", PASSES)
    write(tmp_path, "b-case", "\n- creat: {}\n")
    write(tmp_path, "c-case", "\n- advance: soon\n")
    rules = write(tmp_path, "rules", None, RULES)
    first, second, third = problem_lines("replay", str(tmp_path), rules)
    assert first.startswith(f"{tmp_path}/b-case.yaml:4:3: ")
    assert second.startswith(f"{tmp_path}/c-case.yaml:4:")
    assert third == f"{rules}:1:1: the file has no script"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], "Missing argument 'PATH...'"),
        (
            ["FILE", "--fail-under", "101"],
            "flag --fail-under: found '101', expected a number from 0 to",
        ),
        (["FILE", "--fail-under", "nan"], "flag --fail-under: found 'nan', expected a number"),
        (["FILE", "--url", "http://me:pw@host.test"], "flag --url: a user and a password cannot"),
        (["FILE", "--url", "localhost:8080"], "flag --url: found 'localhost:8080', expected an"),
        (["FILE", "--url", "http://ብር.et"], "flag --url: found 'http://ብር.et', expected an"),
        (["FILE", "--url", NO_EMULATOR], REFUSED),
        (
            ["FILE", "--url", NO_EMULATOR, "--webhook-format", "unsigned"],
            "flag --webhook-format: the emulator at --url has a format of its own",
        ),
        (
            ["FILE", "--junit", "/nowhere/at/all.xml"],
            "flag --junit: cannot write '/nowhere/at/all.xml': its directory does not exist",
        ),
        (["FILE", "--report", "/"], "Invalid value for '--report': File '/' is a directory"),
    ],
)
def test_a_usage_error_is_one_line(tmp_path: Path, options: list[str], expected: str) -> None:
    file = write(tmp_path, "mine", "\n- create: {}\n")
    arguments = (file if option == "FILE" else option for option in options)
    assert usage_error("replay", *arguments).startswith(expected)


def test_an_absent_form_is_a_problem_of_its_file(tmp_path: Path) -> None:
    file = write(tmp_path, "mine", "\n- create: {}\n")
    [problem] = problem_lines("replay", file, "--webhook-format", "x.yaml")
    assert problem.startswith("x.yaml:1:1: cannot be read: No such file")


def test_a_server_that_is_no_emulator_is_rejected(tmp_path: Path) -> None:
    file = write(tmp_path, "mine", PASSES)
    with other_server((404, b"{}")) as other:
        expected = (
            f"{other} returned 404 for GET /_emulator/health: this is not a payments emulator"
        )
        assert usage_error("replay", file, "--url", other) == expected
        assert usage_error("record", "--url", other) == expected


@pytest.mark.parametrize(
    ("response", "summary"),
    [
        ((404, b'{"error":{"code":"route_not_found"}}'), "404 route_not_found"),
        ((201, '{"id":"acct_1","test_key":"ብር\\n"}'.encode()), "201"),
        ((201, b"[]"), "201"),
    ],
    ids=["refusal", "malformed key", "no object"],
)
def test_a_case_without_an_account_fails(
    tmp_path: Path, response: tuple[int, bytes], summary: str
) -> None:
    file = write(tmp_path, "mine", PASSES)
    with other_server(HEALTHY, response) as other:
        code, printed = output("replay", file, "--url", other)
    assert code == 1
    assert f"{file}:1:1: the account of the case was refused: {summary} " in unfolded(printed)


def test_a_case_without_an_endpoint_for_webhooks_fails(tmp_path: Path) -> None:
    file = write(tmp_path, "mine", "\n- create: {}\n- expect: {webhooks: []}\n")
    account = (201, b'{"id":"acct_1","test_key":"test_some_key"}')
    clock = (200, b'{"now":"2026-01-01T00:00:00.000Z"}')
    refusal = (400, b'{"error":{"code":"invalid_url","param":"url","message":"No."}}')
    with other_server(HEALTHY, account, clock, refusal) as other:
        code, printed = output("replay", file, "--url", other)
    assert code == 1
    reason = "the endpoint for webhooks was refused: 400 invalid_url (url): No."
    assert f"{file}:1:1: {reason} " in unfolded(printed)


def test_the_results_are_printed_although_a_file_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "is-gone").symlink_to("/proc/self")
    results = tmp_path / "is-gone" / "results.xml"
    ended = invoke("replay", write(tmp_path, "mine", FAILS), "--junit", str(results))
    assert error_line(ended).startswith(f"flag --junit: cannot write '{results}'")
    assert "status of order: not as expected" in unfolded(ended.stdout)
    assert "1 case: 0 passed, 1 failed" in ended.stdout


@pytest.mark.sampled
@pytest.mark.parametrize("signals", usually([3], deep=[1, 3]))
def test_ctrl_c_ends_the_run_without_a_message_and_deletes_the_account(
    tmp_path: Path, server: Server, signals: int
) -> None:
    """A program that starts the command may pass on its own signal, so that it gets several."""
    before = server.request("GET", "/_emulator/accounts").json
    target = ["--url", server.url] if signals > 1 else []
    command = ("replay", write(tmp_path, "mine", SLOW), *target)
    process = launch(*command, stdout=PIPE, stderr=PIPE, command=HEARS_CTRL_C)
    with ended(process):
        assert process.stdout is not None
        for line in process.stdout:
            if "fault" in line:
                break
        for _ in range(signals):
            process.send_signal(signal.SIGINT)
        _, message = process.communicate()
        assert (process.returncode, message.strip()) == (130, "")
    assert server.request("GET", "/_emulator/accounts").json == before


@pytest.mark.deep
def test_ctrl_c_leaves_the_results_of_the_cases_that_have_ended(tmp_path: Path) -> None:
    cases = [write(tmp_path, name, script) for name, script in (("a", PASSES), ("b", SLOW))]
    command = ("replay", *cases, f"--junit={tmp_path}/run.xml", f"--report={tmp_path}/run.html")
    process = launch(*command, stdout=PIPE, stderr=DEVNULL, command=HEARS_CTRL_C)
    with ended(process):
        assert process.stdout is not None
        assert process.stdout.readline() == "ok      a  5 steps\n"
        process.send_signal(signal.SIGINT)
        printed = process.stdout.read()
        assert process.wait() == 130
    assert "1 case: 1 passed, 0 failed, 5 steps; 1 case did not end\n" in printed
    assert len(ElementTree.parse(tmp_path / "run.xml").getroot()[0]) == 1  # noqa: S314
    assert (tmp_path / "run.html").read_text().rstrip().endswith("</html>")


def test_a_closed_pipe_changes_neither_the_exit_code_nor_the_files(tmp_path: Path) -> None:
    results = tmp_path / "results.xml"
    file = write(tmp_path, "mine", FAILS)
    ended = run_with_closed_pipe("replay", file, "--junit", str(results))
    assert (ended.returncode, ended.stderr) == (1, "")
    assert results.exists()


@pytest.mark.deep
def test_on_a_terminal_there_are_colours_and_a_line_that_changes(tmp_path: Path) -> None:
    pytest.importorskip("pty")
    write(tmp_path, "one", FAILS)
    write(tmp_path, "two", PASSES)
    arguments = ("replay", str(tmp_path))
    written = run_on_terminal(*arguments)
    assert "\x1b[31mFAILED\x1b[0m" in written
    assert "\r\x1b[Ktwo  step 5 of 5" in written
    assert "\x1b" not in run_on_terminal(*arguments, variables={"NO_COLOR": "1", "CI": "true"})


PAID = """
- create: {as: order}
- pay: {payment: order, method: telebirr, phone: "0900000001"}
- expect: {payment: order, webhooks: [payment.completed], forged: []}
"""


def test_a_form_of_webhooks_applies_to_a_replay(tmp_path: Path) -> None:
    file = write(tmp_path, "mine", PAID)
    code, printed = output("replay", file, "--webhook-format", "hex-header")
    assert code == 0, printed
    assert output("replay", file)[0] == 1, "other events are sent too"


FORGED_WEBHOOKS = REPOSITORY / "scenarios" / "forged-webhooks.yaml"


def test_a_file_that_the_form_cannot_tamper_with_is_refused_with_its_lines() -> None:
    problems = problem_lines("replay", str(FORGED_WEBHOOKS), "--webhook-format", "hex-header")
    lines = FORGED_WEBHOOKS.read_text(encoding="utf-8").splitlines()
    problem = "webhooks of the format 'hex-header' have no signed timestamp; use 'tamper: body', "
    assert [line.partition("'signature'")[0] for line in problems] == [
        f"{FORGED_WEBHOOKS}:{number}:20: tamper must not be {tamper}: {problem}"
        for number, line in enumerate(lines, 1)
        for tamper in ("timestamp", "stale")
        if f"then: {{tamper: {tamper}}}" in line
    ]


def test_a_recorded_history_can_be_replayed(tmp_path: Path, server: Server) -> None:
    account = server.request("POST", "/_emulator/accounts", {"clock": "frozen"}).json
    key = account["test_key"]
    body = {"amount": 500, "currency": "ETB", "methods": ["mpesa"]}
    urls = {"success_url": "https://shop.example/ok", "cancel_url": "https://shop.example/no"}
    assert server.request("POST", "/v1/payments", body | urls, key=key).status == 201
    _, recording = output("record", "--url", server.url, "--key", key)
    assert "script:" in recording
    file = tmp_path / "recorded.yaml"
    file.write_text(recording, encoding="utf-8")
    code, printed = output("replay", str(file))
    assert code == 0, printed


def test_a_missing_recording_is_explained_in_one_line(server: Server) -> None:
    for options, expected in (
        (
            ("--url", server.url, "--key", "test_unknown_key"),
            f"the emulator refused a request: 401 invalid_api_key: {InvalidApiKey.unknown}",
        ),
        (
            ("--url", server.url, "--key", "nonsense"),
            "flag --key: expected test_ or live_ and 4 to 128 visible ASCII characters",
        ),
        (("--url", NO_EMULATOR), REFUSED),
    ):
        assert usage_error("record", *options) == expected
    with other_server(HEALTHY, (200, b"<html>")) as other:
        message = usage_error("record", "--url", other)
    assert message == (
        f"{other} returned 200 for GET /_emulator/recording: this is not a payments emulator"
    )


@pytest.mark.deep
def test_the_templates_are_imported_only_when_they_are_needed(tmp_path: Path) -> None:
    modules = imported_modules("replay", write(tmp_path, "mine", "\n- create: {}\n"))
    assert "emulator.server.app.server" in modules
    assert "jinja2" not in modules
