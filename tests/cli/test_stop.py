"""`serve` ends on SIGTERM and SIGINT with exit code 0, before its clients do anything more."""

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from http import HTTPStatus
from http.client import HTTPResponse
from itertools import cycle
from pathlib import Path

import pytest

from emulator.server.app.server import LAST_RESPONSES_S
from tests.cli.processes import (
    COMMAND,
    FREE_PORTS,
    HANGS_AFTER_S,
    Server,
    ended,
    free_port,
    listens,
    run,
    serving,
    start,
    wait_for,
)
from tests.depth import usually
from tests.world import TEST_KEY

PROMISED_S = 1.5

SIGNALS = [signal.SIGTERM, signal.SIGINT]
NUMBERS = usually(SIGNALS[:1], deep=SIGNALS)
HEADERS = (
    f"Host: 127.0.0.1\r\nContent-Type: application/json\r\nAuthorization: Bearer {TEST_KEY}\r\n"
)
HEAD = f"POST /v1/payments HTTP/1.1\r\n{HEADERS}"


def end(server: Server, number: signal.Signals = signal.SIGTERM) -> None:
    """Send the signal: the server ends while its clients are connected, with a clean log."""
    server.process.send_signal(number)
    assert server.process.wait(HANGS_AFTER_S) == 0
    assert is_clean(server.stderr)


def is_clean(stderr: str) -> bool:
    """Whether there are only lines of the request log."""
    return all(re.match(r"\d\d:\d\d:\d\d\.\d{3} [A-Z]+ /", line) for line in stderr.splitlines())


@contextmanager
def sent(server: Server, request: str) -> Iterator[socket.socket]:
    """A connection on which this much was sent, and received by the server.

    A pipelined request before it is answered only once the server has read so far.
    """
    health = "GET /_emulator/health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    address = ("127.0.0.1", server.api_port)
    with socket.create_connection(address, timeout=HANGS_AFTER_S) as connection:
        connection.sendall((health + request).encode())
        # The whole response, so that the next bytes are those of another one.
        response = HTTPResponse(connection)
        response.begin()
        assert response.status == HTTPStatus.OK
        response.read()
        yield connection


def received_until(connection: socket.socket, end: bytes) -> bytes:
    received = b""
    while not received.endswith(end):
        part = connection.recv(4096)
        assert part, received
        received += part
    return received


def test_waiting_for_clients_leaves_half_of_the_promised_time() -> None:
    assert LAST_RESPONSES_S <= PROMISED_S / 2


@pytest.mark.sampled
@pytest.mark.parametrize("number", NUMBERS)
def test_a_signal_ends_it_with_exit_code_0(number: signal.Signals, tmp_path: Path) -> None:
    with serving(logs=tmp_path, command=COMMAND) as server:
        end(server, number)
        assert server.read_rest() == ""
        assert server.stderr == ""


@pytest.mark.sampled
@pytest.mark.parametrize("number", NUMBERS)
def test_a_signal_ends_it_when_it_keeps_a_database_and_sends_webhooks(
    number: signal.Signals, tmp_path: Path
) -> None:
    closed = ("--webhook-url", f"http://127.0.0.1:{free_port()}/hook")
    with serving("--database", str(tmp_path / "kept.sqlite3"), *closed, logs=tmp_path) as server:
        for _ in range(100):
            server.create()
        server.process.send_signal(number)
        assert server.process.wait(HANGS_AFTER_S) == 0
        assert "Traceback" not in server.stderr


UNFINISHED = (
    *("POST /v1/pay", HEAD, f"{HEAD}Content-Length: 100\r\n\r\n"),
    f'{HEAD}Content-Length: 100\r\n\r\n{{"amount":',
)


@pytest.mark.sampled
@pytest.mark.parametrize("number", NUMBERS)
def test_idle_connections_and_unfinished_requests_do_not_delay_the_end(
    number: signal.Signals, tmp_path: Path
) -> None:
    with serving(logs=tmp_path) as server, ExitStack() as stack:
        for request in (*UNFINISHED, *[""] * 20):
            stack.enter_context(sent(server, request))
        silent = ("127.0.0.1", server.checkout_port)
        stack.enter_context(socket.create_connection(silent, timeout=HANGS_AFTER_S))
        end(server, number)


def test_a_request_under_way_is_still_answered(tmp_path: Path) -> None:
    body = b'{"amount":"x"}'
    head = f"{HEAD}Content-Length: {len(body)}\r\n\r\n"
    with serving(logs=tmp_path) as server, sent(server, head) as connection:
        # The rest of the request arrives in time, however slow this process is.
        server.process.send_signal(signal.SIGSTOP)
        server.process.send_signal(signal.SIGTERM)
        connection.sendall(body)
        server.process.send_signal(signal.SIGCONT)
        assert received_until(connection, b"}}").startswith(b"HTTP/1.1 400")
        assert server.process.wait(HANGS_AFTER_S) == 0


def test_further_signals_change_nothing(tmp_path: Path) -> None:
    with serving(logs=tmp_path) as server, sent(server, f"{HEAD}Content-Length: 9\r\n\r\n"):
        # Until the very end: the interpreter, too, takes a while to go.
        for number in cycle(SIGNALS):
            server.process.send_signal(number)
            with suppress(subprocess.TimeoutExpired):
                server.process.wait(0.001)
                break
        assert server.process.returncode == 0
        assert is_clean(server.stderr)


@pytest.mark.sampled
@pytest.mark.parametrize("number", NUMBERS)
def test_a_signal_ends_it_while_it_starts(number: signal.Signals, tmp_path: Path) -> None:
    port = free_port()
    stderr_path = tmp_path / "stderr"
    with stderr_path.open("w") as stderr:
        process = start(
            "--port", str(port), stdout=subprocess.DEVNULL, stderr=stderr, command=COMMAND
        )
    with ended(process):
        wait_for(process, lambda: listens(port))
        process.send_signal(number)
        assert process.wait(HANGS_AFTER_S) == 0
    assert is_clean(stderr_path.read_text())


# Sends its own process a signal when this module is about to be imported.
SIGNALLED_AT = """
import os, signal, sys
class Signaller:
    def find_spec(self, name, *_):
        if name == {module!r}:
            os.kill(os.getpid(), {number})
sys.modules.pop({module!r}, None)
sys.meta_path.insert(0, Signaller())
from emulator.cli import main
main()
"""


def signalled_at(module: str, number: signal.Signals) -> tuple[str, ...]:
    return sys.executable, "-c", SIGNALLED_AT.format(module=module, number=int(number))


MODULES = ("typing", "click", "emulator.settings", "httptools", "aiosqlite")
EVERY_SIGNAL = [(module, number) for module in MODULES for number in SIGNALS]


@pytest.mark.sampled
@pytest.mark.parametrize(("module", "number"), usually(EVERY_SIGNAL[1:3], deep=EVERY_SIGNAL))
def test_a_signal_ends_it_before_it_listens(module: str, number: signal.Signals) -> None:
    stopped = run("serve", *FREE_PORTS, command=signalled_at(module, number))
    assert (stopped.returncode, stopped.stdout, stopped.stderr) == (0, "", "")


@pytest.mark.parametrize("module", ["click", "emulator.scenarios.loader", "emulator.cli.output"])
def test_ctrl_c_ends_any_command_quietly_while_it_starts(module: str) -> None:
    # Pytest may have been started in the background, where Ctrl-C is ignored.
    program = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    python, option, text = signalled_at(module, signal.SIGINT)
    stopped = run("replay", "scenarios", command=(python, option, f"{program}\n{text}"))
    assert (stopped.returncode, stopped.stdout, stopped.stderr) == (130, "", "")


@pytest.mark.sampled
@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.deep
def test_it_ends_as_well_where_there_is_no_uvloop(number: signal.Signals, tmp_path: Path) -> None:
    program = "import sys; sys.modules['uvloop'] = None; from emulator.cli import main; main()"
    command = (sys.executable, "-c", program)
    body_missing = f"{HEAD}Content-Length: 9\r\n\r\n"
    with serving(logs=tmp_path, command=command) as server, sent(server, body_missing):
        end(server, number)
