"""The attempts of all endpoints together have a limit, which leaves sockets to the clients."""

import asyncio
import resource
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from emulator.files import MAX_DESCRIPTORS
from emulator.server.engine.delivery.gates import SHARE_OF_DESCRIPTORS
from tests.cli.processes import COMMAND, Server, ask, serving, wait_for
from tests.server.webhooks.receiver import (
    NEVER,
    Received,
    Receiver,
    Reply,
    Response,
    receiving,
    replies,
)
from tests.world import APPROVES, START, TEST_KEY, order

SLOTS = 16
ENDPOINTS = 4
PAYMENTS = 8
SILENT_ENDPOINTS = 1_008
USUAL_LIMIT = 1_024
CLIENTS = 378
TYPES = ["payment.created", "payment.processing", "payment.completed"]


@contextmanager
def server_with(descriptors: int, logs: Path, *options: str) -> Iterator[Server]:
    """A server with a limit of open files, which it cannot raise."""
    with serving(*options, logs=logs) as server:
        wait_for_raise(server)
        limits = (descriptors, descriptors)
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, limits)
        yield server


def wait_for_raise(server: Server) -> None:
    """The server raises its limit just after it has printed its banner."""
    pid = server.process.pid
    _, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    wanted = MAX_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MAX_DESCRIPTORS)
    wait_for(server.process, lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE)[0] >= wanted)


def register(server: Server, url: str, key: str = TEST_KEY, **terms: Any) -> None:
    answer = server.request("POST", "/_emulator/webhook_endpoints", {"url": url, **terms}, key)
    assert answer.status == 201, answer.body


def create(server: Server, key: str = TEST_KEY) -> str:
    answer = server.request("POST", "/v1/payments", order(), key)
    assert answer.status == 201, answer.body
    return str(answer.json["id"])


async def test_handlers_that_cause_webhooks_do_not_block_an_advance(tmp_path: Path) -> None:
    """Twice as many attempts as slots are due, and each handler calls the API."""

    async def pay(received: Received) -> Response:
        event = received.json
        if event["type"] == "payment.created":
            path = f"/_emulator/payments/{event['data']['id']}/pay"
            body = {"method": "telebirr", "phone": APPROVES}
            await asyncio.to_thread(server.request, "POST", path, body)
        return Reply()

    frozen = ("--clock", f"frozen@{START}")
    with server_with(SLOTS * SHARE_OF_DESCRIPTORS, tmp_path, *frozen) as server:
        async with AsyncExitStack() as stack:
            receivers = [
                await stack.enter_async_context(receiving(pay)) for _ in range(2 * ENDPOINTS)
            ]
            for receiver in receivers:
                register(server, receiver.url)
            ids = [create(server) for _ in range(PAYMENTS)]
            body = {"seconds": 60}
            advanced = await asyncio.to_thread(
                server.request, "POST", "/_emulator/clock/advance", body
            )
            assert advanced.json["settled"]
            for receiver in receivers:
                assert types_by_payment(receiver) == dict.fromkeys(ids, TYPES)


def types_by_payment(receiver: Receiver) -> dict[str, list[str]]:
    """What arrived for each payment, in order."""
    types: dict[str, list[str]] = {}
    for received in receiver.received:
        types.setdefault(received.json["data"]["id"], []).append(received.json["type"])
    return types


@pytest.mark.deep
async def test_silent_endpoints_leave_sockets_to_the_clients(tmp_path: Path) -> None:
    with server_with(USUAL_LIMIT, tmp_path) as server:
        async with receiving(replies(NEVER)) as silent:
            for _ in range(SILENT_ENDPOINTS // 16):
                account = server.request("POST", "/_emulator/accounts", {}).json
                for _ in range(16):
                    register(server, silent.url, account["test_key"])
                create(server, account["test_key"])
            await silent.wait_for(USUAL_LIMIT // SHARE_OF_DESCRIPTORS)
            connections = [server.connection() for _ in range(CLIENTS)]
            for connection in connections:
                connection.connect()
            statuses = [
                ask(connection, "POST", "/v1/payments", order()).status
                for connection in connections
            ]
            for connection in connections:
                connection.close()
            assert statuses == [201] * CLIENTS
            assert server.stop() == 0


@pytest.mark.deep
def test_serve_raises_its_limit_of_open_files(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (USUAL_LIMIT, before[1]))
    try:
        with serving(logs=tmp_path, command=COMMAND) as server:
            wait_for_raise(server)
            assert server.stop() == 0
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
