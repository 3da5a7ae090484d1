"""The HTTP clients that merchants have create payments and call the control API."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.processes import SHARED_HANGS_AFTER_S, Server, run_program, serving
from tests.world import TEST_KEY, order

CLIENTS = Path(__file__).parent / "clients"
HANGS_AFTER_S = 120
ORDER = order(metadata={"note": "ሁለት ቡና"})
_AS_JSON = ("-H", "Content-Type: application/json", "--data-binary", "@-", "-w", "\n")
CURL = ("curl", "-sS", "-H", f"Authorization: Bearer {TEST_KEY}", *_AS_JSON)

COMMANDS = {
    "Java": ("java", str(CLIENTS / "Create.java")),
    "Node.js": ("node", str(CLIENTS / "create.mjs")),
    "PHP": ("php", str(CLIENTS / "create.php")),
    "Ruby": ("ruby", str(CLIENTS / "create.rb")),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(
        logs=tmp_path_factory.mktemp("server"), hangs_after_s=SHARED_HANGS_AFTER_S
    ) as server:
        yield server


def run(*command: str, sent: Any) -> str:
    assert shutil.which(command[0]), f"not on this machine: {command[0]}"
    content = json.dumps(sent, ensure_ascii=False)
    ended = run_program(*command, sent=content, timeout_s=HANGS_AFTER_S)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def url(server: Server, path: str) -> str:
    return f"http://127.0.0.1:{server.api_port}{path}"


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_client_creates_payments(server: Server, command: tuple[str, ...]) -> None:
    printed = run(*command, url(server, "/v1/payments"), TEST_KEY, sent=ORDER)
    lines = [line.partition(" ") for line in printed.splitlines()]
    assert [status for status, _, _ in lines] == ["201", "201"]
    for _, _, body in lines:
        assert json.loads(body)["metadata"] == ORDER["metadata"]


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_client_calls_the_control_api(server: Server, command: tuple[str, ...]) -> None:
    printed = run(*command, url(server, "/_emulator/clock/advance"), TEST_KEY, sent={"seconds": 1})
    assert [line.partition(" ")[0] for line in printed.splitlines()] == ["200", "200"]


@pytest.mark.parametrize("option", ["--http2", "--http1.1", "--http1.0"])
def test_curl_creates_a_payment_in_each_version(server: Server, option: str) -> None:
    created = run(*CURL, option, url(server, "/v1/payments"), sent=ORDER)
    assert json.loads(created)["metadata"] == ORDER["metadata"]


def test_curl_sends_two_requests_with_an_upgrade_on_one_connection(server: Server) -> None:
    both = (url(server, "/v1/payments"), url(server, "/v1/payments"))
    printed = run(*CURL, "--http2", "-w", "%{num_connects}\n", *both, sent=ORDER)
    first, second = printed.splitlines()
    assert json.loads(first[:-1])["id"] != json.loads(second[:-1])["id"]
    assert (first[-1], second[-1]) == ("1", "0")


def test_a_client_that_counts_characters_instead_of_bytes_gets_the_true_refusal(
    server: Server,
) -> None:
    """The body ends too early, so it is no JSON; what follows it changes nothing about that."""
    sent = ("node", str(CLIENTS / "miscounted.mjs"), url(server, "/v1/payments"), TEST_KEY)
    status, _, body = run(*sent, sent=ORDER).partition(" ")
    assert status == "400"
    assert json.loads(body)["error"]["code"] == "invalid_json"
