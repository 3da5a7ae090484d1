"""`verify` as its users run it."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from click import ClickException
from click.testing import CliRunner, Result

from emulator.cli.commands import CliError, cli
from emulator.cli.verify import Progress, VerifyOptions, compared
from emulator.domain.clauses import CLAUSES
from tests.cli.processes import COMMAND, REPOSITORY, Server, environment, run, serving
from tests.replay.test_command import on_a_terminal
from tests.verify.runs import ImpatientWall
from tests.world import LIVE_KEY, OTHER_TEST_KEY, TEST_KEY, ManualClock

NOBODY = "http://127.0.0.1:1"
KEYS = ("--key", TEST_KEY, "--other-key", OTHER_TEST_KEY)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """It drifts in one clause: what is unknown it refuses."""
    with serving("--strict", logs=tmp_path_factory.mktemp("logs")) as server:
        yield server


def url(server: Server) -> str:
    return f"http://127.0.0.1:{server.api_port}"


def invoked(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["verify", *arguments], standalone_mode=False)


def verify(*arguments: str) -> tuple[int, str]:
    """The exit code and what is printed."""
    ended = invoked(*arguments)
    assert ended.exception is None, ended.exception
    assert ended.stderr == ""
    return ended.return_value, ended.stdout


def complaint(*arguments: str) -> str:
    """The one line of a command that cannot be run."""
    ended = CliRunner().invoke(cli, ["verify", *arguments], standalone_mode=False)
    assert isinstance(ended.exception, ClickException), ended.output
    assert ended.exception.exit_code == 2
    assert ended.stdout == ""
    if isinstance(ended.exception, CliError):
        [line] = ended.exception.lines
        return line
    return ended.exception.format_message()


def test_a_drift_is_told_and_is_exit_code_1(server: Server) -> None:
    code, printed = verify("--base-url", url(server), *KEYS)
    assert code == 1
    lines = printed.splitlines()
    assert lines[0] == f"{url(server)} beside the contract, as test_de…key and test_ot…key"
    assert lines[-5:-2] == [
        "What drifts",
        "  DRIFT     4.1.14  an unknown parameter: 400 `unknown_parameter`, as with `--strict`"
        " (assumed here:",
        "                    Accepted with a warning)",
    ]
    assert lines[-1].startswith(f"{len(CLAUSES)} clauses: ")
    assert TEST_KEY not in printed
    assert max(map(len, lines)) <= 100


def test_a_drift_that_is_known_can_be_accepted(server: Server) -> None:
    code, printed = verify(
        "--base-url", f"{url(server)}/v1/", *KEYS, "--accept", "4.1.14", "--accept", "4.1.3"
    )
    assert code == 0
    assert "  accepted  4.1.14" in printed
    assert " 1 drift (1 of what is assumed, 1 accepted), " in printed


def test_the_result_is_written_for_machines_and_for_people(tmp_path: Path, server: Server) -> None:
    written, report = tmp_path / "result.json", tmp_path / "report.html"
    code, printed = verify(
        *("--base-url", url(server), "--key", TEST_KEY),
        *("--json", str(written), "--report", str(report)),
    )
    document = json.loads(written.read_bytes())
    assert code == 1
    assert document["has_drifted"] is True
    assert document["base_url"] == url(server)
    assert f"{document['counts']['requests']} requests" in printed
    assert report.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_the_json_can_stand_in_the_place_of_the_table(server: Server) -> None:
    code, printed = verify("--base-url", url(server), "--key", TEST_KEY, "--json", "-")
    assert code == 1
    [drift] = [one for one in json.loads(printed)["clauses"] if one["verdict"] == "drift"]
    assert drift["number"] == "4.1.14"


def test_a_live_key_is_taken_only_from_who_knows(server: Server) -> None:
    """In the emulator it costs nothing."""
    told = complaint("--base-url", url(server), "--key", LIVE_KEY)
    assert told == (
        "flag --key: a live_ key processes real payments; use a test_ key, or say --i-know"
    )
    told = complaint("--base-url", url(server), "--key", TEST_KEY, "--other-key", LIVE_KEY)
    assert told.startswith("flag --other-key: a live_ key processes real payments; ")
    code, _ = verify("--base-url", url(server), "--key", LIVE_KEY, "--i-know")
    assert code == 1


def limited_key(server: Server, *, nth: int, retry_after_s: int) -> str:
    """The key of an account whose nth request is refused with 429."""
    account = server.request("POST", "/_emulator/accounts", {}).json
    fault = {"when": {"nth": nth}, "then": {"status": 429, "retry_after": retry_after_s}}
    key = str(account["test_key"])
    assert server.request("POST", "/_emulator/faults", fault, key=key).status == 201
    return key


def test_what_was_not_asked_to_the_end_is_no_success(tmp_path: Path, server: Server) -> None:
    written, report = tmp_path / "result.json", tmp_path / "report.html"
    options = ("--json", str(written), "--report", str(report))
    key = limited_key(server, nth=9, retry_after_s=61)
    ended = invoked("--base-url", url(server), "--key", key, "--accept", "4.1.14", *options)
    document = json.loads(written.read_bytes())
    left_out = document["counts"]["rate_limited"]
    assert left_out > 30
    assert ended.return_value == 2
    assert ended.stderr == (
        f"payments-emulator: the comparison is not complete: because of the rate limit {left_out}"
        f" of {len(CLAUSES)} clauses were not looked at;"
        " 429 came and asked to wait 61 s, and of 60 s in all only 60 s were left\n"
    )
    assert (
        f"({left_out} not looked at, since the service refused with 429: rate limit)"
        in ended.stdout
    )
    assert document["is_complete"] is False
    assert "The comparison is not complete" in report.read_text(encoding="utf-8")


def test_a_drift_counts_also_where_not_all_was_looked_at(server: Server) -> None:
    key = limited_key(server, nth=30, retry_after_s=61)
    ended = invoked("--base-url", url(server), "--key", key)
    assert ended.return_value == 1
    assert "What drifts" in ended.stdout
    assert ended.stderr.startswith("payments-emulator: the comparison is not complete: ")
    key = limited_key(server, nth=30, retry_after_s=61)
    accepted = invoked("--base-url", url(server), "--key", key, "--accept", "4.1.14")
    assert (accepted.return_value, accepted.stderr) == (2, ended.stderr)


def test_who_is_refused_at_once_has_nothing_to_compare(server: Server) -> None:
    key = limited_key(server, nth=1, retry_after_s=61)
    told = complaint("--base-url", url(server), "--key", key)
    assert told == (
        f"{url(server)}: 429 came and asked to wait 61 s, and of 60 s in all only 60 s were left"
    )


def test_at_a_terminal_it_is_told_that_it_waits(server: Server) -> None:
    told: list[str] = []
    wanted = VerifyOptions(
        base_url=url(server),
        key=limited_key(server, nth=5, retry_after_s=12),
        other_key=None,
        accepted=frozenset(),
        json=None,
        report=None,
    )
    it = compared(wanted, wall=ImpatientWall(ManualClock()), progress=Progress(told.append))
    assert it.refusal is None
    lines = [text.removeprefix("\r\x1b[K") for text in told]
    place = lines.index("waiting 12 s: the service said 429")
    assert lines[place - 1].startswith("check ")
    assert lines[place + 1] == lines[place - 1]
    assert lines[-1] == ""


@pytest.mark.parametrize("key", ["sk_test_1234", "TEST_demo_key", "", "demo"])
@pytest.mark.parametrize("knows", [[], ["--i-know"]])
def test_a_key_of_neither_kind_is_not_sent_anywhere(key: str, knows: list[str]) -> None:
    told = complaint("--base-url", NOBODY, "--key", key, *knows)
    assert told == "flag --key: expected a key that begins with test_"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], "Missing option '--base-url'"),
        (["--base-url", NOBODY], "Missing option '--key'"),
        (["--base-url", "sandbox.example", *KEYS], "flag --base-url: found 'sandbox.example', "),
        (["--base-url", "ftp://sandbox.example", *KEYS], "flag --base-url: found 'ftp://"),
        (["--base-url", "http://ብር.et", *KEYS], "flag --base-url: found 'http://ብር.et', "),
        (["--base-url", f"{NOBODY}?a=b", *KEYS], f"flag --base-url: found '{NOBODY}?a=b', expec"),
        (
            ["--base-url", "https://me:pw@sandbox.example", *KEYS],
            "flag --base-url: a user and a password cannot be sent beside an API key",
        ),
        (
            ["--base-url", NOBODY, "--key", "test_a b"],
            "flag --key: a key has neither blanks nor characters beyond ASCII",
        ),
        (["--base-url", NOBODY, "--key", "test_ብር"], "flag --key: a key has neither blanks"),
        (["--base-url", NOBODY, "--key", "test_a\n"], "flag --key: a key has neither blanks"),
        (
            ["--base-url", NOBODY, "--key", TEST_KEY, "--other-key", TEST_KEY],
            "flag --other-key: this is the key of --key; expected one of another account",
        ),
        (
            ["--base-url", NOBODY, *KEYS, "--accept", "4.9.9"],
            "flag --accept: there is no clause '4.9.9'; expected one such as 4.1.3",
        ),
        (
            ["--base-url", NOBODY, *KEYS, "--json", "/nowhere/at/all.json"],
            "flag --json: cannot write '/nowhere/at/all.json': its directory does not exist",
        ),
        (
            ["--base-url", NOBODY, *KEYS, "--report", "/nowhere/at/all.html"],
            "flag --report: cannot write '/nowhere/at/all.html': its directory does not exist",
        ),
        (["--base-url", NOBODY, *KEYS, "--report", "/"], "Invalid value for '--report': File '/'"),
        (
            ["--base-url", NOBODY, *KEYS],
            f"cannot reach {NOBODY}: Connection refused",
        ),
    ],
)
def test_a_mistake_is_one_line(options: list[str], expected: str) -> None:
    assert complaint(*options).startswith(expected)


def test_what_is_not_the_service_is_one_line_of_the_program(server: Server) -> None:
    pages = f"http://127.0.0.1:{server.checkout_port}"
    ended = run("verify", "--base-url", pages, "--key", TEST_KEY)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith(f"payments-emulator: {pages}/v1/payments ")
    assert ended.stderr.count("\n") == 1


def test_a_key_that_is_refused_is_not_told_in_full(server: Server) -> None:
    told = complaint("--base-url", url(server), "--key", "test_secret_of_somebody")
    assert told == f"{url(server)} refuses the key test_se…ody (--key): 401 `invalid_api_key`"


def test_the_result_is_told_also_where_a_file_cannot_be_written(
    tmp_path: Path, server: Server
) -> None:
    (tmp_path / "is-gone").symlink_to("/proc/self")
    written = tmp_path / "is-gone" / "result.json"
    options = ("--base-url", url(server), "--key", TEST_KEY, "--json", str(written))
    ended = CliRunner().invoke(cli, ["verify", *options], standalone_mode=False)
    assert isinstance(ended.exception, CliError)
    [line] = ended.exception.lines
    assert line.startswith(f"flag --json: cannot write '{written}': ")
    assert "What drifts" in ended.stdout


def test_nobody_has_to_read_it_to_its_end(server: Server) -> None:
    """As in `verify … | head -1`: the exit code is still that of the run."""
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run(
        [*COMMAND, "verify", "--base-url", url(server), "--key", TEST_KEY],
        cwd=REPOSITORY,
        env=environment(),
        stdout=writing,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (1, "")


def test_on_a_terminal_there_are_colours_and_it_is_told_how_far_it_is(server: Server) -> None:
    pytest.importorskip("pty")
    told = on_a_terminal("verify", "--base-url", url(server), "--key", TEST_KEY)
    assert "\r\x1b[Kcheck 1 of " in told
    assert "\x1b[33mDRIFT\x1b[0m" in told
    plain = {"NO_COLOR": "1", "CI": "true"}
    told = on_a_terminal("verify", "--base-url", url(server), "--key", TEST_KEY, variables=plain)
    assert "\x1b" not in told


def test_a_mistake_is_told_before_anything_heavy_is_loaded() -> None:
    command = (COMMAND[0], "-X", "importtime", *COMMAND[1:])
    ended = run("verify", "--base-url", NOBODY, "--key", LIVE_KEY, command=command)
    assert ended.returncode == 2
    for heavy in ("httpx", "jinja2", "asyncio", "uvicorn"):
        assert not re.search(rf"\| +{heavy}$", ended.stderr, re.MULTILINE), heavy
