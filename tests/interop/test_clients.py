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
# It logs the headers of the requests of Java's own client.
JAVA = ("java", "-Djdk.httpclient.HttpClient.log=headers")
SPRING_JARS = [
    Path(f"/usr/share/java/{name}.jar")
    for name in ("spring3-core", "spring3-beans", "spring3-web", "commons-logging")
]
SPRING = (*JAVA, "-cp", ":".join(map(str, SPRING_JARS)), str(CLIENTS / "Spring.java"))

COMMANDS = {
    "Java": (*JAVA, str(CLIENTS / "Create.java")),
    "Spring": SPRING,
    "Node.js": ("node", str(CLIENTS / "create.mjs")),
    "PHP": ("php", str(CLIENTS / "create.php")),
    "Ruby": ("ruby", str(CLIENTS / "create.rb")),
}
# The requests with an offer to continue with HTTP/2, of the two that a program sends.
UPGRADES = {"Java": 2, "Spring": 1}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(
        logs=tmp_path_factory.mktemp("server"), hangs_after_s=SHARED_HANGS_AFTER_S
    ) as server:
        yield server


def run(*command: str, sent: Any, upgrades: int = 0) -> str:
    """What a program prints, which sends the value as JSON; None is an empty body."""
    assert shutil.which(command[0]), f"not on this machine: {command[0]}"
    content = "" if sent is None else json.dumps(sent, ensure_ascii=False)
    ended = run_program(*command, sent=content, timeout_s=HANGS_AFTER_S)
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.count("Upgrade: h2c") == upgrades, ended.stderr
    return ended.stdout


def url(server: Server, path: str) -> str:
    return f"http://127.0.0.1:{server.api_port}{path}"


def post_twice(server: Server, client: str, path: str, sent: Any) -> list[tuple[str, str]]:
    """The statuses and bodies of the two responses that a client gets."""
    command = (*COMMANDS[client], url(server, path), TEST_KEY)
    printed = run(*command, sent=sent, upgrades=UPGRADES.get(client, 0))
    lines = [line.partition(" ") for line in printed.splitlines()]
    return [(status, body) for status, _, body in lines]


def test_spring_is_on_this_machine() -> None:
    missing = [jar.name for jar in SPRING_JARS if not jar.exists()]
    assert missing == [], "Debian's package libspring-web-java"


@pytest.mark.parametrize("client", COMMANDS)
def test_a_client_creates_payments(server: Server, client: str) -> None:
    responses = post_twice(server, client, "/v1/payments", ORDER)
    assert [status for status, _ in responses] == ["201", "201"]
    for _, body in responses:
        assert json.loads(body)["metadata"] == ORDER["metadata"]


@pytest.mark.parametrize("client", COMMANDS)
def test_a_client_calls_the_control_api(server: Server, client: str) -> None:
    responses = post_twice(server, client, "/_emulator/clock/advance", {"seconds": 1})
    assert [status for status, _ in responses] == ["200", "200"]


@pytest.mark.parametrize("client", COMMANDS)
def test_a_client_sends_an_empty_body(server: Server, client: str) -> None:
    assert post_twice(server, client, "/_emulator/reset", None) == [("204", ""), ("204", "")]


@pytest.mark.parametrize("option", ["--http2", "--http1.1", "--http1.0"])
def test_curl_creates_a_payment_in_each_version(server: Server, option: str) -> None:
    created = run(*CURL, option, url(server, "/v1/payments"), sent=ORDER)
    assert json.loads(created)["metadata"] == ORDER["metadata"]


def test_curl_sends_two_requests_with_an_upgrade_on_one_connection(server: Server) -> None:
    both = (url(server, "/v1/payments"), url(server, "/v1/payments"))
    options = ("-v", "--http2", "-w", "%{num_connects}\n")
    printed = run(*CURL, *options, *both, sent=ORDER, upgrades=2)
    first, second = printed.splitlines()
    assert json.loads(first[:-1])["id"] != json.loads(second[:-1])["id"]
    assert (first[-1], second[-1]) == ("1", "0")


def test_curl_sends_an_empty_body_with_an_upgrade(server: Server) -> None:
    options = ("-v", "--http2", "-w", "%{http_code}")
    reset = run(*CURL, *options, url(server, "/_emulator/reset"), sent=None, upgrades=1)
    assert reset == "204"
