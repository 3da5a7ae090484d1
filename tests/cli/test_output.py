"""Progress on standard error, and signals after the event loop of a command."""

import signal
import sys

import pytest

from emulator.cli.event_loop import run_loop
from emulator.cli.output import LINE_EVERY_MS, ProgressLine
from tests.cli.processes import run
from tests.turns import turn

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
