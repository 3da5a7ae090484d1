"""`replay` and `record` as their users run them."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click import ClickException
from click.testing import CliRunner

from emulator.cli.commands import CliError, cli
from tests.cli.processes import (
    COMMAND,
    HEARS_CTRL_C,
    REPOSITORY,
    Server,
    environment,
    free_port,
    run,
    serving,
)

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
RULES = "outcomes:\n  - {when: {}, then: handset}\n"


def write(directory: Path, name: str, script: str | None, rules: str = "") -> str:
    """A file; its path is what the command is given."""
    file = directory / f"{name}.yaml"
    section = "" if script is None else f"script:{script}"
    file.write_text(f"version: 1\nname: {name}\n{rules}{section}", encoding="utf-8")
    return str(file)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Somebody's running emulator, with a clock that flows."""
    with serving(logs=tmp_path_factory.mktemp("logs")) as server:
        yield server


def url(server: Server) -> str:
    return f"http://127.0.0.1:{server.api_port}"


def replay(*arguments: str, variables: dict[str, str] | None = None) -> tuple[int, str]:
    """The exit code and what is printed, in this process: a new one takes longer than the rest."""
    ended = CliRunner().invoke(
        cli, ["replay", *arguments], env=variables, standalone_mode=False, catch_exceptions=False
    )
    assert ended.stderr == ""
    return ended.return_value, ended.stdout


def complaint(*arguments: str) -> str:
    """The one line of a command that cannot be run."""
    ended = CliRunner().invoke(cli, arguments, standalone_mode=False)
    assert isinstance(ended.exception, ClickException), ended.output
    assert ended.exception.exit_code == 2
    assert ended.stdout == ""
    if isinstance(ended.exception, CliError):
        [line] = ended.exception.lines
        return line
    return ended.exception.format_message()


def test_a_single_file_is_told_step_by_step(tmp_path: Path) -> None:
    file = write(tmp_path, "mine", PASSES)
    ended = run("replay", file)
    assert (ended.returncode, ended.stderr) == (0, "")
    lines = ended.stdout.splitlines()
    assert lines[:9] == [
        f"mine  {file}",
        "  ok      create: {as: order, methods: [telebirr]}  → 201 pending",
        '  ok      pay: {payment: order, method: telebirr, phone: "+251900000003"}'
        "  → 200 processing",
        "  ok      expect: {payment: order, status: processing,"
        " webhooks: [payment.created, payment.processing]}",
        "  ok      advance: 30s  → 2 effects",
        "  ok      expect: {payment: order, status: failed, reason: timeout}",
        "",
        "1 case: 1 passed, 0 failed, 5 steps",
        "",
    ]
    assert lines[9].startswith("Coverage: 4 of ")
    assert any("✓ processing → failed" in line for line in lines)


def test_several_files_have_a_line_each_and_failures_their_steps(tmp_path: Path) -> None:
    write(tmp_path, "a-case", FAILS)
    write(tmp_path, "b-case", PASSES)
    write(tmp_path, "c-rules", None, RULES)
    ended = run("replay", str(tmp_path))
    assert (ended.returncode, ended.stderr) == (1, "")
    assert ended.stdout.split("\nCoverage")[0] == (
        "FAILED  a-case  2 steps\n"
        "ok      b-case  5 steps\n"
        "\n"
        f"a-case  {tmp_path}/a-case.yaml\n"
        "  ok      create: {as: order}  → 201 pending\n"
        "  FAILED  expect: {payment: order, status: completed}\n"
        "\n"
        f"  {tmp_path}/a-case.yaml:5:28: status of order is not as expected\n"
        "      expected    seen\n"
        "    | completed   pending\n"
        "\n"
        "2 cases: 1 passed, 1 failed, 7 steps (1 file without a script skipped)\n"
    )
    assert "  ok      advance: 30s  → 2 effects\n" in replay("-v", str(tmp_path))[1]


def test_what_is_printed_and_reported_is_the_same_in_every_run(tmp_path: Path) -> None:
    write(tmp_path, "a-case", PASSES)
    write(tmp_path, "b-case", FAILS)
    write(tmp_path, "c-case", PASSES)
    seen = set()
    for jobs in ("1", "4"):
        report = tmp_path / "report.html"
        ended = run("replay", str(tmp_path), "-j", jobs, "--report", str(report))
        seen.add((ended.stdout, report.read_bytes()))
    assert len(seen) == 1


def test_the_results_are_written_for_machines_and_for_people(tmp_path: Path) -> None:
    file = write(tmp_path, "mine", FAILS)
    report, results = tmp_path / "report.html", tmp_path / "results.xml"
    assert replay(file, "--junit", str(results), "--report", str(report))[0] == 1
    [[case]] = ElementTree.parse(results).getroot()  # noqa: S314 - it is ours
    assert (case.attrib["name"], case.attrib["classname"]) == ("mine", file)
    assert [told.tag for told in case] == ["failure"]
    assert report.read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize(("percent", "code"), [("3", 0), ("50", 1), ("100", 1)])
def test_too_little_coverage_fails_the_run(tmp_path: Path, percent: str, code: int) -> None:
    file = write(tmp_path, "mine", "\n- create: {}\n")
    ended, printed = replay(file, "--fail-under", percent)
    assert ended == code
    told = f"The coverage is under the {percent} % that --fail-under asks for.\n"
    assert printed.endswith(told) is (code == 1)


def test_the_clock_and_the_seed_of_a_case_can_be_chosen(tmp_path: Path) -> None:
    script = '\n- create: {as: order}\n- expect: {created_at: "2027-05-01T00:00:00.000Z"}\n'
    file = write(tmp_path, "mine", script)
    assert replay(file)[0] == 1
    assert replay(file, "--clock", "frozen@2027-05-01T00:00:00Z")[0] == 0
    ids = write(tmp_path, "ids", "\n- create: {}\n- list: {}\n- expect: {payments: []}\n")
    seen = [replay(ids, *seed) for seed in ([], ["--seed", "0"], ["--seed", "1"])]
    assert seen[0] == seen[1] != seen[2]


def test_no_variable_of_the_user_makes_it_another_run(tmp_path: Path) -> None:
    file = write(tmp_path, "mine", PASSES)
    variables = {"EMULATOR_SEED": "5", "EMULATOR_METHODS": "mpesa", "EMULATOR_CLOCK": "real"}
    assert replay(file, variables=variables) == replay(file)


def test_what_was_played_can_be_kept(tmp_path: Path) -> None:
    file, database = write(tmp_path, "mine", PASSES), tmp_path / "kept.db"
    assert replay(file, "--database", str(database))[0] == 0
    with serving("--database", str(database), logs=tmp_path) as server:
        answer = server.request("GET", "/v1/payments", key="test_replay_mine")
        assert [payment["status"] for payment in answer.json["data"]] == ["failed"]
    again = complaint("replay", file, "--database", str(database))
    assert again == f"flag --database: '{database}' is there already; expected a new file"


def test_a_running_emulator_is_left_as_it_was(tmp_path: Path, server: Server) -> None:
    before = server.request("GET", "/_emulator/accounts").json
    code, printed = replay(write(tmp_path, "mine", PASSES), "--url", url(server))
    assert code == 0, printed
    assert server.request("GET", "/_emulator/accounts").json == before


def test_in_a_running_emulator_the_account_of_a_failure_is_kept(
    tmp_path: Path, server: Server
) -> None:
    ended = run("replay", write(tmp_path, "mine", FAILS), "--url", f"{url(server)}/")
    assert ended.returncode == 1
    [kept] = re.findall(
        r"^The account (acct_\w+) of 'mine' was kept\.$", ended.stdout, re.MULTILINE
    )
    answer = server.request("GET", f"/_emulator/accounts/{kept}")
    assert (answer.status, answer.json["name"]) == (200, "mine")
    assert server.request("DELETE", f"/_emulator/accounts/{kept}").status == 204


def test_nothing_is_played_where_a_file_is_wrong(tmp_path: Path) -> None:
    write(tmp_path, "a-case", PASSES)
    write(tmp_path, "b-case", "\n- creat: {}\n")
    write(tmp_path, "c-case", "\n- advance: soon\n")
    ended = run("replay", str(tmp_path))
    assert (ended.returncode, ended.stdout) == (2, "")
    lines = ended.stderr.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith(f"{tmp_path}/b-case.yaml:4:3: ")
    assert lines[1].startswith(f"{tmp_path}/c-case.yaml:4:")


def test_a_file_that_is_named_must_have_a_script(tmp_path: Path) -> None:
    file = write(tmp_path, "rules", None, RULES)
    ended = run("replay", file)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == f"{file}:1:1: it has no script to play\n"


def test_other_mistakes_are_told_by_the_program(tmp_path: Path) -> None:
    ended = run("replay", write(tmp_path, "mine", PASSES), "--seed", "x")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("payments-emulator: flag --seed: ")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], "Missing argument 'PATH...'"),
        (["FILE", "--clock", "slow"], "flag --clock: found 'slow', expected real, frozen, or "),
        (["FILE", "--seed", "x"], "flag --seed: found 'x', expected an integer"),
        (["FILE", "-j", "0"], "Invalid value for '-j' / '--jobs': 0 is not in the range"),
        (["FILE", "--fail-under", "101"], "Invalid value for '--fail-under': 101"),
        (["FILE", "--fail-under", "nan"], "Invalid value for '--fail-under': nan is no number"),
        (["FILE", "--url", "http://me:pw@host.test"], "flag --url: a user and a password cannot"),
        (["FILE", "--url", "localhost:8080"], "flag --url: found 'localhost:8080', expected an"),
        (["FILE", "--url", "http://ብር.et"], "flag --url: found 'http://ብር.et', expected an"),
        (
            ["FILE", "--url", "http://127.0.0.1:1"],
            "cannot reach the emulator at http://127.0.0.1:1: Connection refused",
        ),
        (
            ["FILE", "--url", "http://127.0.0.1:1", "--database", "x.db"],
            "flag --database: the emulator at --url has a database of its own",
        ),
        (
            ["FILE", "--junit", "/nowhere/at/all.xml"],
            "flag --junit: cannot write '/nowhere/at/all.xml': its directory does not exist",
        ),
        (["FILE", "--report", "/"], "Invalid value for '--report': File '/' is a directory"),
        (["FILE", "--database", "/nowhere/at/all.db"], "cannot open the database /nowhere/at/all"),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, options: list[str], expected: str) -> None:
    file = write(tmp_path, "mine", "\n- create: {}\n")
    told = complaint("replay", *(file if option == "FILE" else option for option in options))
    assert told.startswith(expected)


def test_who_is_no_emulator_is_told_in_a_line(tmp_path: Path, server: Server) -> None:
    pages = f"http://127.0.0.1:{server.checkout_port}"
    file = write(tmp_path, "mine", PASSES)
    assert complaint("replay", file, "--url", pages) == (
        f"no emulator answers at {pages}: status 404 from /_emulator/health"
    )


@contextmanager
def somebody_else(*answers: tuple[int, bytes]) -> Iterator[str]:
    """The URL of another program, which has these answers in store and says the last for ever."""
    left = list(answers)

    class Handler(BaseHTTPRequestHandler):
        def handle_one_request(self) -> None:
            super().handle_one_request()
            self.close_connection = True

        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("content-length") or 0))
            status, body = left.pop(0) if len(left) > 1 else left[0]
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET  # noqa: N815 - as the library calls it

        def log_message(self, *_: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        serving_it = threading.Thread(target=server.serve_forever)
        serving_it.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            serving_it.join()


HEALTHY = (200, b'{"status":"ok","version":"0"}')


@pytest.mark.parametrize(
    "body", [b'{"status":"ok"}', b"<html>", b"[" * 100_000, b"\xff", b'"ok"', b'{"status":"down"}']
)
def test_who_only_looks_healthy_is_no_emulator(tmp_path: Path, body: bytes) -> None:
    file = write(tmp_path, "mine", PASSES)
    with somebody_else((200, body)) as other:
        told = complaint("replay", file, "--url", other)
    assert told == f"no emulator answers at {other}: status 200 from /_emulator/health"


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ((404, b'{"error":{"code":"route_not_found"}}'), "404 route_not_found"),
        ((201, '{"id":"acct_1","test_key":"ብር\\n"}'.encode()), "201"),
        ((201, b"[]"), "201"),
    ],
)
def test_who_makes_no_account_fails_the_case(
    tmp_path: Path, answer: tuple[int, bytes], told: str
) -> None:
    file = write(tmp_path, "mine", PASSES)
    with somebody_else(HEALTHY, answer) as other:
        code, printed = replay(file, "--url", other)
    assert code == 1
    assert f"{file}:1:1: the account of the case was refused: {told}\n" in printed


def test_what_was_played_is_told_also_where_a_file_cannot_be_written(tmp_path: Path) -> None:
    write(tmp_path, "a-case", PASSES)
    write(tmp_path, "b-case", FAILS)
    results = tmp_path / "is-gone" / "results.xml"
    (tmp_path / "is-gone").symlink_to("/proc/self")
    ended = run("replay", str(tmp_path), "--junit", str(results))
    assert ended.returncode == 2
    assert ended.stderr.startswith(f"payments-emulator: flag --junit: cannot write '{results}'")
    assert "status of order is not as expected" in ended.stdout
    assert "2 cases: 1 passed, 1 failed" in ended.stdout


def test_ctrl_c_ends_it_quietly(tmp_path: Path) -> None:
    slow = "\n- create: {as: order}\n- fault: {then: {latency: 5m}}\n- retrieve: order\n"
    with subprocess.Popen(
        [*HEARS_CTRL_C, "replay", write(tmp_path, "mine", slow)],
        cwd=REPOSITORY,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        for line in process.stdout:
            if "fault" in line:
                break
        process.send_signal(signal.SIGINT)
        told = process.stderr.read()
    assert (process.returncode, told.strip()) == (130, "")


def test_ctrl_c_twice_leaves_no_account_behind(tmp_path: Path, server: Server) -> None:
    """As when the program that started it passes on what it has got itself."""
    before = server.request("GET", "/_emulator/accounts").json
    slow = "\n- create: {as: order}\n- fault: {then: {latency: 5m}}\n- retrieve: order\n"
    with subprocess.Popen(
        [*HEARS_CTRL_C, "replay", write(tmp_path, "mine", slow), "--url", url(server)],
        cwd=REPOSITORY,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        for line in process.stdout:
            if "fault" in line:
                break
        for _ in range(3):
            process.send_signal(signal.SIGINT)
        told = process.stderr.read()
    assert (process.returncode, told.strip()) == (130, "")
    assert server.request("GET", "/_emulator/accounts").json == before


def test_nobody_has_to_read_it_to_its_end(tmp_path: Path) -> None:
    """As in `replay … | head -1`: it goes on, and the exit code is still that of the run."""
    file = write(tmp_path, "mine", FAILS)
    reading, writing = os.pipe()
    os.close(reading)
    results = tmp_path / "results.xml"
    ended = subprocess.run(
        [*COMMAND, "replay", file, "--junit", str(results)],
        cwd=REPOSITORY,
        env=environment(),
        stdout=writing,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (1, "")
    assert results.exists()


def test_on_a_terminal_there_are_colours_unless_nobody_wants_them(tmp_path: Path) -> None:
    pytest.importorskip("pty")
    file = write(tmp_path, "mine", FAILS)
    assert "\x1b[31mFAILED\x1b[0m" in on_a_terminal("replay", file)
    assert "\x1b" not in on_a_terminal("replay", file, variables={"NO_COLOR": "1"})


def test_on_a_terminal_the_line_of_a_case_is_written_anew(tmp_path: Path) -> None:
    pytest.importorskip("pty")
    for name in ("one", "two"):
        write(tmp_path, name, PASSES)
    plain = {"NO_COLOR": "1"}
    assert "\r\x1b[K        two  step 5 of 5" in on_a_terminal(
        "replay", str(tmp_path), "-j", "1", variables=plain
    )
    told = on_a_terminal("replay", str(tmp_path), variables={**plain, "CI": "true"})
    assert "\x1b" not in told


def on_a_terminal(*arguments: str, variables: dict[str, str] | None = None) -> str:
    """What a command writes to a terminal."""
    import pty

    leader, follower = pty.openpty()
    usual = {name: value for name, value in environment().items() if name not in {"CI", "NO_COLOR"}}
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=REPOSITORY,
        env={**usual, **(variables or {})},
        stdin=subprocess.DEVNULL,
        stdout=follower,
        stderr=follower,
    )
    os.close(follower)
    told = b""
    while True:
        try:
            part = os.read(leader, 65_536)
        except OSError:
            break  # The last one who could write has gone.
        if not part:
            break
        told += part
    process.wait()
    os.close(leader)
    return told.decode()


def test_a_history_is_recorded_and_played_again(tmp_path: Path, server: Server) -> None:
    account = server.request("POST", "/_emulator/accounts", {"clock": "frozen"}).json
    key = account["test_key"]
    body = {"amount": 500, "currency": "ETB", "methods": ["mpesa"]}
    urls = {"success_url": "https://shop.example/ok", "cancel_url": "https://shop.example/no"}
    assert server.request("POST", "/v1/payments", body | urls, key=key).status == 201
    ended = run("record", "--url", url(server), "--key", key)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "script:" in ended.stdout
    file = tmp_path / "recorded.yaml"
    file.write_text(ended.stdout, encoding="utf-8")
    code, printed = replay(str(file))
    assert code == 0, printed


def test_who_is_no_emulator_is_asked_for_no_recording(server: Server) -> None:
    assert complaint("record", "--url", f"http://127.0.0.1:{server.checkout_port}") == (
        f"no emulator answers at http://127.0.0.1:{server.checkout_port}: status 404 from"
        " /_emulator/health"
    )


def test_a_recording_that_cannot_be_had_is_told_in_a_line(server: Server) -> None:
    assert complaint("record", "--url", url(server), "--key", "test_unknown_key") == (
        f"{url(server)} gives no recording: The API key is not known here."
    )
    assert complaint("record", "--url", url(server), "--key", "nonsense") == (
        "flag --key: expected test_ or live_ and 4 to 128 letters, digits or _"
    )
    with somebody_else(HEALTHY, (200, b"<html>")) as other:
        told = complaint("record", "--url", other)
    assert told == f"{other} gives no recording: what came is no YAML"
    nobody = f"http://127.0.0.1:{free_port()}"
    assert complaint("record", "--url", nobody) == (
        f"cannot reach the emulator at {nobody}: Connection refused"
    )


def test_a_replay_loads_no_template_unless_there_is_a_report(tmp_path: Path) -> None:
    file = write(tmp_path, "mine", "\n- create: {}\n")
    command = (sys.executable, "-X", "importtime", "-m", "emulator")
    imported = run("replay", file, command=command).stderr
    assert "uvicorn" in imported
    for heavy in ("jinja2", "xml.etree.ElementTree"):
        assert not re.search(rf"\| +{re.escape(heavy)}$", imported, re.MULTILINE), heavy


def test_a_mistake_in_a_file_is_told_before_anything_heavy_is_loaded(tmp_path: Path) -> None:
    file = write(tmp_path, "mine", "\n- creat: {}\n")
    command = (sys.executable, "-X", "importtime", "-m", "emulator")
    imported = run("replay", file, command=command).stderr
    for heavy in ("uvicorn", "httpx", "httpcore"):
        assert not re.search(rf"\| +{re.escape(heavy)}$", imported, re.MULTILINE), heavy


def test_the_help_tells_of_every_option() -> None:
    told = CliRunner().invoke(cli, ["replay", "--help"]).stdout
    for option in ("--url", "--jobs", "--junit", "--report", "--fail-under", "--seed", "--clock"):
        assert option in told
