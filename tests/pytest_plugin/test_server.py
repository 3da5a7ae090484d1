"""The server of a test run: shared by its processes, and ended when the last releases it."""

import socket
import sys
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from emulator.http.blocking_client import BlockingEmulator
from emulator.http.emulator_calls import HEALTH, PaymentsEmulatorError
from emulator.pytest_plugin import server_process
from emulator.pytest_plugin.server import (
    ServerLease,
    SharedServer,
    connect_lifeline,
    join_or_start,
    start,
)
from tests.cli.processes import HANGS_AFTER_S, free_port, listens
from tests.server.webhooks.receiver import SELF_SIGNED


def test_later_processes_share_the_server_and_the_last_release_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMULATOR_HOST", "for a server that a user starts")
    start_server = partial(start, (), tmp_path)
    first, second = (join_or_start(tmp_path / "server", start_server) for _ in range(2))
    assert second.process is None, "only one was started"
    assert second.server == first.server
    first.release()
    BlockingEmulator(base_url=second.server.base_url).call(HEALTH)
    second.release()
    assert first.process is not None
    assert first.process.wait(HANGS_AFTER_S) == 0
    first.wait(is_shared=True)
    assert not listens(int(first.server.base_url.rpartition(":")[2]))
    assert connect_lifeline(first.server.lifeline_port) is None


@pytest.mark.parametrize("is_complete", [True, False], ids=["ended", "half written"])
def test_a_server_that_has_ended_is_replaced(tmp_path: Path, is_complete: bool) -> None:
    file = tmp_path / "server.json"
    port = free_port()
    state = f'{{"base_url": "http://127.0.0.1:{port}", "lifeline_port": {port}, "log": ""}}'
    file.write_text(state if is_complete else state[:20])
    with socket.socket() as lifeline:
        server = SharedServer(base_url="http://127.0.0.1:9", lifeline_port=9, log="")
        lease = ServerLease(server=server, lifeline=lifeline)
        assert join_or_start(tmp_path / "server", lambda _: lease) is lease
    assert server.base_url in file.read_text()


@pytest.mark.deep
def test_a_server_that_cannot_start_is_explained(tmp_path: Path) -> None:
    with pytest.raises(PaymentsEmulatorError, match=r"did not start: .*nowhere\.yaml"):
        start(("--scenarios", "nowhere.yaml"), tmp_path, tmp_path / "server")


@pytest.mark.deep
def test_a_command_may_start_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "start"
    script.write_text(f'#!/bin/sh\n"{sys.executable}" -m emulator "$@"\nexit $?\n')
    script.chmod(0o755)
    for command in (f" {sys.executable} -m emulator ", str(script)):
        monkeypatch.setenv("PAYMENTS_EMULATOR_COMMAND", command)
        lease = start((), tmp_path, tmp_path / "server")
        BlockingEmulator(base_url=lease.server.base_url).call(HEALTH)
        port = int(lease.server.base_url.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=HANGS_AFTER_S) as connection:
            lease.release()
            assert connection.recv(1) == b"", "the server has ended"
        lease.wait(is_shared=True)


def test_a_command_that_cannot_start_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAYMENTS_EMULATOR_COMMAND", "no-such-command --option")
    message = "did not start: PAYMENTS_EMULATOR_COMMAND: cannot start 'no-such-command': No such"
    with pytest.raises(PaymentsEmulatorError, match=message):
        start((), tmp_path, tmp_path / "server")


@pytest.mark.deep
def test_a_server_may_use_https(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(SELF_SIGNED))
    pair = ("--tls-cert", str(SELF_SIGNED), "--tls-key", str(SELF_SIGNED))
    lease = start((*pair, "--host", "localhost"), tmp_path, tmp_path / "server")
    assert lease.server.base_url.startswith("https://localhost:")
    assert BlockingEmulator(base_url=lease.server.base_url).call(HEALTH)["status"] == "ok"
    lease.release()
    lease.wait(is_shared=True)


def test_a_server_ends_without_any_connection_and_when_its_last_one_closes() -> None:
    with socket.create_server(("127.0.0.1", 0)) as lifeline:
        server_process.wait_until_released(lifeline, max_first_connect_s=0)
    with (
        socket.create_server(("127.0.0.1", 0)) as lifeline,
        socket.create_connection(lifeline.getsockname()) as holder,
    ):
        holder.shutdown(socket.SHUT_WR)
        server_process.wait_until_released(lifeline, max_first_connect_s=HANGS_AFTER_S)
        assert holder.recv(2) == server_process.WELCOME


def test_another_server_and_a_closed_port_have_different_messages() -> None:
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        control = BlockingEmulator(base_url=f"http://127.0.0.1:{server.server_port}")
        thread = Thread(target=server.handle_request)
        thread.start()
        with pytest.raises(PaymentsEmulatorError, match=r"501 .* this is not a payments emulator"):
            control.call(HEALTH)
        thread.join()
    with pytest.raises(PaymentsEmulatorError, match="does not respond: connection refused"):
        control.call(HEALTH)
