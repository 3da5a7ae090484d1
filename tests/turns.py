"""Turns of the event loop."""

import asyncio

# From the acceptance of a connection until its handler is called.
_TURNS_TO_ACCEPT = 4


async def turn() -> None:
    """Let the event loop do what is due now."""
    loop = asyncio.get_running_loop()
    done = loop.create_future()
    loop.call_soon(done.set_result, None)
    await done


async def close_server(server: asyncio.Server) -> None:
    """Close a server when the handlers have the connections that it has accepted.

    asyncio does not close a connection that is accepted in the turn in which its server closes: its
    socket stays open, and the warning about it fails a later test.
    """
    loop = asyncio.get_running_loop()
    for listening in server.sockets:
        loop.remove_reader(listening.fileno())
    for _ in range(_TURNS_TO_ACCEPT):
        await turn()
    server.close()
