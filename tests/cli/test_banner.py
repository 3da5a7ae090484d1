"""The banner that `serve` prints when it can answer requests."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from emulator.clock import RealClock
from emulator.settings import data_directory
from tests.cli.processes import (
    COMMAND,
    HANGS_AFTER_S,
    answers,
    ended,
    free_port,
    listens,
    serving,
    start,
    wait_for,
)
from tests.world import START


def test_the_banner_of_a_server_with_its_defaults(tmp_path: Path) -> None:
    with serving(logs=tmp_path, command=COMMAND) as server:
        payment = server.create()
        base = f"http://127.0.0.1:{server.checkout_port}/c/"
        assert payment["checkout_url"].startswith(base)
        server.stop()
        printed = server.banner + server.read_rest()
    assert (
        printed
        == f"""\
ETB payments emulator 0.1.0

  API         http://127.0.0.1:{server.api_port}
  Checkout    http://127.0.0.1:{server.checkout_port}
  Control API http://127.0.0.1:{server.api_port}/_emulator
  Open        http://127.0.0.1:{server.api_port}/  in a browser

  Test key    test_demo_key
  Live key    live_demo_key  (its payments are also simulated)

  Test numbers                    telebirr       mpesa
    completed                     +251900000001  +251700000001
    failed: insufficient_balance  +251900000002  +251700000002
    failed after 30s: timeout     +251900000003  +251700000003
    failed: user_cancelled        +251900000004  +251700000004

  Clock       real
  Seed        random
  Database    in memory, lost at the end

"""
    )


URL = "http://127.0.0.1:9/hook"
SHOWN_URL = "http://127.0.0.1:9/…"
SECRET = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"  # noqa: S105 - not a real secret
OTHER_SECRET = "whsec_MjEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"  # noqa: S105 - not a real secret


OPTIONS = (
    "--test-key test_a_secret_of_mine --live-key live_another_secret --methods mpesa --seed -7"
    f" --clock frozen@{START} --webhook-url {URL} --webhook-secret {SECRET}"
)
SHOWN = """\
  Test key    test_a_…ine
  Live key    live_an…ret  (its payments are also simulated)
    completed                     +251700000001
  Clock       frozen at 2026-01-01T00:00:00.000Z
  Seed        -7
  Webhooks    http://127.0.0.1:9/…, signed with the given secret"""


def test_the_banner_shows_options_and_no_secrets(tmp_path: Path) -> None:
    with serving(*OPTIONS.split(), logs=tmp_path) as server:
        assert {*SHOWN.splitlines()} <= {*server.banner.splitlines()}
        for text in ("_secret", SECRET, "random", "telebirr +2519"):
            assert text not in server.banner


def test_beside_a_public_address_the_banner_shows_where_the_pages_listen(tmp_path: Path) -> None:
    with serving("--checkout-url", "https://pay.test", logs=tmp_path) as server:
        address = re.search(
            r"^  Checkout    https://pay\.test  \(listens at http://127\.0\.0\.1:(\d+)\)$",
            server.banner,
            re.MULTILINE,
        )
        assert address is not None
        assert listens(int(address[1]))


def test_the_clock_and_the_seed_of_a_database_override_the_options(tmp_path: Path) -> None:
    database = str(tmp_path / "kept.sqlite3")
    kept = ("--database", database)
    with serving(*kept, "--clock", f"frozen@{START}", "--seed", "3", logs=tmp_path) as server:
        assert server.stop() == 0
    with serving(*kept, "--clock", "real", "--seed", "4", logs=tmp_path) as server:
        printed = server.banner
    assert "  Clock       frozen at 2026-01-01T00:00:00.000Z\n" in printed
    assert "  Seed        3\n" in printed
    assert f"  Database    {database}\n" in printed


def test_a_wildcard_host_is_printed_as_a_browser_can_use_it(tmp_path: Path) -> None:
    with serving("--host", "0.0.0.0", logs=tmp_path) as server:  # noqa: S104 - what is tested
        assert f"  API         http://localhost:{server.api_port}\n" in server.printed


def test_the_banner_lists_what_is_switched_on(tmp_path: Path) -> None:
    scenario = data_directory("scenarios") / "banks.yaml"
    own = tmp_path / "own.yaml"
    own.write_text(scenario.read_text(encoding="utf-8").replace("name: banks", "name: own"))
    switches = ("--strict", "--auto-provision", "--allow-http-localhost")
    given = ("--rate-limit", "1000/min", "--scenarios", str(own), "--webhook-format", "hex-header")
    with serving(*switches, *given, logs=tmp_path) as server:
        printed = server.banner
    assert re.fullmatch(r"[ -~\n]*", printed), "no colour without a terminal"
    assert printed.partition("lost at the end\n")[2].splitlines() == [
        f"  Scenarios   {own}, before the built-in ones",
        "  Format      hex-header, of new webhook endpoints",
        "  Strict      refuses what is otherwise tolerated with a warning",
        "  Accounts    an unknown test_ key becomes a new one",
        "  Redirects   http:// is accepted on local names",
        "  Rate limit  1000 requests in 1m, per account and mode",
        "",
    ]


def test_the_banner_shows_a_generated_webhook_secret(tmp_path: Path) -> None:
    with serving("--webhook-url", URL, "--seed", "1", logs=tmp_path) as server:
        [endpoint] = server.request("GET", "/_emulator/webhook_endpoints").json["data"]
        assert f"  Webhooks    {SHOWN_URL}, secret {endpoint['secret']}\n" in server.printed


def test_an_endpoint_that_the_database_holds_is_kept_with_its_secret(tmp_path: Path) -> None:
    kept = ("--database", str(tmp_path / "kept.sqlite3"), "--webhook-url", URL)
    with serving(*kept, "--webhook-secret", SECRET, logs=tmp_path) as server:
        before = server.request("GET", "/_emulator/webhook_endpoints").json
        server.kill()
    with serving(*kept, "--webhook-secret", OTHER_SECRET, logs=tmp_path) as server:
        assert server.request("GET", "/_emulator/webhook_endpoints").json == before
        signed = "signed with the secret in the database"
        assert f"  Webhooks    {SHOWN_URL}, {signed}\n" in server.printed


def test_a_terminal_without_the_ellipsis_gets_a_question_mark(tmp_path: Path) -> None:
    variables = {"PYTHONIOENCODING": "latin-1"}
    with serving("--test-key", "test_a_secret", logs=tmp_path, variables=variables) as server:
        assert "  Test key    test_a_?ret\n" in server.printed


NO_SPACE = "WARNING the addresses and keys cannot be printed: [Errno 28] No space left on device\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("warning", ["", NO_SPACE])
def test_a_server_whose_banner_cannot_be_written_answers(warning: str, tmp_path: Path) -> None:
    """Nobody reads it, or there is no space for it."""
    port, stderr_path = free_port(), tmp_path / "stderr"
    unread, stdout = os.pipe()
    os.close(unread)
    with os.fdopen(stdout, "w") as pipe, Path("/dev/full").open("w") as full:
        out = (full if warning else pipe).fileno()
        with stderr_path.open("w") as stderr:
            process = start("--port", str(port), stdout=out, stderr=stderr)
    with ended(process):
        wait_for(process, lambda: answers(port) and stderr_path.read_text() == warning)
        process.terminate()
        assert process.wait(HANGS_AFTER_S) == 0
    assert stderr_path.read_text() == warning


NO_DESCRIPTORS = """
import asyncio, os, resource
from emulator.cli.serve import announce
from emulator.server.app.server import serve
from emulator.settings import resolve
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

def announce_without_descriptors(app):
    taken = []
    try:
        while True:
            taken.append(os.dup(0))
    except OSError:
        announce(app)
    for descriptor in taken:
        os.close(descriptor)
    os.write(2, b"released\\n")

flags = {"port": os.environ["PORT"], "checkout-port": 0}
asyncio.run(serve(resolve(flags, {}), announce=announce_without_descriptors))
"""


def test_without_a_free_descriptor_the_server_starts_and_ends(tmp_path: Path) -> None:
    port, stderr_path = free_port(), tmp_path / "stderr"
    with stderr_path.open("w") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-c", NO_DESCRIPTORS],
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            env={**os.environ, "PORT": str(port)},
        )
    try:
        deadline = RealClock().monotonic_ms() + 1000 * HANGS_AFTER_S
        # A connection before that would find no descriptor either.
        while not (stderr_path.read_text().count("\n") == 2 and answers(port)):
            assert process.poll() is None
            assert RealClock().monotonic_ms() < deadline
        process.terminate()
        assert process.wait(HANGS_AFTER_S) == 0
    finally:
        process.kill()
    # The log is written by another thread.
    line, released = sorted(stderr_path.read_text().splitlines())
    assert released == "released"
    assert line.startswith("WARNING the addresses and keys cannot be printed: ")
    assert "Too many open files" in line


A_CLIENT_WAITS = """
import asyncio, os, signal, socket
from emulator.cli.event_loop import LOOP_FACTORY
from emulator.server.app.server import serve
from emulator.settings import resolve
port = int(os.environ["PORT"])
client = socket.socket()

def warnings_of_a_start_while_it_listens():
    client.connect(("127.0.0.1", port))
    client.sendall(b"GET /v1 HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n")
    yield "a client has sent a request"

def announce_with_the_response(app):
    client.setblocking(False)
    print(client.recv(12))
    os.kill(os.getpid(), signal.SIGTERM)

settings = resolve({"port": port, "checkout-port": 0}, {})
with asyncio.Runner(loop_factory=LOOP_FACTORY) as runner:
    runner.run(serve(settings, announce=announce_with_the_response,
        warnings=warnings_of_a_start_while_it_listens()))
"""


def test_a_request_that_waits_for_the_start_is_answered_before_the_banner_is_made() -> None:
    process = subprocess.run(
        [sys.executable, "-c", A_CLIENT_WAITS],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PORT": str(free_port())},
        timeout=HANGS_AFTER_S,
    )
    assert process.stdout == "b'HTTP/1.1 401'\n", process.stderr


def test_the_banner_as_json_has_facts_and_no_words(tmp_path: Path) -> None:
    given = ("--strict", "--rate-limit", "100/s", "--webhook-url", "http://127.0.0.1:9/")
    json_log = ("--log-format", "json", "--clock", "x60", "--seed", "5")
    with serving(*json_log, *given, logs=tmp_path) as server:
        [line] = [json.loads(line) for line in server.printed if line[0] == "{"]
        secret = server.request("GET", "/_emulator/webhook_endpoints").json["data"][0]["secret"]
    api, checkout = (f"http://127.0.0.1:{port}" for port in (server.api_port, server.checkout_port))
    clock, numbers = line.pop("clock"), line.pop("test_numbers")
    assert (clock["frozen"], clock["rate"]) == (False, 60)
    assert numbers["completed"]["telebirr"] == "+251900000001"
    assert line == {
        "at": line["at"],
        "level": "info",
        "message": "ETB payments emulator 0.1.0",
        "api": api,
        "checkout": checkout,
        "control_api": f"{api}/_emulator",
        "open": f"{api}/",
        "test_key": "test_demo_key",
        "live_key": "live_demo_key",
        "seed": 5,
        "database": ":memory:",
        "strict": True,
        "rate_limit": {"requests": 100, "period_ms": 1000},
        "webhooks": {"url": "http://127.0.0.1:9/", "secret": secret},
    }
