import logging

import pytest

from emulator.server.engine.state.context import FailureLog


def test_an_error_is_logged_again_when_it_changes_or_the_work_has_succeeded(
    caplog: pytest.LogCaptureFixture,
) -> None:
    failures = FailureLog(logging.getLogger("emulator"), "failed")
    for error in ("full", "full", None, "full", "locked", "locked"):
        if error is None:
            failures.end()
        else:
            failures.add(OSError(error))
    logged = [str(each.exc_info[1]) for each in caplog.records if each.exc_info]
    assert logged == ["full", "full", "locked"]
