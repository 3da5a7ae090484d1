"""The log has a line for each request, and an unread log blocks nothing."""

import json
import logging
import os
import re
import socket
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from emulator.server.app.log import LogStream, standard_error
from tests.cli.processes import (
    FREE_PORTS,
    HANGS_AFTER_S,
    REPOSITORY,
    answers,
    ask,
    ended,
    environment,
    free_port,
    run,
    serving,
    wait_for,
)
from tests.cli.processes import Server as Process
from tests.server.api.calls import get, post
from tests.world import LIVE_KEY, TEST_KEY, order, world

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


@pytest.mark.parametrize(
    ("statement", "first_line", "last_line"),
    [
        ("INSERT INTO notes VALUES (zeroblob(100000))", ": database or disk is full", None),
        ("SELECT unknown", "", "sqlite3.OperationalError: no such column: unknown"),
    ],
)
def test_a_full_disk_is_one_line_in_the_log(
    statement: str, first_line: str, last_line: str | None, capfd: pytest.CaptureFixture[str]
) -> None:
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("CREATE TABLE notes (note)")
        database.execute("PRAGMA max_page_count = 1")
        with pytest.raises(sqlite3.OperationalError) as raised:
            database.execute(statement)
    with standard_error(as_json=False):
        logging.getLogger("emulator").error("timers could not be fired", exc_info=raised.value)
    first, *others = capfd.readouterr().err.splitlines()
    assert first == f"ERROR timers could not be fired{first_line}"
    assert others[-1:] == ([] if last_line is None else [last_line])


def test_the_log_as_json_is_an_object_a_line(tmp_path: Path) -> None:
    port = free_port()
    options = ("--log-format", "json", "--methods", "telebir", "--webhook-url")
    with serving(*options, f"http://127.0.0.1:{port}/", logs=tmp_path) as server:
        order = {
            "methods": ["telebir"],
            "success_url": "https://a.et",
            "cancel_url": "https://a.et",
        }
        sent = {"amount": 100, "currency": "ETB", **order}
        payment = server.request("POST", "/v1/payments", sent).json
        wait_for(server.process, lambda: "connection refused" in server.stderr)
        created = server.request("GET", "/v1/payments", key=LIVE_KEY)
        unknown = server.request("GET", "/v1/payments", key="test_unknown")
        refused = server.request("GET", "/v1/payments?limit=0")
        unread = server.request("POST", "/_emulator/reset", {"al": True})
        clock = server.request("GET", "/_emulator/clock")
        other = server.request("PUT", "/other")
        path = urlsplit(payment["checkout_url"]).path
        with closing(server.connection(server.checkout_port)) as pages:
            page = ask(pages, "GET", path)
        assert server.stop() == 0
        assert server.read_rest() == ""
    assert [json.loads(line)["level"] for line in server.printed if line[0] == "{"] == ["info"]
    lines = [json.loads(line) for line in server.stderr.splitlines()]
    assert all({"level", "message"} == set(line) for line in lines if "at" not in line)
    requests = [line for line in lines if "at" in line][1:]
    facts = ("level", "account", "mode", "method", "path", "status", "request_id")
    assert [tuple(line[fact] for fact in facts) for line in requests] == [
        (*shown, response.status, response.headers["request-id"])
        for shown, response in (
            (("info", "acct_demo", "live", "GET", "/v1/payments"), created),
            (("warning", None, None, "GET", "/v1/payments"), unknown),
            (("warning", "acct_demo", "test", "GET", "/v1/payments"), refused),
            (("warning", "acct_demo", "test", "POST", "/_emulator/reset"), unread),
            (("info", "acct_demo", "test", "GET", "/_emulator/clock"), clock),
            (("warning", None, None, "PUT", "/other"), other),
            (("info", "acct_demo", "test", "GET", path), page),
        )
    ]
    assert all(line["duration_ms"] >= 0 for line in requests)
    codes = ["invalid_api_key", "invalid_limit", "unknown_parameter", "route_not_found"]
    assert [line["code"] for line in requests if "code" in line] == codes


@pytest.mark.parametrize("times", [1, 2])
async def test_the_line_of_a_refused_request_has_its_code(times: int) -> None:
    busy = {"when": {"request": "list_payments"}, "then": {"status": 409}}
    async with world() as emulator:
        for _ in range(times):
            await post(emulator, order(amount="150.00"))
            await get(emulator, "/v1/payments", "test_unknown")
            await emulator.api.put("/_emulator/nothing")
        await emulator.control("POST", "/faults", busy)
        await get(emulator, "/v1/payments")
        await emulator.pages.get("/c/unknown", headers={"Accept": "text/html"})
    shown = re.findall(r"^[0-9:.]{12} (.*) [0-9.]+ ms$", "".join(emulator.log), re.MULTILINE)
    assert shown == [
        *times
        * [
            "POST /v1/payments 400 invalid_amount",
            "GET /v1/payments 401 invalid_api_key",
            "PUT /_emulator/nothing 404 route_not_found",
        ],
        "POST /_emulator/faults 201",
        "GET /v1/payments 409 idempotency_key_in_use",
        "GET /c/unknown 404",
    ]


def test_a_failed_start_with_the_log_as_json_is_an_object_a_line(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("version: 2\nname: UPPER\n")
    for options in (("--database", str(tmp_path)), ("--scenarios", str(tmp_path))):
        failed = run("serve", *FREE_PORTS, "--log-format", "json", *options)
        assert (failed.returncode, failed.stdout) == (2, "")
        for line in map(json.loads, failed.stderr.splitlines()):
            assert line["level"] == "error"
            assert str(tmp_path) in line["message"]


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


@pytest.mark.parametrize("form", ["text", "json"])
def test_log_and_banner_show_no_secrets_of_a_webhook_url(form: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as endpoint, ThreadPoolExecutor() as thread:
        endpoint.settimeout(HANGS_AFTER_S)
        port = endpoint.getsockname()[1]
        url = f"http://name:word@127.0.0.1:{port}/hook/path?token=1"
        with serving("--webhook-url", url, "--log-format", form, logs=tmp_path) as server:
            # After the end of a connection without a response, the likely cause proposes https.
            accepted = thread.submit(endpoint.accept)
            server.create()
            accepted.result()[0].close()
            wait_for(server.process, lambda: "register https://" in server.stderr)
            texts = "".join(server.printed) + server.stderr
    assert f"http://127.0.0.1:{port}/…, secret whsec_" in texts
    for secret in ("name:", "word", "/hook", "token=1"):
        assert secret not in texts


def test_a_server_without_a_standard_error_has_no_log(tmp_path: Path) -> None:
    command = ("/bin/sh", "-c", 'exec "$@" 2>&-', "sh", sys.executable, "-m", "emulator")
    with serving("--database", str(tmp_path / "db"), logs=tmp_path, command=command) as server:
        server.create()
        assert server.stop() == 0
    assert server.stderr == ""
    assert (tmp_path / "db").stat().st_size > 0


@pytest.mark.parametrize(
    ("as_json", "shown"), [(False, "({})\n"), (True, '{{"level": "warning", "message": "{}"}}\n')]
)
def test_the_log_counts_the_lines_that_it_drops_while_the_pipe_is_full(
    as_json: bool, shown: str
) -> None:
    reading, writing = os.pipe()
    stream = LogStream(writing, as_json=as_json)
    kept = ["x" * 100_000 + "\n", "y" * 5_000_000 + "\n"]
    for text in [*kept, "dropped\n", "dropped, too\n"]:
        stream.write(text)
    lost = shown.format("2 lines of the log were dropped: standard error was blocked")
    expected = "".join(kept) + lost
    with os.fdopen(reading, encoding="utf-8") as pipe:
        assert pipe.read(len(expected)) == expected
        stream.write("kept again\n")
        assert pipe.readline() == "kept again\n"
    stream.close()
    os.close(writing)
