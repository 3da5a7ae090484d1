"""Emulators and other servers to examine, all on loopback addresses of this machine."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from emulator.clock import RealClock
from emulator.http.addresses import BaseUrl
from emulator.http.client import EmulatorClient, HttpClient
from emulator.http.emulator_calls import EmulatorCall, any_json
from emulator.server.app.server import private_emulator
from emulator.settings import resolve
from emulator.tools.doctor.report import DoctorReport, Level, Perspective
from emulator.tools.doctor.runner import DoctorOptions, run_probes
from emulator.tools.doctor.search import LocalNetwork, NetworkInterface, Timeouts
from tests.server.webhooks.receiver import PATH, Received, Reply, receiving, serving

OK, PROBLEM, NOTE = Level.OK, Level.PROBLEM, Level.NOTE
MACHINE, CONTAINER, BROWSER, WEBHOOK = Perspective

# As if this machine had no other address and were not a container.
NO_NETWORK = LocalNetwork(is_in_container=False)
# As if 127.0.0.2 were the address of a bridge to containers.
BRIDGE = LocalNetwork(
    is_in_container=False, interfaces=(NetworkInterface(name="docker0", address="127.0.0.2"),)
)
# Long, because this machine may be busy with other tests.
TIMEOUTS = Timeouts(clock=RealClock(), probe_s=60, response_s=60)

Response = tuple[int, bytes]


@asynccontextmanager
async def emulator(**flags: object) -> AsyncIterator[str]:
    """The base URL of an emulator on free ports, unless the flags name others."""
    named = {name.replace("_", "-"): value for name, value in flags.items()}
    settings = resolve({"port": 0, "checkout-port": 0, **named}, {})
    async with private_emulator(settings) as base_url:
        yield base_url


@contextmanager
def emulator_on_a_thread(**flags: object) -> Iterator[str]:
    """The same with its own event loop, so that several tests can share it."""
    is_ready = threading.Event()
    urls: list[str] = []
    loop = asyncio.new_event_loop()
    end = asyncio.Event()

    async def serve() -> None:
        try:
            async with emulator(**flags) as url:
                urls.append(url)
                is_ready.set()
                await end.wait()
        finally:
            is_ready.set()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    is_ready.wait()
    try:
        yield urls[0]
    finally:
        loop.call_soon_threadsafe(end.set)
        thread.join()
        loop.close()


@asynccontextmanager
async def responding(
    paths: Mapping[str, Response], *, media_type: str = "application/json"
) -> AsyncIterator[str]:
    """The base URL of a server with a response for each path; for all others that of `*`."""

    def answer(received: Received) -> Reply:
        path = f"{received.method} {received.path}"
        status, body = paths.get(path) or paths.get(received.path) or paths["*"]
        headers = {"content-type": media_type, "server": "other"}
        return Reply(status=status, headers=headers, body=body)

    async with receiving(answer) as receiver:
        yield receiver.url.removesuffix(PATH)


@asynccontextmanager
async def forwarding(host: str, port: int) -> AsyncIterator[None]:
    """Another address of this machine that leads to the same port of 127.0.0.1."""

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while part := await reader.read(65_536):
            writer.write(part)
            await writer.drain()
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        target_reader, target_writer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(copy(reader, target_writer), copy(target_reader, writer))

    async with serving(serve, host, port):
        yield


def options_for(url: str, **changes: Any) -> DoctorOptions:
    options: dict[str, Any] = {"key": None, "webhook_url": None, "network": NO_NETWORK, **changes}
    return DoctorOptions(base_url=BaseUrl.parse(url), **options)


async def examine(url: str, **changes: Any) -> DoctorReport:
    """The report of all probes. Raises NoEmulator."""
    shown: dict[Perspective, Any] = {}
    report = await run_probes(options_for(url, **changes), TIMEOUTS, shown.__setitem__)
    assert shown == report.sections
    return report


def server_at(
    url: str, kind: type[EmulatorClient] = EmulatorClient, *, key: str | None = None
) -> EmulatorClient:
    http = HttpClient(keeps_connections=False)
    return kind(BaseUrl.parse(url), key, TIMEOUTS.response_s, http)


async def call(
    url: str, method: str, path: str, value: object = None, key: str | None = None
) -> Any:
    """The response of the emulator to a call that must succeed."""
    call = EmulatorCall(method, path, any_json, value)
    response = await server_at(url, key=key).try_to_send(call)
    assert not response.is_error, (response.failure, response.body)
    return response.json


async def new_key(url: str) -> str:
    """The test key of a new account."""
    return str((await call(url, "POST", "/_emulator/accounts", {}))["test_key"])


async def checkout_url(url: str) -> str:
    return str((await call(url, "GET", "/_emulator/checkout_url"))["url"])


@asynccontextmanager
async def checkout_at(url: str, other: str) -> AsyncIterator[None]:
    """Configure a wrong address of the checkout pages for the length of a block."""
    right = await checkout_url(url)
    await call(url, "PUT", "/_emulator/checkout_url", {"url": other})
    try:
        yield
    finally:
        await call(url, "PUT", "/_emulator/checkout_url", {"url": right})


def texts(report: DoctorReport, perspective: Perspective, level: Level) -> list[str]:
    findings = report.sections[perspective]
    return [finding.text for finding in findings if finding.level is level]


def fixes(report: DoctorReport, perspective: Perspective) -> str:
    return "\n".join(finding.fix for finding in report.sections[perspective] if finding.fix)
