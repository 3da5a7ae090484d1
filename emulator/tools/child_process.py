"""Runs a command of the user in a process group of its own, which ends with this process.

What has left the group is found in /proc, where there is one.
"""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import IO

from emulator.clock import SystemClock, pause

_PROCESSES = Path("/proc")
_LISTENING = "0A"
MAX_STOP_MS = 3_000
POLL_MS = 10
MAX_OUTPUT_BYTES = 256 * 1024
# The time for the rest of the output, which a process that the command has left behind may hold.
MAX_LAST_OUTPUT_S = 1
# Runs a command, and kills its process group when standard input ends: this process has the other
# end, which the system closes even if this process is killed. The variable marks its processes.
_MARK = "PAYMENTS_EMULATOR_COMMAND"
_GUARDED = f'export {_MARK}="$PPID-$$"; '
_GUARDED += 'exec 3<&0 </dev/null; { read -r _ <&3; kill -s KILL 0; } & exec 3<&- "$@"'


@asynccontextmanager
async def running_command(
    words: Sequence[str],
    variables: Mapping[str, str],
    output: IO[bytes],
    wall: SystemClock,
    *,
    errors: IO[bytes] | None = None,
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run a command for the length of the block, then end it and all that it has started.

    `variables` are added to its environment. The file `output` receives both of its outputs,
    without standard error if `errors` is given, which receives that.
    """
    process = await asyncio.create_subprocess_exec(
        *("/bin/sh", "-c", _GUARDED, "sh", *words),
        stdin=asyncio.subprocess.PIPE,
        stdout=output,
        stderr=errors or asyncio.subprocess.STDOUT,
        env={**os.environ, **variables},
        start_new_session=True,
    )
    try:
        yield process
    finally:
        await _stop(process, wall)


class _OutputEnd(asyncio.Protocol):
    """Receives an output, and keeps the end of it."""

    def __init__(self) -> None:
        self.content = bytearray()
        self.is_complete = asyncio.Event()

    def data_received(self, data: bytes) -> None:
        self.content += data
        del self.content[:-MAX_OUTPUT_BYTES]

    def connection_lost(self, _: Exception | None) -> None:
        self.is_complete.set()


@asynccontextmanager
async def _collecting() -> AsyncIterator[tuple[IO[bytes], _OutputEnd]]:
    """A file to write to during the block, and the end of what is written to it."""
    descriptors = os.pipe()
    reading, writing = os.fdopen(descriptors[0], "rb", 0), os.fdopen(descriptors[1], "wb", 0)
    with writing:
        loop = asyncio.get_running_loop()
        transport, end = await loop.connect_read_pipe(_OutputEnd, reading)
        try:
            yield writing, end
        finally:
            transport.close()


async def run_command(
    words: Sequence[str],
    variables: Mapping[str, str],
    wall: SystemClock,
    *,
    max_ms: float,
    splits_errors: bool = False,
) -> tuple[int | None, bytes, bytes]:
    """Run a command as `running_command` does until it ends, at most `max_ms`.

    Return its exit code, None where it did not end in time, the end of its output, and the end
    of standard error, which is in the output unless it is split.
    """
    async with _collecting() as (writing, output), _collecting() as (writing_errors, error_end):
        until_ms = wall.monotonic_ms() + max_ms
        apart = writing_errors if splits_errors else None
        async with running_command(words, variables, writing, wall, errors=apart) as process:
            writing.close()
            writing_errors.close()
            # `wait` may also wait for the pipe that ends the command with this process.
            while process.returncode is None and wall.monotonic_ms() < until_ms:
                await pause(wall, POLL_MS)
            exit_code = process.returncode
        with suppress(TimeoutError):
            async with asyncio.timeout(MAX_LAST_OUTPUT_S):
                await output.is_complete.wait()
                await error_end.is_complete.wait()
    return exit_code, bytes(output.content), bytes(error_end.content)


async def _stop(process: asyncio.subprocess.Process, wall: SystemClock) -> None:
    """End the process and those that it has started."""
    until_ms = wall.monotonic_ms() + MAX_STOP_MS
    if process.returncode is None:
        _signal(process, signal.SIGTERM)
    while process.returncode is None and wall.monotonic_ms() < until_ms:
        await pause(wall, POLL_MS)
    await kill(process)


async def kill(process: asyncio.subprocess.Process) -> None:
    """Kill the process and those that it has started."""
    _signal(process, signal.SIGKILL)
    await process.wait()


def _signal(process: asyncio.subprocess.Process, number: int) -> None:
    """Send a signal to the process group, which the process leads, and to those that left it."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
    for pid in _processes(process) - {process.pid}:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _processes(command: asyncio.subprocess.Process) -> set[int]:
    """A command and its processes, by ancestry and by their environment, which orphans keep."""
    mark, parents = f"{_MARK}={os.getpid()}-{command.pid}".encode(), dict[int, int]()
    # Another process may have the number of one that has ended.
    found = {command.pid} if command.returncode is None else set[int]()
    for directory in _PROCESSES.glob("[0-9]*"):
        pid = int(directory.name)
        with suppress(OSError):
            parents[pid] = int((directory / "stat").read_text().rpartition(")")[2].split()[1])
            if mark in (directory / "environ").read_bytes().split(b"\0"):
                found.add(pid)
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def listening_ports(process: asyncio.subprocess.Process) -> list[int]:
    """The TCP ports on which the processes of a command listen, as far as they are known."""
    sockets, ports = set[str](), set[int]()
    for pid in _processes(process):
        for descriptor in (_PROCESSES / str(pid) / "fd").glob("*"):
            with suppress(OSError):
                sockets.add(str(descriptor.readlink()))
    for table in _PROCESSES.glob("net/tcp*"):
        for line in table.read_text().splitlines()[1:]:
            _, local, _, state, *_, inode = line.split()[:10]
            if state == _LISTENING and f"socket:[{inode}]" in sockets:
                ports.add(int(local.rpartition(":")[2], 16))
    return sorted(ports)
