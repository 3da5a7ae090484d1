"""Prints the time in milliseconds for each line of the standard input, with asyncio."""

import asyncio
import sys
from datetime import UTC, datetime


async def main() -> None:
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    while await reader.readline():
        now = datetime.now(UTC)  # noqa: TID251 - what is tested
        sys.stdout.write(f"{round(now.timestamp() * 1000)}\n")
        sys.stdout.flush()


asyncio.run(main())
