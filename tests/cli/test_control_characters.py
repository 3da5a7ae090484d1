"""Control characters from outside are escaped; the program's own colours are not."""

import json
import re
import socket
import sys
import threading
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from emulator.cli.output import write
from emulator.reporting import Paint, verdict_lines
from emulator.scenarios.runner.results import Mismatch
from emulator.scenarios.values import VariantKind
from emulator.tools.doctor.report import Perspective, problem, section_lines
from emulator.tools.explore import report as explore
from emulator.tools.explore.judgement import HistoryFailure
from emulator.tools.explore.observation import TracedStep
from emulator.tools.explore.verdicts import Verdict
from emulator.tools.rehearse import report as rehearse
from emulator.tools.rehearse.rehearsal import RehearsalRun, Traffic, rehearsed
from emulator.tools.rehearse.suite import SuiteRun
from emulator.tools.rehearse.variants import Variant
from emulator.tools.replay import console as replay
from emulator.tools.verify.report import comparison_lines
from tests.cli.processes import FREE_PORTS, run, serving, wait_for
from tests.tools.replay.sample_results import HERE, failed, failure, played
from tests.tools.verify.test_report import UNSEEN, comparison

EVIL = "\x1b]0;owned\x07\x1b[31m\x9b2J\u202e\u2028\x7f\r"
SHOWN = "\\u001b]0;owned\\u0007\\u001b[31m\\u009b2J\\u202e\\u2028\\u007f\\u000d"


# The sequences of Paint.
COLOUR = re.compile(r"\x1b\[(?:0|1|2|31|32|33)m")
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
    del warning["at"]
    assert warning == {"level": "warning", "message": f"see {EVIL} and live_of…ram"}
    assert error["traceback"].endswith(f"ValueError: {EVIL} of test_de…key, test_case_1")


def redirecting(listening: socket.socket) -> None:
    """Answer each webhook with a redirect whose address is not one."""
    while True:
        try:
            connection, _ = listening.accept()
        except OSError:
            return
        # The server may end during the response.
        with connection, suppress(ConnectionError):
            connection.recv(65_536)
            location = f"http://\x1b]0;owned\x07-{LIVE_KEY}-test_demo_key/hidden"
            head = f"HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n"
            connection.sendall(head.encode("latin-1"))


@pytest.mark.parametrize("form", ["text", "json"])
def test_control_characters_in_a_path_and_in_the_location_of_a_receiver_are_escaped(
    form: str, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=redirecting, args=(listening,), daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        with serving("--log-format", form, "--webhook-url", url, logs=tmp_path) as server:
            with socket.create_connection(("127.0.0.1", server.api_port)) as connection:
                connection.sendall(b"GET /v1/\x1b[31m\x7f\t HTTP/1.1\r\nHost: localhost\r\n\r\n")
                connection.recv(1_000)
            server.create()
            wait_for(server.process, lambda: "302" in server.stderr)
            assert server.stop() == 0
    assert "\\u001b]0;owned\\u0007" in server.stderr
    assert "live_of…" in server.stderr
    for secret in ("\x1b", "\x07", "\x7f", LIVE_KEY, "test_demo_key", "hidden"):
        assert secret not in server.stderr


def test_text_from_outside_is_escaped_before_colours_are_added() -> None:
    paint = Paint(is_on=True)
    assert paint("red", EVIL) == f"\x1b[31m{SHOWN}\x1b[0m"
    assert verdict_lines(paint, ("dim", "--"), [EVIL, EVIL], width=3) == [
        f"\x1b[2m--\x1b[0m {SHOWN}",
        f"   {SHOWN}",
    ]


def test_all_control_characters_of_a_text_without_colours_are_escaped(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write(f"{EVIL}\n")
    assert capsys.readouterr().out == f"{SHOWN}\n"


def lines_of_reports(paint: Paint) -> dict[str, list[str]]:
    """The lines of each report with colours; every text that can be from outside is EVIL."""
    mismatch = Mismatch(place=HERE, subject=EVIL, expected=[EVIL, 1], seen=[EVIL, 2], note=EVIL)
    why = failure(EVIL, mismatches=(mismatch, mismatch))
    run = SuiteRun(exit_code=1, duration_ms=1, max_ms=1, last_lines=[EVIL], failed_tests=[EVIL])
    variant = Variant(EVIL, VariantKind.DISTURBANCE, EVIL, Path(EVIL))
    found = rehearsed(variant, run, Traffic(api_requests=1))
    suite: Any = SimpleNamespace(command=EVIL)
    nothing: Any = None
    rehearsal = RehearsalRun(
        suite=suite,
        variants=[variant],
        emulator=nothing,
        wall=nothing,
        show=print,
        results=[found],
        unanswered={EVIL: 1},
    )
    step = TracedStep(step=nothing, text=EVIL, result=EVIL)
    titled = SimpleNamespace(title=EVIL)
    observation: Any = SimpleNamespace(history=titled, trace=(step,), orders=())
    history = HistoryFailure(Verdict.NOT_CLOSED, 1, EVIL, EVIL, observation)
    seen = comparison({"4.1.4": {"seen": EVIL}, "6.2": UNSEEN["6.2"] | {"seen": EVIL}})
    return {
        "replay": [
            *replay.failure_lines(failed(why=why), why, paint),
            replay.step_line(played(text=EVIL, outcome=EVIL, failure=why), paint),
        ],
        "rehearse": [*rehearse.table_lines(rehearsal, paint)],
        "explore": explore.failure_lines(history, paint),
        "verify": comparison_lines(seen, paint),
        "doctor": [*section_lines(Perspective.BROWSER, [problem(EVIL, EVIL)], paint)],
    }


def test_text_from_outside_is_escaped_in_each_report_with_colours() -> None:
    for name, lines in lines_of_reports(Paint(is_on=True)).items():
        text = "".join(lines)
        assert SHOWN in text or name == "verify", name
        assert all(char.isprintable() for char in COLOUR.sub("", text)), name
    for name, lines in lines_of_reports(Paint(is_on=False)).items():
        assert all(char.isprintable() for char in "".join(lines)), name


def test_control_characters_in_a_file_name_are_escaped(tmp_path: Path) -> None:
    name = "odd\x1b[31m\x07\nname\u202e.yaml"
    (tmp_path / name).write_text("version: 2")
    start = f"{tmp_path}/odd\\u001b[31m\\u0007\\u000aname\\u202e.yaml:1:"
    for command in ("check", "replay"):
        ended = run(command, str(tmp_path))
        assert ended.returncode == 2
        lines = (ended.stdout + ended.stderr).splitlines()
        assert lines
        assert all(line.startswith(start) for line in lines)
    command = ("serve", *FREE_PORTS, "--scenarios", str(tmp_path))
    assert "/odd\\u001b[31m\\u0007" in run(*command).stderr
    assert "\x1b" not in run("nope\x1b[31m").stderr
