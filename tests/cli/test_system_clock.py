"""A system clock that is set beyond the last date that can be written does not end `serve`."""

import sys
from pathlib import Path

import pytest

from tests.cli.processes import ask, serving
from tests.world import order

YEARS = 9_000
PROGRAM = f"""
import time
real = time.time_ns
time.time_ns = lambda: real() + {YEARS * 366 * 86_400} * 10**9
from emulator.cli import main
main()
"""
COMMAND = (sys.executable, "-c", PROGRAM)


@pytest.mark.parametrize("option", ["--log-format=json", "--clock=frozen"])
def test_it_serves_with_a_system_clock_beyond_the_year_9999(option: str, tmp_path: Path) -> None:
    with serving(option, logs=tmp_path, command=COMMAND) as server:
        connection = server.connection()
        answer = ask(connection, "POST", "/v1/payments", order())
        assert (answer.status, answer.json["created_at"][:10]) == (201, "9988-12-31")
        assert answer.headers["date"].startswith("Fri, 31 Dec 9999 ")
        connection.close()
        assert server.stop() == 0
        assert "Traceback" not in server.stderr
