"""Slow packages are imported by the first request or command that needs them."""

import re
import socket
from pathlib import Path

import pytest

from tests.cli.processes import COMMAND, run, serving

pytestmark = pytest.mark.deep

PACKAGES = {f"emulator.server.{package}" for package in ("control", "dashboard", "checkout")}
WITH_TIMES = (COMMAND[0], "-X", "importtime", *COMMAND[1:])
# Few commands need these.
HEAVY = {"asyncio", "starlette", "aiosqlite", "sqlite3", "yaml", "uvloop"}


def imports(stderr: str) -> set[str]:
    return {*re.findall(r"^import time:[\d |]+\| +(\S+)$", stderr, re.MULTILINE)}


def test_payments_load_no_page_and_no_control_api(tmp_path: Path) -> None:
    with serving(logs=tmp_path, command=WITH_TIMES) as server:
        payment = server.create()
        assert server.request("GET", f"/v1/payments/{payment['id']}").status == 200
        assert server.request("GET", "/v1/payments").status == 200
        assert server.stop() == 0
        loaded = imports(server.stderr)
    assert "emulator.server.api.app" in loaded
    assert loaded.isdisjoint({"httpx", "jinja2"} | PACKAGES)


def test_a_delivery_loads_no_http_library(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as receiver:
        url = f"http://127.0.0.1:{receiver.getsockname()[1]}/hook"
        with serving("--webhook-url", url, logs=tmp_path, command=WITH_TIMES) as server:
            server.create()
            connection, _ = receiver.accept()
            with connection:
                assert connection.recv(5) == b"POST "
                connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
            assert server.stop() == 0
            loaded = imports(server.stderr)
    assert "emulator.http.exchange" in loaded
    assert loaded.isdisjoint({"httpx", "httpcore", "h11"})


@pytest.mark.parametrize("arguments", [["health", "--port", "1"], ["--version"]])
def test_small_commands_load_little(arguments: list[str]) -> None:
    loaded = imports(run(*arguments, command=WITH_TIMES).stderr)
    assert "emulator.cli.commands" in loaded
    assert loaded.isdisjoint(HEAVY)
