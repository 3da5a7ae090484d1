"""Progress on standard error: where it is a terminal, and where it is a file."""

import pytest

from emulator.cli.output import LINE_EVERY_MS, ProgressLine


def test_progress_is_a_line_every_ten_seconds_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    progress = ProgressLine()
    for elapsed_ms in range(0, 3 * LINE_EVERY_MS, 2_500):
        progress.show(f"{elapsed_ms} ms", elapsed_ms=elapsed_ms)
    progress.show()
    assert capsys.readouterr().err.splitlines() == ["10000 ms", "20000 ms"]
