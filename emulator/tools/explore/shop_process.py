"""Starts the merchant's application before an exploration, and stops it afterwards."""

import asyncio
import os
import signal
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import IO

from emulator.clock import SystemClock, pause
from emulator.http.addresses import BaseUrl, host_with_port
from emulator.tools.explore.connections import Connections, Request
from emulator.tools.explore.integration import Integration
from emulator.tools.explore.service import ExploreError

MAX_START_S = 30
MAX_STOP_MS = 3_000
READY_PAUSE_MS = 20
END_PAUSE_MS = 50
SHOWN_OUTPUT_LINES = 10
SHOWN_OUTPUT_BYTES = 4_096
# Runs a command, and kills its process group when standard input ends: explore has the other end,
# which the system closes even if explore is killed.
_GUARDED = 'exec 3<&0 </dev/null; { read -r _ <&3; kill -s KILL 0; } & exec 3<&- /bin/sh -c "$1"'


class ShopProcess:
    """The merchant's application, as a process group of a shell.

    `variables` are added to its environment.
    """

    def __init__(
        self,
        integration: Integration,
        variables: Mapping[str, str],
        connections: Connections,
        wall: SystemClock,
    ) -> None:
        assert integration.run is not None  # noqa: S101 - the file has a command
        self._command, self._ready = integration.run.command, integration.run.ready
        self._server = Request(method="GET", url=integration.start.url()).server
        self._environment = {**os.environ, **variables}
        self._connections = connections
        self._wall = wall
        self._process: asyncio.subprocess.Process
        self._output: IO[bytes]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the application during the block. Raises ExploreError, also where it ended."""
        server = self._server
        if await _is_listening(server):
            raise ExploreError(
                f"another program listens on {host_with_port(server.host, server.port)}, the"
                " address of the shop; stop it, or leave out 'run' to explore it"
            )
        with tempfile.TemporaryFile() as self._output:
            try:
                await self._start()
                yield
            except ExploreError:
                # The system reports an end a moment later.
                await pause(self._wall, END_PAUSE_MS)
                if self._process.returncode is None:
                    raise
                raise self._error(f"the shop ended with code {self._process.returncode}") from None
            finally:
                await _stop(self._process, self._wall)

    async def restart(self) -> None:
        """Kill the application, and start it again. Raises ExploreError."""
        _signal(self._process, signal.SIGKILL)
        await self._process.wait()
        self._connections.close()
        # Its other processes end a moment later.
        until_ms = self._wall.monotonic_ms() + MAX_STOP_MS
        while await _is_listening(self._server) and self._wall.monotonic_ms() < until_ms:
            await pause(self._wall, READY_PAUSE_MS)
        await self._start()

    async def _start(self) -> None:
        """Start the application, and wait until it is ready. Raises ExploreError."""
        self._process = await asyncio.create_subprocess_exec(
            *("/bin/sh", "-c", _GUARDED, "sh", self._command),
            stdin=asyncio.subprocess.PIPE,
            stdout=self._output,
            stderr=asyncio.subprocess.STDOUT,
            env=self._environment,
            start_new_session=True,
        )
        until_ms = self._wall.monotonic_ms() + MAX_START_S * 1_000
        while (missing := await self._missing()) and self._process.returncode is None:
            if self._wall.monotonic_ms() >= until_ms:
                raise self._error(f"the shop is not ready after {MAX_START_S} s, {missing}")
            await pause(self._wall, READY_PAUSE_MS)
        if missing:
            raise ExploreError(missing)

    async def _missing(self) -> str:
        """What is missing for the application to be ready; empty when it is."""
        server = self._server
        if self._ready is None:
            is_listening = await _is_listening(server)
            address = host_with_port(server.host, server.port)
            return "" if is_listening else f"nothing listens on {address}"
        method, _, url = self._ready.partition(" ")
        request = Request(method=method, url=url)
        response = await self._connections.send(request, timeout_s=5, closes=True)
        return "" if response.is_success else f"{self._ready}: {response.text}"

    def _error(self, seen: str) -> ExploreError:
        """An error with the last lines that the application printed."""
        shown = "".join(f"\n  {line}" for line in _last_lines(self._output))
        return ExploreError(f"{seen}: {self._command}{shown}")


def _last_lines(output: IO[bytes]) -> list[str]:
    """The last lines of a file; a long one without its beginning."""
    start = max(0, output.seek(0, os.SEEK_END) - SHOWN_OUTPUT_BYTES)
    output.seek(start)
    text = ("…" if start else "") + output.read().decode("utf-8", "replace")
    return text.splitlines()[-SHOWN_OUTPUT_LINES:]


async def _is_listening(server: BaseUrl) -> bool:
    try:
        _, writer = await asyncio.open_connection(server.host, server.port)
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
