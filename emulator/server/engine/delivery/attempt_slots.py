"""Limits the concurrent attempts of all accounts together."""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from emulator.server.engine.state.account import Account

MAX_ATTEMPTS = 512
# Of the sockets that this process can open; the others are for clients.
SHARE_OF_DESCRIPTORS = 4


class AttemptSlots:
    """A free slot goes to the waiting account with the fewest slots, and there to the first waiter.

    An attempt ends within seconds, so a slot becomes free also where all receivers are silent.
    """

    def __init__(self, descriptors: int) -> None:
        self._free = min(MAX_ATTEMPTS, max(1, descriptors // SHARE_OF_DESCRIPTORS))
        self._used: Counter[Account] = Counter()
        self._waiting: dict[Account, deque[asyncio.Future[None]]] = {}

    @asynccontextmanager
    async def slot(self, account: Account) -> AsyncIterator[None]:
        """Wait for a slot, and use it inside the context."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(account, deque()).append(turn)
        self._assign()
        try:
            await turn
            yield
        finally:
            if not turn.cancelled():
                self._free += 1
                self._used[account] -= 1
                if not self._used[account]:
                    del self._used[account]
            self._assign()

    def _assign(self) -> None:
        while self._free and self._waiting:
            account = min(self._waiting, key=self._used.__getitem__)
            turns = self._waiting[account]
            turn = turns.popleft()
            if not turns:
                del self._waiting[account]
            if not turn.done():
                self._free -= 1
                self._used[account] += 1
                turn.set_result(None)
