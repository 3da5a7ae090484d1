"""Who is waiting for a payment to change, and how they are told."""

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class Announcements:
    """Told after a commit, on whichever thread made it; wakes waiters on the event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[int, set[asyncio.Event]] = {}
        self.is_closed = False

    @contextmanager
    def of(self, position: int) -> Iterator[asyncio.Event]:
        """An event that is set whenever the payment has changed, and when the program stops."""
        event = asyncio.Event()
        waiting = self._waiting.setdefault(position, set())
        waiting.add(event)
        try:
            yield event
        finally:
            waiting.discard(event)
            if not waiting:
                self._waiting.pop(position, None)

    def changed(self, positions: Iterable[int]) -> None:
        if not self._waiting:
            return
        for position in positions:
            if position in self._waiting:
                self._loop.call_soon_threadsafe(self._wake, position)

    def all_changed(self) -> None:
        """As `changed`, where payments were removed wholesale."""
        self.changed(tuple(self._waiting))

    def _wake(self, position: int) -> None:
        for event in self._waiting.get(position, ()):
            event.set()

    def close(self) -> None:
        self.is_closed = True
        for position in self._waiting:
            self._wake(position)
