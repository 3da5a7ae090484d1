"""Progress on standard error, and signals after the event loop of a command."""

import signal

import pytest

from emulator.cli.event_loop import run_loop
from emulator.cli.output import LINE_EVERY_MS, ProgressLine
from tests.turns import turn


def test_progress_is_a_line_every_ten_seconds_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    progress = ProgressLine()
    for elapsed_ms in range(0, 3 * LINE_EVERY_MS, 2_500):
        progress.show(f"{elapsed_ms} ms", elapsed_ms=elapsed_ms)
    progress.show()
    assert capsys.readouterr().err.splitlines() == ["10000 ms", "20000 ms"]


def test_after_the_event_loop_a_signal_has_its_usual_effect() -> None:
    usual = signal.getsignal(signal.SIGTERM)
    run_loop(turn, ends_on=[signal.SIGTERM])
    assert signal.getsignal(signal.SIGTERM) is usual
