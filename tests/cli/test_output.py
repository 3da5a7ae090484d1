"""Progress on standard error, and signals after the event loop of a command."""

import signal
import sys
from pathlib import Path

import pytest

from emulator.cli.event_loop import run_loop
from emulator.cli.output import LINE_EVERY_MS, ProgressLine
from emulator.reporting import MAX_COLUMNS, folded
from tests.cli.invocation import invoke
from tests.cli.processes import run, serving
from tests.tools.explore.small_shop import SECRET, small_shop
from tests.turns import turn
from tests.world import TEST_KEY, order

# Standard output as it is with PYTHONUNBUFFERED, on a terminal that takes a part of each text.
UNBUFFERED = """
import io, sys
class Terminal(io.FileIO):
    def write(self, text):
        return super().write(text[:100])
sys.stdout = io.TextIOWrapper(Terminal(1, "w", closefd=False), "utf-8", write_through=True)
from emulator.cli import main
main()
"""


def test_progress_is_a_line_every_ten_seconds_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    progress = ProgressLine()
    for elapsed_ms in range(0, 3 * LINE_EVERY_MS, 2_500):
        progress.show(f"{elapsed_ms} ms", elapsed_ms=elapsed_ms)
    progress.show()
    assert capsys.readouterr().err.splitlines() == ["10000 ms", "20000 ms"]


def test_a_text_is_printed_completely_without_the_buffer_of_python() -> None:
    ended = run("--help", command=(sys.executable, "-c", UNBUFFERED))
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, run("--help").stdout, "")


def test_after_the_event_loop_a_signal_has_its_usual_effect() -> None:
    usual = signal.getsignal(signal.SIGTERM)
    run_loop(turn, ends_on=[signal.SIGTERM])
    assert signal.getsignal(signal.SIGTERM) is usual


ROWS = [
    ("a" * 200, ["a" * 200]),
    ("saved: /" + "a" * 94, ["saved: /" + "a" * 94]),
    ("in /" + "a" * 94 + " it ends", ["in /" + "a" * 94, "    it ends"]),
    (
        "  passed   " + "word " * 30,
        ["  passed   " + "word " * 17 + "word", " " * 11 + "word " * 12],
    ),
    (
        "two words  " + "word " * 20,
        ["two words  " + "word " * 17 + "word", " " * 11 + "word word "],
    ),
    ("  note: " + "words " * 20, ["  note: " + "words " * 14 + "words", " " * 6 + "words " * 5]),
    ("\x1b[31m" + "w " * 50 + "\x1b[0m", ["\x1b[31m" + "w " * 50 + "\x1b[0m"]),
    ("", [""]),
]


@pytest.mark.parametrize(("line", "lines"), ROWS)
def test_a_long_line_is_continued_below_its_text(line: str, lines: list[str]) -> None:
    assert folded(line).split("\n") == lines


def test_output_that_is_no_terminal_has_at_most_100_columns(tmp_path: Path) -> None:
    """Except where one word is longer, such as a path."""
    script = "- create: {as: order}\n- expect: {payment: order, status: completed}\n"
    replayed = tmp_path / "long.yaml"
    replayed.write_text(f"version: 1\nname: long\nscript:\n{script}")
    suite = "import os,urllib.request as u;u.urlopen(u.Request(os.environ['PAYMENTS_EMULATOR_URL']+"
    suite += "'/v1/payments',headers={'authorization':'Bearer '+os.environ"
    suite += "['PAYMENTS_EMULATOR_TEST_KEY']}))"
    with small_shop() as shop, serving(logs=tmp_path) as server:
        url = f"http://127.0.0.1:{server.api_port}"
        assert server.request("POST", "/v1/payments", order(), TEST_KEY).status == 201
        secret = [flag for flag in shop.flags if flag not in ("--webhook-secret", SECRET)]
        commands: list[tuple[str, ...]] = [
            ("checklist", "--url", url),
            ("doctor", "--url", url, "--key", TEST_KEY),
            ("replay", "-v", "--coverage", str(replayed)),
            ("explore", shop.write(tmp_path), "--depth=0", f"--save={tmp_path}", *secret),
            (
                "rehearse",
                "--only=charset",
                "--only=payments-complete",
                "--",
                sys.executable,
                "-c",
                suite,
            ),
            ("verify", "--base-url", url, "--key", TEST_KEY),
        ]
        for command in commands:
            lines = invoke(*command).stdout.splitlines()
            assert len(lines) > 2, command
            wide = [line for line in lines if len(line) > MAX_COLUMNS]
            assert [e for e in wide if max(map(len, e.split())) < MAX_COLUMNS - 20] == [], command
