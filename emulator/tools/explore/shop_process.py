"""Starts the merchant's application before an exploration, and stops it afterwards."""

import asyncio
import os
import signal
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import IO

from emulator.clock import SystemClock, pause
from emulator.http.addresses import host_with_port
from emulator.tools.explore.connections import Connections, Request
from emulator.tools.explore.integration import Integration
from emulator.tools.explore.service import ExploreError

MAX_START_S = 30
MAX_STOP_MS = 3_000
READY_PAUSE_MS = 50
SHOWN_OUTPUT_LINES = 10
SHOWN_OUTPUT_BYTES = 4_096
# Runs a command, and kills its process group when standard input ends: explore has the other end,
# which the system closes even if explore is killed.
_GUARDED = 'exec 3<&0 </dev/null; { read -r _ <&3; kill -s KILL 0; } & exec 3<&- /bin/sh -c "$1"'


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
    with tempfile.TemporaryFile() as output:
        process = await asyncio.create_subprocess_exec(
            *("/bin/sh", "-c", _GUARDED, "sh", integration.run.command),
            stdin=asyncio.subprocess.PIPE,
            stdout=output,
            stderr=asyncio.subprocess.STDOUT,
            env={**os.environ, **variables},
            start_new_session=True,
        )
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
        finally:
            await _stop(process, wall)


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


async def _stop(process: asyncio.subprocess.Process, wall: SystemClock) -> None:
    """End the process and those that it has started."""
    until_ms = wall.monotonic_ms() + MAX_STOP_MS
    _signal(process, signal.SIGTERM)
    while process.returncode is None and wall.monotonic_ms() < until_ms:
        await pause(wall, READY_PAUSE_MS)
    _signal(process, signal.SIGKILL)
    await process.wait()


def _signal(process: asyncio.subprocess.Process, number: int) -> None:
    """Send a signal to the process group, which the process leads."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
