"""Starts the merchant's application before an exploration, and stops it afterwards."""

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import IO

from emulator.clock import SystemClock, pause
from emulator.http.addresses import BaseUrl, host_with_port
from emulator.tools.child_process import kill, running_command
from emulator.tools.explore.connections import Connections, Request
from emulator.tools.explore.integration import Run
from emulator.tools.explore.service import ExploreError

MAX_START_S = 30
MAX_END_MS = 3_000
READY_PAUSE_MS = 20
END_PAUSE_MS = 50
SHOWN_OUTPUT_LINES = 10
SHOWN_OUTPUT_BYTES = 4_096


@dataclass(slots=True)
class ShopProcess:
    """The merchant's application, as a process group of a shell, that serves a URL.

    `variables` are added to its environment.
    """

    run: Run
    url: str | None
    variables: Mapping[str, str]
    connections: Connections
    wall: SystemClock
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    _process: asyncio.subprocess.Process = field(init=False)
    _output: IO[bytes] = field(init=False)

    @property
    def _server(self) -> BaseUrl | None:
        return None if self.url is None else Request(method="GET", url=self.url).server

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the application during the block. Raises ExploreError, also where it ended."""
        server = self._server
        if server is not None and await _is_listening(server):
            raise ExploreError(
                f"another program listens on {host_with_port(server.host, server.port)}, the"
                " address of the shop; stop it, or leave out 'run' to explore it"
            )
        with tempfile.TemporaryFile() as self._output:
            async with self._stack:
                try:
                    await self._start()
                    yield
                except ExploreError:
                    # The system reports an end a moment later.
                    await pause(self.wall, END_PAUSE_MS)
                    if (code := self._process.returncode) is None:
                        raise
                    raise self._error(f"the shop ended with code {code}") from None

    async def restart(self) -> None:
        """Kill the application, and start it again. Raises ExploreError."""
        await kill(self._process)
        await self._stack.aclose()
        self.connections.close()
        # Its other processes end a moment later.
        until_ms = self.wall.monotonic_ms() + MAX_END_MS
        while await _is_listening(self._server) and self.wall.monotonic_ms() < until_ms:
            await pause(self.wall, READY_PAUSE_MS)
        await self._start()

    async def _start(self) -> None:
        """Start the application, and wait until it is ready. Raises ExploreError."""
        words = ("/bin/sh", "-c", self.run.command)
        command = running_command(words, self.variables, self._output, self.wall)
        self._process = await self._stack.enter_async_context(command)
        until_ms = self.wall.monotonic_ms() + MAX_START_S * 1_000
        while (missing := await self._missing()) and self._process.returncode is None:
            if self.wall.monotonic_ms() >= until_ms:
                raise self._error(f"the shop is not ready after {MAX_START_S} s, {missing}")
            await pause(self.wall, READY_PAUSE_MS)
        if missing:
            raise ExploreError(missing)

    async def _missing(self) -> str:
        """What is missing for the application to be ready; empty when it is."""
        if self.run.ready is None:
            server = self._server
            if server is None or await _is_listening(server):
                return ""
            return f"nothing listens on {host_with_port(server.host, server.port)}"
        method, _, url = self.run.ready.partition(" ")
        request = Request(method=method, url=url)
        response = await self.connections.send(request, timeout_s=5, closes=True)
        return "" if response.is_success else f"{self.run.ready}: {response.text}"

    def _error(self, seen: str) -> ExploreError:
        """An error with the last lines that the application printed."""
        shown = "".join(f"\n  {line}" for line in _last_lines(self._output))
        return ExploreError(f"{seen}: {self.run.command}{shown}")


def _last_lines(output: IO[bytes]) -> list[str]:
    """The last lines of a file; a long one without its beginning."""
    start = max(0, output.seek(0, os.SEEK_END) - SHOWN_OUTPUT_BYTES)
    output.seek(start)
    text = ("…" if start else "") + output.read().decode("utf-8", "replace")
    return text.splitlines()[-SHOWN_OUTPUT_LINES:]


async def _is_listening(server: BaseUrl | None) -> bool:
    if server is None:
        return False
    try:
        _, writer = await asyncio.open_connection(server.host, server.port)
    except OSError:
        return False
    writer.close()
    return True
