"""Command `doctor`: exit codes, text and JSON output, refused options."""

import json
import signal
import socket
from subprocess import PIPE

import pytest

from emulator import __version__
from emulator.cli.doctor import doctor, run_doctor
from emulator.domain.user_error import UserError
from emulator.reporting import Paint
from emulator.tools.doctor.report import problem, section_lines
from tests.cli.processes import (
    COMMAND,
    HANGS_AFTER_S,
    HEARS_CTRL_C,
    ended,
    free_port,
    launch,
    run,
)
from tests.tools.doctor.examinations import BROWSER, options_for
from tests.world import TEST_KEY


def test_an_emulator_without_problems_is_exit_code_0(url: str) -> None:
    done = run("doctor", "--url", url, "--key", TEST_KEY)
    assert (done.returncode, done.stderr) == (0, "")
    assert TEST_KEY not in done.stdout
    assert [line for line in done.stdout.splitlines() if line and not line.startswith(" ")] == [
        "From this machine",
        "From a container",
        "From a browser",
        "To a webhook, tested by the emulator itself",
        "No problem was found. Lines marked -- are notes.",
    ]
    assert all(len(line) < 200 for line in done.stdout.splitlines())


def test_a_problem_is_exit_code_1_and_followed_by_advice(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    closed = f"http://127.0.0.1:{free_port()}/hook"
    assert run_doctor(options_for(url, webhook_url=closed), is_json=False) == 1
    lines = capsys.readouterr().out.splitlines()
    start = f"  !!  {closed} does not accept a ping"
    [number] = [n for n, line in enumerate(lines) if line.startswith(start)]
    assert lines[number + 1].startswith("      ")
    assert lines[-1] == "1 problem, marked !!"


def test_the_findings_are_printed_as_json(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    closed = f"http://127.0.0.1:{free_port()}/hook"
    assert run_doctor(options_for(url, webhook_url=closed), is_json=True) == 1
    report = json.loads(capsys.readouterr().out)
    assert (report["url"], report["version"], report["ok"]) == (url, __version__, False)
    assert list(report["views"]) == ["machine", "container", "browser", "webhook"]
    [finding] = [each for each in report["views"]["webhook"] if each["mark"] == "problem"]
    assert finding["text"].startswith(closed)
    assert finding["fix"]


@pytest.mark.parametrize("is_json", [False, True])
def test_no_emulator_is_exit_code_2_and_a_sentence(
    is_json: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(UserError) as raised:
        run_doctor(options_for(url), is_json=is_json)
    assert raised.value.exit_code == 2
    assert str(raised.value).startswith(f"no emulator at {url}: connection refused")
    printed = capsys.readouterr().out
    assert (json.loads(printed)["ok"] is False) if is_json else (printed == "")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--url", "emulator:8080"], "flag --url: found 'emulator:8080', expected an absolute"),
        (["--url", "http://me:hush@127.0.0.1"], "flag --url: a user and a password cannot be sent"),
        (["--key", "sk_1"], "flag --key: expected test_ or live_ and 4 to 128 visible"),
        (["--webhook-url", "localhost"], "flag --webhook-url: found 'localhost', expected an"),
    ],
)
def test_a_wrong_option_is_refused_before_any_request(options: list[str], expected: str) -> None:
    with pytest.raises(UserError) as raised:
        doctor.main(options, standalone_mode=False)
    assert (raised.value.exit_code, len(raised.value.lines)) == (2, 1)
    assert str(raised.value).startswith(expected)


def test_a_terminal_gets_colours() -> None:
    lines = section_lines(BROWSER, [problem("text", "fix")], Paint(is_on=True))
    assert "\x1b[31m!!\x1b[0m  text" in "\n".join(lines)


def test_other_commands_do_not_import_it() -> None:
    done = run("--version", command=(COMMAND[0], "-X", "importtime", *COMMAND[1:]))
    assert "emulator.cli.commands" in done.stderr
    for module in ("cli.doctor", "doctor.", "http."):
        assert f"emulator.{module}" not in done.stderr


@pytest.mark.deep
def test_ctrl_c_ends_it_quietly() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(HANGS_AFTER_S)
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        command = ("doctor", "--url", url)
        process = launch(*command, stdout=PIPE, stderr=PIPE, command=HEARS_CTRL_C)
        with ended(process):
            connection, _ = silent.accept()
            with connection:
                connection.recv(4096)
                process.send_signal(signal.SIGINT)
                stdout, stderr = process.communicate()
    assert (process.returncode, stdout.strip(), stderr.strip()) == (130, "", "")
