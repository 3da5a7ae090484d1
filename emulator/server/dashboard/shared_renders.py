"""Renders a page once for all requests that wait for it, or that follow the same message."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable

from starlette.responses import Response

MAX_STORED_PAGES = 64

Render = Callable[[], Awaitable[Response]]


class SharedRenders:
    """The renders in progress, and those that follow them, by the address of the page.

    Each render begins after the requests that it responds to, so that none gets an older page.
    A request after a message of the stream has the instant of the message, and gets any page that
    was rendered since. Instants are monotonic real time.
    """

    def __init__(self, monotonic_ms: Callable[[], float]) -> None:
        self._monotonic_ms = monotonic_ms
        self._stored: OrderedDict[str, tuple[float, Response]] = OrderedDict()
        self._running: dict[str, asyncio.Task[Response]] = {}
        self._next: dict[str, asyncio.Task[Response]] = {}

    async def response(self, address: str, render: Render, *, since_ms: float | None) -> Response:
        """The response of a render. Raises what it raises."""
        if since_ms is not None:
            began_ms, stored = self._stored.get(address, (since_ms, None))
            if stored is not None and began_ms > since_ms:
                return stored
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
        began_ms = self._monotonic_ms()
        try:
            response = await render()
            self._stored[address] = began_ms, response
            self._stored.move_to_end(address)
            if len(self._stored) > MAX_STORED_PAGES:
                self._stored.popitem(last=False)
            return response
        finally:
            if self._running.get(address) is task:
                del self._running[address]
