"""The log has a line for each request, and an unread log blocks nothing."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from emulator.app.log import LogStream
from tests.cli.processes import (
    REPOSITORY,
    answers,
    ended,
    environment,
    free_port,
    serving,
    wait_for,
)
from tests.cli.processes import Server as Process
from tests.world import TEST_KEY

# More than a pipe holds (64 KiB) in lines of some 50 characters.
REQUESTS = 3_000


def test_a_server_whose_log_is_not_read_responds_and_ends(tmp_path: Path) -> None:
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "emulator", "serve", "--port", str(port), "--checkout-port", "0"],
        cwd=REPOSITORY,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    with ended(process):
        wait_for(process, lambda: answers(port))
        server = Process(process=process, stderr_path=tmp_path / "none")
        server.printed.append(f"  API         http://127.0.0.1:{port}\n")
        connection = server.connection()
        for _ in range(REQUESTS):
            connection.request("GET", "/_emulator/health")
            connection.getresponse().read()
        connection.close()
        assert server.stop() == 0
        assert process.stderr is not None
        process.stderr.close()


def test_the_log_as_json_is_an_object_a_line(tmp_path: Path) -> None:
    with serving("--log-format", "json", logs=tmp_path) as server:
        server.create()
        assert server.stop() == 0
    [entry] = map(json.loads, server.stderr.splitlines())
    assert (entry["method"], entry["path"], entry["status"]) == ("POST", "/v1/payments", 201)


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_key_that_stands_in_a_path_is_not_in_the_log(tmp_path: Path, form: str) -> None:
    with serving("--log-format", form, logs=tmp_path) as server:
        server.request("GET", f"/v1/payments/{TEST_KEY}")
        server.request("GET", f"/_emulator/payments/{TEST_KEY}")
        assert server.stop() == 0
    assert TEST_KEY not in server.stderr
    assert server.stderr.count("/payments/test_de…key") == 2


def test_a_failed_webhook_is_logged_with_its_likely_cause(tmp_path: Path) -> None:
    port = free_port()
    with serving("--webhook-url", f"http://127.0.0.1:{port}/hook", logs=tmp_path) as server:
        server.create()
        start = f"WARNING webhook payment.created to 127.0.0.1:{port} failed: connection refused. "
        wait_for(server.process, lambda: start in server.stderr)


def test_a_server_without_a_standard_error_has_no_log(tmp_path: Path) -> None:
    command = ("/bin/sh", "-c", 'exec "$@" 2>&-', "sh", sys.executable, "-m", "emulator")
    with serving("--database", str(tmp_path / "db"), logs=tmp_path, command=command) as server:
        server.create()
        assert server.stop() == 0
    assert server.stderr == ""
    assert (tmp_path / "db").stat().st_size > 0


def test_the_log_counts_the_lines_that_it_drops_while_the_pipe_is_full() -> None:
    reading, writing = os.pipe()
    stream = LogStream(writing)
    kept = ["x" * 100_000 + "\n", "y" * 5_000_000 + "\n"]
    for text in [*kept, "dropped\n", "dropped, too\n"]:
        stream.write(text)
    expected = "".join(kept) + "(2 lines of the log were dropped: standard error was blocked)\n"
    with os.fdopen(reading, encoding="utf-8") as pipe:
        assert pipe.read(len(expected)) == expected
        stream.write("kept again\n")
        assert pipe.readline() == "kept again\n"
    stream.close()
    os.close(writing)
