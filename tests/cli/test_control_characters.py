"""Control characters from outside are escaped; the program's own colours are not."""

import json
import socket
import sys
import threading
from pathlib import Path

import pytest

from emulator.cli.output import own_mark, terminal_text, write
from emulator.reporting import Paint
from tests.cli.processes import FREE_PORTS, answers, run, serving, wait_for

EVIL = "\x1b]0;owned\x07\x1b[31m\x9b2J\u202e\u2028\x7f\r"
SHOWN = "\\u001b]0;owned\\u0007\\u001b[31m\\u009b2J\\u202e\\u2028\\u007f\\u000d"


LIVE_KEY = "live_of_another_program"

LOG = """
import logging, sys
from emulator.server.app.log import standard_error

evil = sys.argv[2].encode("latin-1").decode("unicode_escape")
with standard_error(as_json=sys.argv[1] == "json") as log:
    logging.warning("see %s and live%%5Fof_another_program", evil)
    log.is_known_key = {"test_demo_key"}.__contains__
    try:
        raise ValueError(f"{evil} of test_demo_key, test_case_1")
    except ValueError:
        logging.exception("it failed")
"""


def logged(form: str) -> str:
    """The log of a text from outside."""
    evil = EVIL.encode("unicode_escape").decode("latin-1")
    ended = run(form, evil, command=(sys.executable, "-c", LOG))
    assert ended.returncode == 0, ended.stderr
    return ended.stderr


def test_control_characters_in_the_log_are_escaped() -> None:
    lines = logged("text").splitlines()
    assert lines[0] == f"WARNING see {SHOWN} and live_of…ram"
    assert lines[1:3] == ["ERROR it failed", "Traceback (most recent call last):"]
    assert lines[-1] == f"ValueError: {SHOWN} of test_de…key, test_case_1"


def test_control_characters_in_the_json_log_are_escaped() -> None:
    text = logged("json")
    assert all(character.isprintable() for character in text.replace("\n", ""))
    warning, error = map(json.loads, text.splitlines())
    assert warning == {"level": "warning", "message": f"see {EVIL} and live_of…ram"}
    assert error["traceback"].endswith(f"ValueError: {EVIL} of test_de…key, test_case_1")


def redirecting(listening: socket.socket) -> None:
    """Answer each webhook with a redirect whose address is not one."""
    while True:
        try:
            connection, _ = listening.accept()
        except OSError:
            return
        with connection:
            connection.recv(65_536)
            location = f"http://\x1b]0;owned\x07-{LIVE_KEY}-test_demo_key/hidden"
            head = f"HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n"
            connection.sendall(head.encode("latin-1"))


@pytest.mark.parametrize("form", ["text", "json"])
def test_control_characters_in_the_location_of_a_receiver_are_escaped(
    form: str, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=redirecting, args=(listening,), daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        with serving("--log-format", form, "--webhook-url", url, logs=tmp_path) as server:
            server.create()
            wait_for(server.process, lambda: "302" in server.stderr)
            assert server.stop() == 0
    assert "\\u001b]0;owned\\u0007" in server.stderr
    assert "live_of…" in server.stderr
    for secret in ("\x1b", "\x07", LIVE_KEY, "test_demo_key", "hidden"):
        assert secret not in server.stderr


def test_own_sequences_survive_and_those_from_outside_do_not() -> None:
    paint = Paint(is_on=True, mark=own_mark())
    erased = f"{own_mark()}\r\x1b[K"
    assert terminal_text(f"{erased}{paint('red', 'FAILED')}  {EVIL}\n{paint('dim', EVIL)}\n") == (
        f"\r\x1b[K\x1b[31mFAILED\x1b[0m  {SHOWN}\n\x1b[2m{SHOWN}\x1b[0m\n"
    )


def test_a_mark_lets_only_own_sequences_through(capsys: pytest.CaptureFixture[str]) -> None:
    write(f"{own_mark()}\x1b]0;owned\x07{own_mark()}\n")
    assert capsys.readouterr().out == "\\u001b]0;owned\\u0007\n"


@pytest.mark.parametrize("command", ["check", "replay"])
def test_control_characters_in_a_file_name_are_escaped(command: str, tmp_path: Path) -> None:
    name = "odd\x1b[31m\x07\nname\u202e.yaml"
    (tmp_path / name).write_text("version: 2")
    ended = run(command, str(tmp_path))
    assert ended.returncode == 2
    lines = (ended.stdout + ended.stderr).splitlines()
    assert lines
    start = f"{tmp_path}/odd\\u001b[31m\\u0007\\u000aname\\u202e.yaml:1:"
    assert all(line.startswith(start) for line in lines)


def test_control_characters_in_a_mistake_are_escaped(tmp_path: Path) -> None:
    ended = run("serve", *FREE_PORTS, "--scenarios", str(tmp_path / "a\x1b[31m\u202e.yaml"))
    assert ended.returncode == 2
    assert "a\\u001b[31m\\u202e.yaml:1:1: cannot be read" in ended.stderr
    assert "\x1b" not in run("nope\x1b[31m").stderr


@pytest.mark.parametrize("form", ["text", "json"])
def test_control_characters_in_a_path_are_escaped(form: str, tmp_path: Path) -> None:
    with serving("--log-format", form, logs=tmp_path) as server:
        connection = server.connection()
        connection.connect()
        connection.sock.sendall(b"GET /v1/\x1b[31m\x7f\t HTTP/1.1\r\nHost: localhost\r\n\r\n")
        connection.sock.recv(1_000)
        connection.close()
        assert answers(server.api_port)
        assert server.stop() == 0
    assert "\x1b" not in server.stderr
    assert "\x7f" not in server.stderr
