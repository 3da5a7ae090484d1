"""Emulators to be examined, and others that are none, all on loopback addresses of this machine."""

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from emulator.cli.examination.asking import Patience, Server
from emulator.cli.examination.examining import DoctorOptions, examine
from emulator.cli.examination.findings import Mark, Report, Section, View
from emulator.cli.examination.surroundings import Interface, Surroundings

from emulator.app.server import private_emulator
from emulator.clock import RealClock
from emulator.replay.client import Address
from emulator.settings import resolve

# This machine, as if it had no other address and were no container.
ALONE = Surroundings(is_in_container=False)
# As if the one that nobody has were that of a bridge to containers.
BRIDGED = Surroundings(
    is_in_container=False, interfaces=(Interface(name="docker0", address="127.0.0.2"),)
)

# On a machine that is busy with other tests nothing is late.
PATIENCE = Patience(wall=RealClock(), try_s=60, answer_s=60)

Canned = tuple[int, bytes]


@asynccontextmanager
async def running(**flags: object) -> AsyncIterator[str]:
    """The base URL of an emulator on free ports, unless the flags name others."""
    named = {name.replace("_", "-"): value for name, value in flags.items()}
    settings = resolve({"port": 0, "checkout-port": 0, **named}, {})
    async with private_emulator(settings) as base_url:
        yield base_url


@asynccontextmanager
async def answering(
    paths: Mapping[str, Canned], *, media_type: str = "application/json"
) -> AsyncIterator[str]:
    """The base URL of a server with an answer for each path; for all others that of `*`."""
    conversations: set[asyncio.Task[None]] = set()

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        method, path, _ = head.split("\r\n")[0].split(" ")
        status, body = paths.get(f"{method} {path}") or paths.get(path) or paths["*"]
        fields = f"content-type: {media_type}\r\nserver: stranger\r\nconnection: close"
        writer.write(
            f"HTTP/1.1 {status} X\r\n{fields}\r\ncontent-length: {len(body)}\r\n\r\n".encode()
        )
        writer.write(body)
        await writer.drain()
        writer.close()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        conversation = asyncio.create_task(converse(reader, writer))
        conversations.add(conversation)
        conversation.add_done_callback(conversations.discard)

    listening = await asyncio.start_server(connected, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    listening.close()
    await asyncio.gather(*conversations)


@asynccontextmanager
async def forwarding(host: str, port: int) -> AsyncIterator[None]:
    """Another address of this machine that leads to the same port of 127.0.0.1."""
    conversations: set[asyncio.Task[None]] = set()

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while part := await reader.read(65_536):
            writer.write(part)
            await writer.drain()
        writer.close()

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        its_reader, its_writer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(pass_on(reader, its_writer), pass_on(its_reader, writer))

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        conversation = asyncio.create_task(converse(reader, writer))
        conversations.add(conversation)
        conversation.add_done_callback(conversations.discard)

    listening = await asyncio.start_server(connected, host, port)
    yield
    listening.close()
    await asyncio.gather(*conversations)


async def examined(
    url: str,
    *,
    key: str | None = None,
    webhook_url: str | None = None,
    surroundings: Surroundings = ALONE,
) -> Report:
    """A whole examination. Raises NoEmulator."""
    wanted = DoctorOptions(
        address=Address.of(url), key=key, webhook_url=webhook_url, surroundings=surroundings
    )
    told: list[Section] = []
    report = await examine(wanted, PATIENCE, told.append)
    assert tuple(told) == report.sections
    return report


def server_at(url: str, **changes: Any) -> Server:
    return replace(PATIENCE.emulator(Address.of(url)), **changes)


async def call(
    url: str, method: str, path: str, value: object = None, key: str | None = None
) -> Any:
    """What the emulator answers to a call that it should not refuse."""
    answer = await server_at(url, key=key).ask(method, path, value)
    assert not answer.is_refusal, (answer.lost, answer.body)
    return answer.json


async def fresh_key(url: str) -> str:
    """The test key of a new account, in an emulator that several tests share."""
    return str((await call(url, "POST", "/_emulator/accounts", {}))["test_key"])


async def checkout_url(url: str) -> str:
    return str((await call(url, "GET", "/_emulator/checkout_url"))["url"])


@asynccontextmanager
async def checkout_at(url: str, elsewhere: str) -> AsyncIterator[None]:
    """Let an emulator believe that its pages are somewhere else, for the length of a block."""
    right = await checkout_url(url)
    await call(url, "PUT", "/_emulator/checkout_url", {"url": elsewhere})
    try:
        yield
    finally:
        await call(url, "PUT", "/_emulator/checkout_url", {"url": right})


def texts(report: Report, view: View, mark: Mark) -> list[str]:
    """What was found in one view, of one mark."""
    return [
        finding.text
        for section in report.sections
        if section.view is view
        for finding in section.findings
        if finding.mark is mark
    ]


def fixes(report: Report, view: View) -> str:
    """All advice of a view, in lines."""
    found = [section.findings for section in report.sections if section.view is view]
    return "\n".join(finding.fix for findings in found for finding in findings if finding.fix)


def neighbouring_ports() -> tuple[int, int]:
    """A port and the one after it, that nobody listened on a moment ago."""
    for _ in range(100):
        with socket.create_server(("127.0.0.1", 0)) as first:
            port = int(first.getsockname()[1])
            try:
                socket.create_server(("127.0.0.1", port + 1)).close()
            except (OSError, OverflowError):
                continue
            return port, port + 1
    raise AssertionError("no two neighbouring ports are free")
