"""Runs a command of the user in a process group of its own, which ends with this process."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import IO

from emulator.clock import SystemClock, pause

MAX_STOP_MS = 3_000
POLL_MS = 50
# Runs a command, and kills its process group when standard input ends: this process has the other
# end, which the system closes even if this process is killed.
_GUARDED = 'exec 3<&0 </dev/null; { read -r _ <&3; kill -s KILL 0; } & exec 3<&- "$@"'


@asynccontextmanager
async def running_command(
    words: Sequence[str],
    variables: Mapping[str, str],
    output: IO[bytes] | int,
    wall: SystemClock,
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run a command for the length of the block, then end it and all that it has started.

    `variables` are added to its environment. `output` receives both of its outputs: a file, or
    `asyncio.subprocess.PIPE`.
    """
    process = await asyncio.create_subprocess_exec(
        *("/bin/sh", "-c", _GUARDED, "sh", *words),
        stdin=asyncio.subprocess.PIPE,
        stdout=output,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, **variables},
        start_new_session=True,
    )
    try:
        yield process
    finally:
        await _stop(process, wall)


async def _stop(process: asyncio.subprocess.Process, wall: SystemClock) -> None:
    """End the process and those that it has started."""
    until_ms = wall.monotonic_ms() + MAX_STOP_MS
    _signal(process, signal.SIGTERM)
    while process.returncode is None and wall.monotonic_ms() < until_ms:
        await pause(wall, POLL_MS)
    _signal(process, signal.SIGKILL)
    await process.wait()


def _signal(process: asyncio.subprocess.Process, number: int) -> None:
    """Send a signal to the process group, which the process leads."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
