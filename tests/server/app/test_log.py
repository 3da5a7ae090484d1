"""The log has a line for each request, and an unread log blocks nothing."""

import fcntl
import json
import logging
import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from emulator.server.app.layers import MAX_WAITING_LINES, RequestLog
from emulator.server.app.log import LogStream, standard_error
from tests.cli.processes import ask, free_port, serving, wait_for
from tests.server.api.calls import get, post
from tests.world import LIVE_KEY, TEST_KEY, World, order, world

INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
# Their lines of some 50 characters are more than the pipe holds.
REQUESTS = 300


def test_a_server_whose_log_is_not_read_responds_and_ends(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDWR)
    fcntl.fcntl(reading, fcntl.F_SETPIPE_SZ, 4_096)
    command = ("/bin/sh", "-c", f'exec "$@" 2>"{pipe}"', "sh", sys.executable, "-m", "emulator")
    with serving(logs=tmp_path, command=command) as server:
        with closing(server.connection()) as connection:
            for _ in range(REQUESTS):
                ask(connection, "GET", "/_emulator/clock")
        assert server.stop() == 0
    os.close(reading)


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
        payment = server.request("POST", "/v1/payments", order(methods=["telebir"])).json
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
    [banner] = [json.loads(line) for line in server.printed if line[0] == "{"]
    assert banner["level"] == "info"
    lines = [json.loads(line) for line in server.stderr.splitlines()]
    assert all(INSTANT.fullmatch(line["at"]) for line in (banner, *lines))
    others = [line for line in lines if line.keys().isdisjoint({"path", "event"})]
    assert all({"at", "level", "message"} == set(line) for line in others)
    requests = [line for line in lines if "path" in line][1:]
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


def shown(emulator: World) -> list[str]:
    """The lines of the requests, without their instants and durations."""
    return re.findall(r"^[0-9:.]{12} (.*) [0-9.]+ ms$", "".join(emulator.log), re.MULTILINE)


async def test_a_limited_number_of_lines_waits_to_be_written() -> None:
    written: list[str] = []
    log = RequestLog(written.append, as_json=False)
    for _ in range(2 * MAX_WAITING_LINES):
        log.add({"method": "GET", "raw_path": b"/v1/payments"}, 0, 200, "", 1.0)
    assert [part.count("\n") for part in written] == [MAX_WAITING_LINES] * 2


async def test_a_health_check_has_no_line_unless_it_fails() -> None:
    async with world() as emulator:
        for method in ("GET", "HEAD"):
            response = await emulator.api.request(method, "/_emulator/health")
            assert response.status_code == 200
        await emulator.api.post("/_emulator/health")
        await emulator.pages.get("/_emulator/health")
    assert [line.split()[:3] for line in shown(emulator)] == [
        [method, "/_emulator/health", "404"] for method in ("POST", "GET")
    ]


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
    assert shown(emulator) == [
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


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_key_that_stands_in_a_path_is_not_in_the_log(tmp_path: Path, form: str) -> None:
    with serving("--log-format", form, logs=tmp_path) as server:
        server.request("GET", f"/v1/payments/{TEST_KEY}")
        server.request("GET", f"/_emulator/payments/{TEST_KEY}")
        assert server.stop() == 0
    assert TEST_KEY not in server.stderr
    assert server.stderr.count("/payments/test_de…key") == 2


def test_a_server_without_a_standard_error_has_no_log(tmp_path: Path) -> None:
    command = ("/bin/sh", "-c", 'exec "$@" 2>&-', "sh", sys.executable, "-m", "emulator")
    with serving("--database", str(tmp_path / "db"), logs=tmp_path, command=command) as server:
        server.create()
        assert server.stop() == 0
    assert server.stderr == ""
    assert (tmp_path / "db").stat().st_size > 0


def message_of(line: str, *, as_json: bool) -> str:
    """The message about dropped lines."""
    if not as_json:
        return line.removeprefix("(").removesuffix(")\n")
    entry = json.loads(line)
    assert (list(entry), entry["level"]) == (["at", "level", "message"], "warning")
    return str(entry["message"])


@pytest.mark.parametrize("as_json", [False, True])
def test_the_log_counts_the_lines_that_it_drops_while_the_pipe_is_full(as_json: bool) -> None:
    reading, writing = os.pipe()
    stream = LogStream(writing, as_json=as_json)
    kept = ["x" * 100_000 + "\n", "y" * 5_000_000 + "\n"]
    for text in [*kept, "dropped\n", "dropped, too\n"]:
        stream.write(text)
    lost = "2 lines of the log were dropped: standard error was blocked"
    with os.fdopen(reading, encoding="utf-8") as pipe:
        assert [pipe.readline() for _ in kept] == kept
        assert message_of(pipe.readline(), as_json=as_json) == lost
        stream.write("kept again\n")
        assert pipe.readline() == "kept again\n"
    stream.close()
    os.close(writing)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("as_json", [False, True])
def test_the_log_goes_on_when_a_full_disk_has_space_again(tmp_path: Path, as_json: bool) -> None:
    log = tmp_path / "log"
    descriptor = os.open("/dev/full", os.O_WRONLY)
    dropped = LogStream(descriptor, as_json=as_json)
    for text in ("dropped\n", "dropped, too\nand this\n"):
        dropped.write(text)
    while dropped.lost < 3:
        os.sched_yield()
    with log.open("w") as file:
        os.dup2(file.fileno(), descriptor)
        dropped.write("kept\n")
        dropped.close()
    os.close(descriptor)
    kept, last = log.read_text().splitlines(keepends=True)
    assert kept == "kept\n"
    lost = "3 lines of the log were dropped: No space left on device"
    assert message_of(last, as_json=as_json) == lost


def test_a_line_that_a_full_disk_has_cut_is_ended(tmp_path: Path) -> None:
    """A file may have 4 bytes; then it may grow."""
    script = """
import os, resource, sys
from emulator.server.app.log import LogStream
usual = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (4, usual[1]))
log = LogStream(os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT))
log.write("one two\\n")
while not log.lost:
    os.sched_yield()
resource.setrlimit(resource.RLIMIT_FSIZE, usual)
log.write("three\\n")
log.close()
"""
    file = tmp_path / "log"
    subprocess.run([sys.executable, "-c", script, str(file)], check=True)
    assert file.read_text() == ("one \nthree\n(1 lines of the log were dropped: File too large)\n")
