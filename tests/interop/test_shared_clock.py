"""Programs in other languages have the clock of the account, by `--clock-file` and libfaketime."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from emulator.domain.instants import Instant, parse_instant
from tests.cli.processes import SHARED_HANGS_AFTER_S, ask, ended, run_program, serving
from tests.docs.document import sections_of

PAGE = "docs/guides/time.md"
PROGRAMS = Path(__file__).with_name("clocks")
COMMANDS = {
    "Java": ("java", "-cp", ".", "Now"),
    "Node.js": ("node", str(PROGRAMS / "now.js")),
    "PHP": ("php", str(PROGRAMS / "now.php")),
    "Python": (sys.executable, str(PROGRAMS / "now.py")),
    "Ruby": ("ruby", str(PROGRAMS / "now.rb")),
}
ADVANCES = 1_000
MAX_DIFFERENCE_MS = 50


def shown_variables() -> dict[str, str]:
    """The variables of the guide."""
    lines = sections_of(PAGE)[0].files["faketime.env"].text.splitlines()
    return {name: value for name, _, value in (line.partition("=") for line in lines)}


@contextmanager
def program(language: str, directory: Path, clock_file: Path) -> Iterator[subprocess.Popen[str]]:
    """A program that prints its time for each line that it reads, in another time zone."""
    command = COMMANDS[language]
    assert shutil.which(command[0]) is not None, f"not on this machine: {command[0]}"
    shown = {**shown_variables(), "FAKETIME_TIMESTAMP_FILE": str(clock_file)}
    process = subprocess.Popen(
        command,
        cwd=directory,
        env={**os.environ, "TZ": "Africa/Addis_Ababa", **shown},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    assert process.stdin is not None
    with ended(process, SHARED_HANGS_AFTER_S):
        with process.stdin:
            yield process
        assert process.wait() == 0


def times(programs: dict[str, subprocess.Popen[str]]) -> dict[str, Instant]:
    """The present time of each program; all read it at once."""
    for process in programs.values():
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    found = {}
    for language, process in programs.items():
        assert process.stdout is not None
        found[language] = int(process.stdout.readline())
    return found


@pytest.mark.timeout(SHARED_HANGS_AFTER_S)
def test_each_language_reads_the_instant_of_the_account_after_each_advance(tmp_path: Path) -> None:
    compiled = run_program("javac", "-d", str(tmp_path), str(PROGRAMS / "Now.java"))
    assert compiled.returncode == 0, compiled.stderr
    file = tmp_path / "clock"
    options = ("--clock", "frozen@2001-01-01T00:00:00Z", "--clock-file", str(file))
    with ExitStack() as stack:
        server = stack.enter_context(
            serving(*options, logs=tmp_path, hangs_after_s=SHARED_HANGS_AFTER_S)
        )
        programs = {
            language: stack.enter_context(program(language, tmp_path, file))
            for language in COMMANDS
        }
        connection = stack.enter_context(closing(server.connection()))

        def call(method: str, path: str, body: object = None) -> Instant:
            """The account's clock after a call."""
            answer = ask(connection, method, f"/_emulator/clock{path}", body)
            assert answer.status == 200, answer.body
            return parse_instant(answer.json["now"])

        differences = []
        for number in range(ADVANCES):
            instant = call("POST", "/advance", {"seconds": 1 + number + number / 1000})
            differences += [abs(read - instant) for read in times(programs).values()]
        assert len(differences) == ADVANCES * len(COMMANDS)
        assert max(differences) <= MAX_DIFFERENCE_MS
        # A running clock is exact, however late a program reads the file.
        earliest = call("PUT", "", {"frozen": False})
        read = times(programs)
        latest = call("GET", "")
        for instant in read.values():
            assert earliest - MAX_DIFFERENCE_MS <= instant <= latest + MAX_DIFFERENCE_MS
        # Without the emulator it is the real time.
        assert server.stop() == 0
        assert min(times(programs).values()) > latest
    assert not file.exists()


def test_the_guide_has_a_command_for_each_language() -> None:
    text = next(each.text for each in sections_of(PAGE) if "same clock" in each.title)
    for language in COMMANDS:
        assert f"| {language} | `env $(cat faketime.env) " in text
