"""Probes of webhook handlers, and the temporary account that they use."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from standardwebhooks import Webhook

from emulator.http.client import EmulatorClient
from emulator.http.emulator_calls import EmulatorCall
from emulator.http.response import HttpResponse
from emulator.tools.doctor.handlers import (
    HandlerRoutes,
    PingAccount,
    handler_routes,
    probe_local_handler,
)
from emulator.tools.doctor.report import Level, Perspective
from emulator.tools.doctor.runner import run_probes
from emulator.tools.doctor.search import LocalNetwork, NetworkInterface
from tests.cli.processes import free_port
from tests.server.webhooks.receiver import NEVER, Reply, receiving, replies
from tests.tools.doctor.examinations import (
    BROWSER,
    OK,
    PROBLEM,
    TIMEOUTS,
    WEBHOOK,
    call,
    examine,
    fixes,
    new_key,
    options_for,
    responding,
    server_at,
    texts,
)

ACCOUNTS = "/_emulator/accounts"
ENDPOINTS = "/_emulator/webhook_endpoints"


async def register(url: str, handler: str) -> tuple[dict[str, Any], str]:
    """An endpoint of a new account, and that account's key."""
    key = await new_key(url)
    return dict(await call(url, "POST", ENDPOINTS, {"url": handler}, key)), key


async def test_each_endpoint_receives_one_ping_signed_with_its_own_secret(url: str) -> None:
    async with receiving() as handler:
        endpoint, key = await register(url, handler.url)
        report = await examine(url, key=key, webhook_url=handler.url)
        [received] = handler.received
    Webhook(endpoint["secret"]).verify(received.body, received.headers)
    assert received.json["type"] == "ping"
    text, _ = texts(report, WEBHOOK, OK)
    assert text.startswith(f"{handler.url} accepts a ping that is signed with its secret: 200 in ")


@pytest.mark.parametrize(("status", "advice"), [(500, "own log"), (401, "secret"), (404, "path")])
async def test_an_error_of_an_endpoint_is_a_problem_with_its_likely_cause(
    url: str, status: int, advice: str
) -> None:
    async with receiving(replies(Reply(status=status))) as handler:
        _, key = await register(url, handler.url)
        report = await examine(url, key=key)
    [text] = texts(report, WEBHOOK, PROBLEM)
    assert text.startswith(f"{handler.url} does not accept a ping: {status} in ")
    assert advice in fixes(report, WEBHOOK)


async def test_closed_ports_and_disabled_endpoints_are_problems(url: str) -> None:
    closed = f"http://127.0.0.1:{free_port()}/hook"
    async with receiving() as handler:
        endpoint, key = await register(url, handler.url)
        path = f"{ENDPOINTS}/{endpoint['id']}"
        await call(url, "PATCH", path, {"enabled": False}, key)
        report = await examine(url, key=key, webhook_url=closed)
        assert handler.received == []
    disabled, refused = texts(report, WEBHOOK, PROBLEM)
    assert disabled == f"{handler.url} is disabled and receives no webhooks"
    assert f'PATCH {path} {{"enabled": true}}' in fixes(report, WEBHOOK)
    assert refused.startswith(f"{closed} does not accept a ping: connection refused in ")


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (200, "accepts a ping, but is not registered: 200 in "),
        (401, "responds, and refuses a ping that is signed with another secret: 401 in "),
    ],
)
async def test_an_unregistered_handler_is_reached(url: str, status: int, expected: str) -> None:
    async with receiving(replies(Reply(status=status))) as handler:
        report = await examine(url, webhook_url=handler.url.replace("//", "//me:hush@"))
        assert len(handler.received) == 1
    assert texts(report, WEBHOOK, OK)[0].startswith(f"{handler.url} {expected}")
    assert report.problem_count == 0
    assert "hush" not in str(report)


class ImpatientServer(EmulatorClient):
    """A server with a short timeout for pings alone."""

    async def try_to_send(self, call: EmulatorCall[object]) -> HttpResponse:
        timeout_s = 0.2 if call.path.endswith("/ping") else self.timeout_s
        server = EmulatorClient(self.base_url, self.key, timeout_s, self.http)
        return await server.try_to_send(call)


async def test_the_endpoint_of_a_handler_without_a_response_is_removed(url: str) -> None:
    async with (
        receiving(replies(NEVER)) as handler,
        PingAccount(server_at(url, ImpatientServer)) as account,
    ):
        ping = await account.ping(handler.url, None)
        assert await call(url, "GET", ENDPOINTS, key=account.key) == {"data": []}
    assert (ping.is_delivered, ping.description) == (False, "timed out after 0.2 s")


@pytest.mark.parametrize(
    ("routes", "level", "text"),
    [
        (
            HandlerRoutes(listening=("127.0.0.1", "127.0.0.2"), hosts=("127.0.0.3", "127.0.0.2")),
            OK,
            "A handler on this machine is reachable at http://127.0.0.2 and its port,"
            " if it listens on 127.0.0.2 or 0.0.0.0: 200 in ",
        ),
        (
            HandlerRoutes(listening=("127.0.0.1",), hosts=("127.0.0.3", "localhost")),
            OK,
            "A handler on this machine is reachable at http://localhost and its port: 200 in ",
        ),
        (
            HandlerRoutes(
                listening=("127.0.0.1",),
                hosts=("127.0.0.2", "127.0.0.3"),
                place="in this container",
            ),
            PROBLEM,
            "A handler in this container is not reachable for the emulator"
            " (127.0.0.2: connection refused",
        ),
        # Reserved for documentation, so that it is no address of this machine.
        (
            HandlerRoutes(listening=("192.0.2.77",), hosts=("x",)),
            PROBLEM,
            "No handler could be tested on this machine: ",
        ),
    ],
    ids=["another address", "another host", "not reached", "cannot listen"],
)
async def test_the_host_by_which_a_local_handler_is_reached_is_found(
    url: str, routes: HandlerRoutes, level: Level, text: str
) -> None:
    async with PingAccount(server_at(url)) as account:
        finding = await probe_local_handler(account, routes)
    assert finding.level is level
    assert finding.text.startswith(text)


def test_beside_loopback_only_bridges_to_containers_are_listened_on() -> None:
    interfaces = (
        NetworkInterface(name="docker0", address="172.17.0.1"),
        NetworkInterface(name="eth0", address="10.0.0.7"),
    )
    host = handler_routes(LocalNetwork(is_in_container=False, interfaces=interfaces))
    assert host.listening == ("127.0.0.1", "172.17.0.1")
    assert host.hosts[:2] == ("127.0.0.1", "host.docker.internal")
    container = handler_routes(LocalNetwork(is_in_container=True, interfaces=interfaces[1:]))
    assert container.listening == container.hosts == ("127.0.0.1", "10.0.0.7")


# ---- The temporary account


async def state(url: str, key: str) -> list[Any]:
    """Everything that an examination could change, except the journal."""
    places = ("webhook_endpoints", "deliveries", "events", "faults", "scenarios", "clock")
    values = [await call(url, "GET", f"/_emulator/{place}", key=key) for place in places]
    values += [
        await call(url, "GET", f"/_emulator/{path}") for path in ("accounts", "checkout_url")
    ]
    return [*values, await call(url, "GET", "/v1/payments", key=key)]


@asynccontextmanager
async def unchanged(url: str, handler: str) -> AsyncIterator[str]:
    """A key with an endpoint; its state is the same when the block ends."""
    frozen = await call(url, "POST", ACCOUNTS, {"clock": "frozen"})
    key = str(frozen["test_key"])
    await call(url, "POST", ENDPOINTS, {"url": handler}, key)
    before = await state(url, key)
    yield key
    assert await state(url, key) == before


async def test_an_examination_changes_nothing(url: str) -> None:
    """Status 410 would disable an endpoint of the account itself."""
    async with receiving(replies(Reply(status=410))) as handler:
        async with unchanged(url, handler.url) as key:
            await examine(url, key=key, webhook_url=f"{handler.url}/other")
        assert len(handler.received) == 2


async def test_a_cancelled_examination_leaves_nothing_behind(url: str) -> None:
    async with receiving() as handler, unchanged(url, handler.url) as key:

        def cancel(perspective: Perspective, _: object) -> None:
            if perspective is BROWSER:
                task.cancel()

        task = asyncio.create_task(run_probes(options_for(url, key=key), TIMEOUTS, cancel))
        with suppress(asyncio.CancelledError):
            await task
        assert task.cancelled()


async def test_an_account_that_cannot_be_deleted_is_a_problem_with_its_name() -> None:
    created = b'{"id":"acct_1","test_key":"test_made_for_this"}'
    paths = {
        f"POST {ACCOUNTS}": (201, created),
        "*": (500, b"{}"),
    }
    async with responding(paths) as url, PingAccount(server_at(url)) as account:
        pass
    assert account.undeleted is not None
    assert account.undeleted.startswith("doctor ")
