"""The modules that are imported before the first response: only those that start-up needs."""

import re
import socket
from pathlib import Path

import pytest

from tests.cli.processes import COMMAND, run, serving
from tests.golden.outputs import library_modules, modules_at_start, recorded

# Each is slow to import and needed by few requests.
NEVER = {"httpx", "jinja2", "rich", "pydantic", "starlette.routing", "starlette.applications"}
NEVER |= {"emulator.server.app.tls", "emulator.http.tls", "emulator.server.app.clock_file"}
NEVER |= {"emulator.domain.clauses", "emulator.server.api.document", "emulator.server.openapi"}
# For `--vary`.
NEVER |= {"emulator.domain.variants", "emulator.server.api.variation"}
# For the banner, which is printed after the server accepts requests.
LATER = {"yaml", "emulator.cli.banner", "emulator.scenarios", "emulator.domain.webhook_forms"}
# Of the command line, and of the programs of the libraries that `serve` is a part of.
OTHERS = {"click", "uvicorn", "importlib.resources", "email"}
MAX_OWN_MODULES = 65
# Needed when a webhook endpoint exists.
WEBHOOKS = {
    "emulator.server.engine.delivery.dispatcher",
    "emulator.server.webhooks.sender",
    "httpcore",
    "certifi",
}
HEAVY = {"asyncio", "starlette", "aiosqlite", "sqlite3", "yaml", "uvloop"}


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    return set(modules_at_start())


def test_start_imports_no_library_module_that_it_did_not_import_before(loaded: set[str]) -> None:
    assert library_modules(loaded) <= set(" ".join(recorded("modules")).split())


def test_only_modules_that_the_first_response_needs_are_loaded(loaded: set[str]) -> None:
    assert loaded & (NEVER | LATER | OTHERS | WEBHOOKS | {"emulator.domain.webhooks"}) == set()
    own = [name for name in loaded if name.partition(".")[0] == "emulator"]
    assert len(own) <= MAX_OWN_MODULES


def test_the_server_is_the_fast_one(loaded: set[str]) -> None:
    assert {"uvloop", "httptools"} <= loaded
    assert "h11" not in loaded


def test_slow_modules_are_not_loaded_by_the_first_requests_either(tmp_path: Path) -> None:
    command = (COMMAND[0], "-X", "importtime", *COMMAND[1:])
    with serving(logs=tmp_path, command=command) as server:
        assert server.request("GET", "/_emulator/health").status == 200
        payment = server.create()
        assert server.request("GET", f"/v1/payments/{payment['id']}").status == 200
        assert server.request("GET", "/v1/payments").status == 200
        assert server.stop() == 0
        imported = imports(server.stderr)
    assert "yaml" in imported, "the banner lists scenario files"
    assert (NEVER | WEBHOOKS).isdisjoint(imported)


def test_a_delivery_loads_no_http_library(tmp_path: Path) -> None:
    command = (COMMAND[0], "-X", "importtime", *COMMAND[1:])
    with socket.create_server(("127.0.0.1", 0)) as receiver:
        url = f"http://127.0.0.1:{receiver.getsockname()[1]}/hook"
        with serving("--webhook-url", url, logs=tmp_path, command=command) as server:
            server.create()
            connection, _ = receiver.accept()
            with connection:
                assert connection.recv(5) == b"POST "
                connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
            assert server.stop() == 0
            imported = imports(server.stderr)
    assert "emulator.server.webhooks.sender" in imported
    assert {"httpx", "httpcore", "h11"}.isdisjoint(imported)


def imports(stderr: str) -> list[str]:
    return re.findall(r"^import time:[\d |]+\| +(\S+)$", stderr, re.MULTILINE)


@pytest.mark.parametrize("arguments", [["health", "--port", "1"], ["--version"], ["schema"]])
def test_small_commands_load_little(arguments: list[str]) -> None:
    ended = run(*arguments, command=(COMMAND[0], "-X", "importtime", *COMMAND[1:]))
    imported = imports(ended.stderr)
    assert "emulator.cli.commands" in imported
    assert HEAVY.isdisjoint(imported)


def test_check_of_paths_loads_no_command_line() -> None:
    ended = run("check", "scenarios", command=(COMMAND[0], "-X", "importtime", *COMMAND[1:]))
    assert ended.stdout.endswith(" files: no problems\n")
    assert not {"click", "asyncio"} & set(imports(ended.stderr))
