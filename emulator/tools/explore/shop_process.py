"""Starts the merchant's application before an exploration, moves its clock, and stops it."""

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from msgspec import Struct

from emulator.clock import SystemClock, pause
from emulator.domain.instants import DAY_MS, Instant
from emulator.domain.user_error import UserError
from emulator.http.addresses import BaseUrl, host_and_port
from emulator.http.client import MAX_CONNECT_S
from emulator.tools.child_process import kill, listening_ports, running_command
from emulator.tools.explore.integration import Run
from emulator.tools.explore.shop_client import Request, ShopClient
from emulator.tools.explore.steps import Manner

_LIBRARIES = ("lib*/faketime/libfaketimeMT.so.1", "lib/*/faketime/libfaketimeMT.so.1")
_HOUR_MS = 3_600_000
_HALF_PAST_TEN_MS = 22 * _HOUR_MS + _HOUR_MS // 2


class ShopTime(Struct):
    """The file that the library of the application reads; it has the difference to real time."""

    library: Path
    file: Path

    @property
    def variables(self) -> Mapping[str, str]:
        """The variables of the application; its timers stay real."""
        return {
            "LD_PRELOAD": str(self.library),
            "FAKETIME_TIMESTAMP_FILE": str(self.file),
            "FAKETIME_FMT": "%s",
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_FORCE_MONOTONIC_FIX": "0",
            "NO_FAKE_STAT": "1",
        }

    def move(self, ahead_ms: int) -> None:
        """Set how far the clock is ahead of real time."""
        written = self.file.with_suffix(".new")
        written.write_text(f"+{ahead_ms / 1000:.3f}\n", encoding="ascii")
        written.replace(self.file)


def faketime_library() -> Path | None:
    """The library for programs with threads, if it is installed."""
    found = (path for pattern in _LIBRARIES for path in Path("/usr").glob(pattern))
    return next(found, None)


def instant_after(manner: Manner, now: Instant) -> Instant:
    """The instant to which a step moves the clock."""
    spans = {Manner.AN_HOUR: _HOUR_MS, Manner.THREE_DAYS: 3 * DAY_MS}
    return now + spans.get(manner, (_HALF_PAST_TEN_MS - now) % DAY_MS)


MAX_START_S = 30
MAX_END_MS = 3_000
MAX_READY_S = 5
READY_PAUSE_MS = 20
END_PAUSE_MS = 50
SHOWN_OUTPUT_LINES = 10
SHOWN_OUTPUT_BYTES = 4_096


@dataclass(slots=True)
class ShopProcess:
    """The merchant's application, as a process group of a shell, that serves a URL, if any.

    `variables` are added to its environment.
    """

    run: Run
    url: str
    variables: Mapping[str, str]
    client: ShopClient
    wall: SystemClock
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    _process: asyncio.subprocess.Process = field(init=False)
    _output: IO[bytes] = field(init=False)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the application during the block. Raises UserError, also where it ended."""
        if await self._listens():
            raise UserError(
                f"another program listens on {host_and_port(self.url)}, the address of the"
                " shop; stop it, or leave out 'run' to explore it"
            )
        with tempfile.TemporaryFile() as self._output:
            async with self._stack:
                try:
                    await self._start()
                    yield
                except UserError:
                    # The system reports an end a moment later.
                    await pause(self.wall, END_PAUSE_MS)
                    if (code := self._process.returncode) is None:
                        raise
                    raise self._error(f"the shop ended with code {code}") from None

    async def restart(self) -> None:
        """Kill the application, and start it again. Raises UserError."""
        await kill(self._process)
        await self._stack.aclose()
        # Its other processes end a moment later.
        until_ms = self.wall.monotonic_ms() + MAX_END_MS
        while await self._listens() and self.wall.monotonic_ms() < until_ms:
            await pause(self.wall, READY_PAUSE_MS)
        await self._start()

    async def _start(self) -> None:
        """Start the application, and wait until it is ready. Raises UserError."""
        words = ("/bin/sh", "-c", self.run.command)
        command = running_command(words, self.variables, self._output, self.wall)
        self._process = await self._stack.enter_async_context(command)
        until_ms = self.wall.monotonic_ms() + MAX_START_S * 1_000
        while missing := await self._missing():
            if self._process.returncode is not None:
                raise UserError(missing)
            if self.wall.monotonic_ms() >= until_ms:
                ports = ", ".join(map(str, listening_ports(self._process)))
                missing += f"; it listens on port {ports}" * bool(ports)
                raise self._error(f"the shop is not ready after {MAX_START_S} s, {missing}")
            await pause(self.wall, READY_PAUSE_MS)

    async def _missing(self) -> str:
        """What is missing for the application to be ready; empty when it is."""
        if self.run.ready is None:
            is_ready = not self.url or await self._listens()
            return "" if is_ready else f"nothing listens on {host_and_port(self.url)}"
        method, _, url = self.run.ready.partition(" ")
        request = Request(method=method, url=url)
        response = await self.client.send(request, timeout_s=MAX_READY_S)
        return "" if response.is_success else f"{self.run.ready}: {response.text}"

    async def _listens(self) -> bool:
        """Whether a program listens on the address of the application."""
        if not self.url:
            return False
        server = BaseUrl.parse(self.url)
        try:
            async with asyncio.timeout(MAX_CONNECT_S):
                _, writer = await asyncio.open_connection(server.host, server.port)
        except OSError:  # TimeoutError is an OSError.
            return False
        writer.close()
        return True

    def _error(self, seen: str) -> UserError:
        """An error with the last lines that the application printed, of a long one the end."""
        output = self._output
        start = max(0, output.seek(0, os.SEEK_END) - SHOWN_OUTPUT_BYTES)
        output.seek(start)
        text = ("…" if start else "") + output.read().decode("utf-8", "replace")
        shown = "".join(f"\n  {line}" for line in text.splitlines()[-SHOWN_OUTPUT_LINES:])
        return UserError(f"{seen}: {self.run.command}{shown}")
