"""The command `verify`."""

import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE

import pytest

from emulator.cli.verify import run_comparison
from emulator.domain.clauses import CLAUSES
from emulator.tools.verify.checks import CHECKS
from tests.cli.invocation import (
    invoke,
    output,
    run_on_terminal,
    unfolded,
    usage_error,
)
from tests.cli.processes import HEARS_CTRL_C, Server, ended, launch, serving, wait_for
from tests.tools.traffic_import.recorded import created, har_file, payment
from tests.tools.verify.runs import ImpatientClock
from tests.world import LIVE_KEY, OTHER_TEST_KEY, TEST_KEY, ManualClock

NO_SERVER = "http://127.0.0.1:1"
KEYS = ("--key", TEST_KEY, "--other-key", OTHER_TEST_KEY)
TOO_LONG = "429 requires a wait of 61 s, but only 60 s of 60 s are left"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """An emulator that drifts in one clause: it refuses unknown parameters."""
    with serving("--strict", logs=tmp_path_factory.mktemp("logs")) as server:
        yield server


def test_a_drift_is_printed_and_has_exit_code_1(server: Server) -> None:
    code, printed = output("verify", "--base-url", server.url, *KEYS)
    assert code == 1
    lines = printed.splitlines()
    assert lines[0] == (
        f"Comparison of {server.url} with the contract (keys test_de…key and test_ot…key)"
    )
    drifts = lines.index("Drifts")
    assert drifts > lines.index("Sections                          holds   drift  unseen")
    assert lines[drifts : drifts + 3] == [
        "Drifts",
        "  DRIFT     4.1.14  an unknown parameter: 400 `unknown_parameter`, as with `--strict`"
        " (our",
        "                    assumption: Accepted with a warning; with `--strict` 400"
        " `unknown_parameter`)",
    ]
    assert f"{len(CLAUSES)} clauses: " in " ".join(lines[-2:])
    assert TEST_KEY not in printed
    assert max(map(len, lines)) <= 100


@pytest.mark.deep
def test_an_accepted_drift_has_exit_code_0(server: Server) -> None:
    accepted = ("--accept", "4.1.14", "--accept", "4.1.3")
    code, printed = output("verify", "--base-url", f"{server.url}/v1/", *KEYS, *accepted)
    assert code == 0
    assert "  accepted  4.1.14" in printed
    assert " 1 drift (1 from our assumptions, 1 accepted), " in printed


@pytest.mark.deep
def test_the_result_is_written_to_files_or_printed_as_json(tmp_path: Path, server: Server) -> None:
    result, report = tmp_path / "result.json", tmp_path / "report.html"
    verify = ("verify", "--base-url", server.url, "--key", TEST_KEY, "--json")
    code, printed = output(*verify, str(result), "--report", str(report))
    document = json.loads(result.read_bytes())
    assert (code, document["has_drifted"], document["base_url"]) == (1, True, server.url)
    assert f"{document['counts']['requests']} requests" in printed
    assert report.read_text(encoding="utf-8").startswith("<!doctype html>")
    code, printed = output(*verify, "-")
    assert code == 1
    [drift] = [clause for clause in json.loads(printed)["clauses"] if clause["verdict"] == "drift"]
    assert drift["number"] == "4.1.14"


def limited_key(server: Server, *, nth: int, retry_after_s: int) -> str:
    """The key of a new account whose nth request is refused with 429."""
    account = server.request("POST", "/_emulator/accounts", {}).json
    fault = {"when": {"nth": nth}, "then": {"status": 429, "retry_after": retry_after_s}}
    key = str(account["test_key"])
    assert server.request("POST", "/_emulator/faults", fault, key=key).status == 201
    return key


def test_an_incomplete_comparison_has_exit_code_2(tmp_path: Path, server: Server) -> None:
    result, report = tmp_path / "result.json", tmp_path / "report.html"
    files = ("--json", str(result), "--report", str(report))
    key = limited_key(server, nth=9, retry_after_s=61)
    arguments = ("--base-url", server.url, "--key", key, "--accept", "4.1.14", *files)
    ended = invoke("verify", *arguments)
    document = json.loads(result.read_bytes())
    left_out = document["counts"]["rate_limited"]
    assert left_out > 30
    assert ended.return_value == 2
    assert ended.stderr == (
        f"payments-emulator: the comparison is not complete: because of the rate limit {left_out}"
        f" of {len(CLAUSES)} clauses were not checked; {TOO_LONG}\n"
    )
    summary = f"({left_out} not checked, because the service refused requests with 429)"
    assert summary in unfolded(ended.stdout)
    assert document["is_complete"] is False
    assert "The comparison is not complete" in report.read_text(encoding="utf-8")


def test_a_drift_counts_also_in_an_incomplete_comparison(server: Server) -> None:
    key = limited_key(server, nth=30, retry_after_s=61)
    ended = invoke("verify", "--base-url", server.url, "--key", key)
    assert ended.return_value == 1
    assert "Drifts" in ended.stdout
    assert ended.stderr.startswith("payments-emulator: the comparison is not complete: ")


@pytest.mark.deep
def test_the_progress_shows_checks_and_waits(server: Server) -> None:
    written: list[str] = []
    keys = limited_key(server, nth=5, retry_after_s=12), None
    clock = ImpatientClock(ManualClock())
    comparison = run_comparison(server.url, keys, frozenset(), wall=clock, show=written.append)
    assert comparison.refusal is None
    place = written.index("waiting 12 s: the service said 429")
    assert written[place - 1].startswith("check ")
    assert written[place + 1] == ""
    assert written[-2:] == [f"check {len(CHECKS)} of {len(CHECKS)}", ""]


NOT_SENT = "flag --key: expected a key that begins with test_"
NO_BLANKS = "flag --key: a key has neither blanks nor characters beyond ASCII"
# The options beside the base URL and the keys, and the start of the message.
WRONG_OPTIONS: list[tuple[tuple[str, ...], str]] = [
    *((("--key", key), NOT_SENT) for key in ("sk_test_1234", "TEST_demo_key", "", "demo")),
    *(
        ((option, LIVE_KEY), f"flag {option}: a live_ key processes real payments; use a test_ key")
        for option in ("--key", "--other-key")
    ),
    *((("--key", key), NO_BLANKS) for key in ("test_a b", "test_ብር", "test_a\n")),
    *(
        (("--base-url", text), f"flag --base-url: found '{text}', expec")
        for text in ("sandbox.example", "ftp://sandbox.example", "http://ብር.et", f"{NO_SERVER}?a=b")
    ),
    (
        ("--base-url", "https://me:pw@sandbox.example"),
        "flag --base-url: a user and a password cannot be sent beside an API key",
    ),
    (
        ("--other-key", TEST_KEY),
        "flag --other-key: this is the key of --key; expected one of another account",
    ),
    (
        ("--accept", "4.9.9"),
        "flag --accept: there is no clause '4.9.9'; expected one such as 4.1.3",
    ),
    *(
        (
            (f"--{name}", f"/nowhere/at/all.{name}"),
            f"flag --{name}: cannot write '/nowhere/at/all.{name}': its directory does not exist",
        )
        for name in ("json", "report")
    ),
    (("--report", "/"), "Invalid value for '--report': File '/'"),
    ((), f"cannot reach {NO_SERVER}: connection refused"),
]


@pytest.mark.parametrize(("options", "expected"), WRONG_OPTIONS)
def test_a_usage_error_is_one_line(options: tuple[str, ...], expected: str) -> None:
    # Of an option that is given twice the last counts.
    message = usage_error("verify", "--base-url", NO_SERVER, "--key", TEST_KEY, *options)
    assert message.startswith(expected)


def test_the_service_and_a_key_are_required() -> None:
    missing = "Missing option '--base-url', or '--har' for a recording"
    assert usage_error("verify").startswith(missing)
    without_key = usage_error("verify", "--base-url", NO_SERVER)
    assert without_key.startswith("Missing option '--key'")


@pytest.mark.deep
def test_ctrl_c_ends_the_command_with_a_report_of_what_was_judged(server: Server) -> None:
    key = str(server.request("POST", "/_emulator/accounts", {}).json["test_key"])
    slow = {"when": {"nth": 30}, "then": {"latency": "1m"}, "times": 1}
    server.request("POST", "/_emulator/faults", slow, key=key)
    command = ("verify", "--base-url", server.url, "--key", key)
    verify = launch(*command, stdout=PIPE, stderr=PIPE, command=HEARS_CTRL_C)

    def is_waiting() -> bool:
        [fault] = server.request("GET", "/_emulator/faults", key=key).json["data"]
        return bool(fault["used"])

    with ended(verify):
        wait_for(verify, is_waiting)
        verify.send_signal(signal.SIGINT)
        printed, errors = verify.communicate()
    assert verify.returncode == 130
    assert re.search(r"holds +1\.3 ", printed), printed
    assert "Ctrl-C ended the comparison: " in unfolded(printed)
    assert errors == "payments-emulator: the comparison is not complete: Ctrl-C ended it\n"


@pytest.mark.deep
def test_on_a_terminal_there_are_colours_and_the_progress(server: Server) -> None:
    pytest.importorskip("pty")
    written = run_on_terminal("verify", "--base-url", server.url, "--key", TEST_KEY)
    assert "\r\x1b[Kcheck 1 of " in written
    assert "\x1b[33mDRIFT\x1b[0m" in written


def recording(directory: Path, **fields: object) -> str:
    """A recorded create call, with some fields of the payment changed."""
    entry = created(payment(**fields))
    location = {"name": "Location", "value": f"/v1/payments/{payment()['id']}"}
    entry["response"]["headers"] += [location]
    return str(har_file(directory, entry))


def test_a_recording_has_the_same_report_json_and_exit_codes(tmp_path: Path) -> None:
    result, report = tmp_path / "result.json", tmp_path / "report.html"
    code, printed = output("verify", "--har", recording(tmp_path))
    assert code == 0, printed
    heading = "Comparison of https://api.service.example with the contract (key not recorded)"
    assert printed.splitlines()[0] == heading
    assert "the recording does not exercise the" in printed
    har = recording(tmp_path, expires_at="2026-01-01T01:00:00.000Z")
    files = ("--json", str(result), "--report", str(report))
    code, printed = output("verify", "--har", har, *files)
    assert code == 1
    assert "  DRIFT     8.3     expires after 3600 s\n" in printed
    document = json.loads(result.read_bytes())
    assert document["began_at"] == "2026-01-01T00:00:00.000Z"
    assert (document["has_drifted"], document["counts"]["requests"]) == (True, 1)
    assert report.read_text(encoding="utf-8").startswith("<!doctype html>")
    accepted = [
        part for number in ("2.1.8", "4.1.12", "8.3", "8.4") for part in ("--accept", number)
    ]
    assert output("verify", "--har", har, *accepted)[0] == 0


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--other-key", TEST_KEY), "flag --har: a recording needs no --other-key"),
        (
            ("--base-url", "https://b.example/v1"),
            "the recording has no exchange of https://b.example/v1/",
        ),
        (("--key", TEST_KEY), "flag --key: the recording has no successful request with this key"),
        (("--accept", "4.9"), "flag --accept: there is no clause '4.9'"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_wrong_option_beside_a_recording_is_one_line(
    options: tuple[str, ...], expected: str, tmp_path: Path
) -> None:
    assert usage_error("verify", "--har", recording(tmp_path), *options).startswith(expected)


def test_a_wrong_recording_is_one_line(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.har"
    wrong.write_text('{"log": {"entries": [')
    expected = f"{wrong}:1:22: the JSON breaks off"
    assert usage_error("verify", "--har", str(wrong)) == expected
    wrong.write_text('{"log": {"entries": []}}')
    expected = "the recording has no exchange with an address of /v1/payments"
    assert usage_error("verify", "--har", str(wrong)) == expected
    assert usage_error("verify", "--har", f"{wrong}x").endswith("No such file or directory")
