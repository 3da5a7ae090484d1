"""The server of a test run: held on to by those who use it, and gone when the last lets go."""

import selectors
import socket
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from emulator.pytest_plugin import server_process as child
from emulator.pytest_plugin.control_client import ControlClient, PaymentsEmulatorError
from emulator.pytest_plugin.serving import (
    Address,
    Server,
    ServerOptions,
    hold,
    join_or_start,
    start,
)
from tests.cli.processes import HANGS_AFTER_S, free_port, listens


@pytest.fixture
def wanted(tmp_path: Path) -> ServerOptions:
    return ServerOptions(options=(), directory=tmp_path)


def exit_code(server: Server) -> int:
    assert server.process is not None
    return server.process.wait(HANGS_AFTER_S)


def api_port(server: Server) -> int:
    return int(server.address.base_url.rpartition(":")[2])


def test_who_comes_later_joins_and_the_last_one_to_let_go_ends_it(
    wanted: ServerOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMULATOR_HOST", "of somebody who has started one by hand")
    files, start_one = tmp_path / "server", partial(start, wanted)
    first, second = join_or_start(files, start_one), join_or_start(files, start_one)
    assert second.process is None, "only one was started"
    assert second.address == first.address
    first.let_go()
    ControlClient(base_url=second.address.base_url).call("GET", "/health")
    second.let_go()
    assert exit_code(first) == 0
    first.wait(is_shared=True)
    assert not listens(api_port(first))
    assert hold(first.address.lifeline_port) is None


@pytest.mark.parametrize("is_readable", [True, False], ids=["ended", "half written"])
def test_where_the_server_has_ended_another_one_is_started(
    tmp_path: Path, is_readable: bool
) -> None:
    file = tmp_path / "server.json"
    port = free_port()
    left = f'{{"base_url": "http://127.0.0.1:{port}", "lifeline_port": {port}, "log": ""}}'
    file.write_text(left if is_readable else left[:20])
    with socket.socket() as lifeline:
        address = Address(base_url="http://127.0.0.1:9", lifeline_port=9, log="")
        another = Server(address=address, lifeline=lifeline)
        assert join_or_start(tmp_path / "server", lambda _: another) is another
    assert address.base_url in file.read_text()


def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    wanted = ServerOptions(options=("--scenarios", "nowhere.yaml"), directory=tmp_path)
    with pytest.raises(PaymentsEmulatorError, match=r"did not start: .*nowhere\.yaml"):
        start(wanted, tmp_path / "server")


def test_a_server_that_nobody_holds_on_to_ends_by_itself() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as lifeline,
        selectors.DefaultSelector() as selector,
    ):
        selector.register(lifeline, selectors.EVENT_READ)
        child._watch(lifeline, selector, first_hold_s=0)


def test_whoever_is_welcomed_is_waited_for() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as lifeline,
        selectors.DefaultSelector() as selector,
    ):
        selector.register(lifeline, selectors.EVENT_READ)
        with socket.create_connection(lifeline.getsockname()) as holder:
            holder.shutdown(socket.SHUT_WR)
            child._watch(lifeline, selector, first_hold_s=HANGS_AFTER_S)
            assert holder.recv(2) == child.WELCOME


def test_what_is_no_emulator_is_told_from_one_that_is_not_there() -> None:
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        control = ControlClient(base_url=f"http://127.0.0.1:{server.server_port}")
        answering = Thread(target=server.handle_request)
        answering.start()
        with pytest.raises(PaymentsEmulatorError, match=r"answers 501 .*, as no payments emulator"):
            control.call("GET", "/health")
        answering.join()
    with pytest.raises(PaymentsEmulatorError, match="does not answer: Connection refused"):
        control.call("GET", "/health")
