"""Renders a page once for all requests that wait for it at the same time."""

import asyncio
from collections.abc import Awaitable, Callable

from starlette.responses import Response

Render = Callable[[], Awaitable[Response]]


class SharedRenders:
    """The renders in progress, and those that follow them, by the address of the page.

    Each render begins after the requests that it responds to, so that none gets an older page.
    """

    def __init__(self) -> None:
        self._running: dict[str, asyncio.Task[Response]] = {}
        self._next: dict[str, asyncio.Task[Response]] = {}

    async def response(self, address: str, render: Render) -> Response:
        """The response of a render. Raises what it raises."""
        running = self._running.get(address)
        if running is None:
            task = asyncio.create_task(self._run(address, render))
            self._running[address] = task
        elif (following := self._next.get(address)) is not None:
            task = following
        else:
            task = asyncio.create_task(self._run_after(running, address, render))
            self._next[address] = task
        # A client that disconnects does not cancel the render of the others.
        return await asyncio.shield(task)

    async def _run_after(
        self, running: asyncio.Task[Response], address: str, render: Render
    ) -> Response:
        await asyncio.wait({running})
        self._running[address] = self._next.pop(address)
        return await self._run(address, render)

    async def _run(self, address: str, render: Render) -> Response:
        task = asyncio.current_task()
        try:
            return await render()
        finally:
            if self._running.get(address) is task:
                del self._running[address]
