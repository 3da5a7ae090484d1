"""Starts the merchant's application before an exploration, and stops it afterwards."""

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import IO

from emulator.child_process import running_command
from emulator.clock import SystemClock, pause
from emulator.http.addresses import host_with_port
from emulator.tools.explore.connections import Connections, Request
from emulator.tools.explore.integration import Integration
from emulator.tools.explore.service import ExploreError

MAX_START_S = 30
READY_PAUSE_MS = 50
SHOWN_OUTPUT_LINES = 10
SHOWN_OUTPUT_BYTES = 4_096


@asynccontextmanager
async def running_shop(
    integration: Integration,
    variables: Mapping[str, str],
    connections: Connections,
    wall: SystemClock,
) -> AsyncIterator[None]:
    """Run the application of an integration that has a command. Raises ExploreError.

    `variables` are added to its environment.
    """
    if integration.run is None:
        yield
        return
    ready = integration.run.ready
    server = Request(method="GET", url=integration.start.url()).server
    host, port = server.host, server.port

    async def missing() -> str:
        """What is missing for the application to be ready; empty when it is."""
        if ready is None:
            is_listening = await _is_listening(host, port)
            return "" if is_listening else f"nothing listens on {host_with_port(host, port)}"
        request = Request(method=ready.partition(" ")[0], url=ready.partition(" ")[2])
        response = await connections.send(request, timeout_s=5, closes=True)
        return "" if response.is_success else f"{ready}: {response.text}"

    if await _is_listening(host, port):
        raise ExploreError(
            f"another program listens on {host_with_port(host, port)}, the address of the shop;"
            " stop it, or leave out 'run' to explore it"
        )
    words = ("/bin/sh", "-c", integration.run.command)
    with tempfile.TemporaryFile() as output:
        async with running_command(words, variables, output, wall) as process:
            unready = ""
            try:
                unready = await _wait_until_ready(process, missing, wall)
                if unready:
                    raise ExploreError(f"the shop is not ready after {MAX_START_S} s, {unready}")
                yield
            except ExploreError as error:
                # The system reports an end a moment later.
                await pause(wall, READY_PAUSE_MS)
                seen = str(error)
                if process.returncode is not None:
                    seen = f"the shop ended with code {process.returncode}"
                elif not unready:
                    raise
                shown = "".join(f"\n  {line}" for line in _last_lines(output))
                raise ExploreError(f"{seen}: {integration.run.command}{shown}") from None


def _last_lines(output: IO[bytes]) -> list[str]:
    """The last lines of a file; a long one without its beginning."""
    start = max(0, output.seek(0, os.SEEK_END) - SHOWN_OUTPUT_BYTES)
    output.seek(start)
    text = ("…" if start else "") + output.read().decode("utf-8", "replace")
    return text.splitlines()[-SHOWN_OUTPUT_LINES:]


async def _wait_until_ready(
    process: asyncio.subprocess.Process, missing: Callable[[], Awaitable[str]], wall: SystemClock
) -> str:
    """Returns what is missing in the end; empty when the application is ready."""
    until_ms = wall.monotonic_ms() + MAX_START_S * 1_000
    while (reason := await missing()) and process.returncode is None:
        if wall.monotonic_ms() >= until_ms:
            break
        await pause(wall, READY_PAUSE_MS)
    return reason


async def _is_listening(host: str, port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection(host, port)
    except OSError:
        return False
    writer.close()
    return True
