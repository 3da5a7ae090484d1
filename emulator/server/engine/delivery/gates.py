"""What responses, deliveries and first attempts wait for, in memory.

Holds            responses of the API, until a delivery of their payment has been answered
Pauses           all deliveries of owners; a restart of the program releases them
AwaitedPages     first attempts, until the page of their payment has redirected
attempt_slots    all attempts, within a limit on the concurrent ones of all accounts together
"""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from weakref import WeakSet

from msgspec import Struct, field
from msgspec.structs import replace

from emulator.clock import SystemClock
from emulator.domain.effects import MAX_RESPONSE_HOLD_MS
from emulator.domain.errors import NotReady
from emulator.domain.instants import Instant
from emulator.server.engine.state.account import NEVER, Account, Owner
from emulator.server.engine.state.context import StateContext, StateService
from emulator.server.storage.batch import Transaction

MAX_PAUSED_DELIVERIES = 100
MAX_PAUSE_MS = 5 * 60_000
MAX_ATTEMPTS = 512
# Of the sockets that this process can open; the others are for clients.
SHARE_OF_DESCRIPTORS = 4


class Hold(Struct, eq=False, weakref=True):
    """A response that waits; without a `payment_id` for any payment of the owner."""

    owner: Owner
    payment_id: str | None
    until: Instant
    generation: int
    is_released: bool

    @property
    def is_over(self) -> bool:
        """Also after a reset."""
        account = self.owner.account
        return self.is_released or account.is_closed or account.generation != self.generation


class Holds(StateService):
    """The held responses, on the event loop."""

    def __init__(self, context: StateContext) -> None:
        super().__init__(context)
        # Without those whose requests have ended.
        self._held: WeakSet[Hold] = WeakSet()

    def begin(self, owner: Owner, payment_id: str | None) -> Hold:
        """A hold that ends with the first delivery that is answered from now on."""
        until, account = self._wall.now_ms() + MAX_RESPONSE_HOLD_MS, owner.account
        # An advance would wait for a handler whose request is held.
        is_released = account.advance.is_running
        hold = Hold(owner, payment_id, until, account.generation, is_released)
        self._held.add(hold)
        return hold

    async def wait(self, hold: Hold) -> None:
        """Return when the response may be sent; at once where there is no endpoint."""
        if not any(endpoint.is_enabled for endpoint in hold.owner.endpoints.values()):
            return

        async def query() -> tuple[bool, None]:
            return hold.is_over, None

        topics = (hold.owner, hold.owner.account)
        # When the program stops, the response is sent as well.
        with suppress(NotReady):
            await self._change_notifier.watch(topics, query, until=hold.until)

    def release(self, owner: Owner, payment_id: str | None) -> None:
        """Release what waits for this payment: an endpoint has answered."""
        for hold in self._held:
            if hold.owner is owner and hold.payment_id in (None, payment_id):
                hold.is_released = True
                self._change_notifier.changed((owner,))

    def release_all(self, account: Account) -> None:
        """Release all responses of an account, however short its advance is."""
        for hold in self._held:
            if hold.owner.account is account:
                hold.is_released = True
        self._change_notifier.changed((account,))


class Pause(Struct, kw_only=True):
    """The end of a pause in real time, and the due deliveries of each endpoint."""

    until: Instant
    waiting: dict[int, int] = field(default_factory=dict)

    @property
    def is_full(self) -> bool:
        return sum(self.waiting.values()) > MAX_PAUSED_DELIVERIES


class Pauses:
    """The pauses of all owners; a pause ends by itself after MAX_PAUSE_MS of real time."""

    def __init__(self, wall: SystemClock) -> None:
        self._wall = wall
        self._pauses: dict[Owner, Pause] = {}

    def begin(self, owner: Owner) -> None:
        """Begin a pause; one in progress goes on."""
        until = self._wall.now_ms() + MAX_PAUSE_MS
        self._pauses.setdefault(owner, Pause(until=until))

    def end(self, owner: Owner) -> bool:
        """Returns whether there was a pause."""
        return self._pauses.pop(owner, None) is not None

    def of(self, owner: Owner) -> Pause | None:
        pause = self._pauses.get(owner)
        return pause if pause is not None and pause.until > self._wall.now_ms() else None

    def over(self) -> list[Owner]:
        """The owners whose pauses have reached a limit."""
        now = self._wall.now_ms()
        return [
            owner for owner, pause in self._pauses.items() if pause.until <= now or pause.is_full
        ]

    def next_end(self) -> Instant:
        """The end of the first pause in real time; NEVER without a pause."""
        return min((pause.until for pause in self._pauses.values()), default=NEVER)


class AwaitedPage(Struct, frozen=True):
    """A page of a payment; `event` and `payment` are positions.

    The attempts begin `delay_ms` after the page has been served, or at `until`, in real time.
    """

    owner: Owner
    payment: int
    event: int
    delay_ms: int
    until: Instant
    is_served: bool = False


class AwaitedPages:
    """The awaited pages by the event that waits; transactions add them."""

    def __init__(self, wall: SystemClock) -> None:
        self._wall = wall
        self._pages: dict[int, AwaitedPage] = {}

    @property
    def events(self) -> list[int]:
        return list(self._pages)

    @property
    def until(self) -> Instant:
        """When the first of the attempts may begin, in real time."""
        return min((page.until for page in self._all()), default=NEVER)

    def add(self, tx: Transaction, page: AwaitedPage) -> None:
        """Add it at once: a read of the same batch may find the deliveries that wait for it."""
        tx.undo.append(partial(self._pages.pop, page.event, None))
        self._pages[page.event] = page

    def serve(self, payment: int) -> None:
        """Start the delay of a payment's event, once."""
        for page in self._all():
            if page.payment == payment and not page.is_served:
                until = self._wall.now_ms() + page.delay_ms
                self._pages[page.event] = replace(page, until=until, is_served=True)

    def release(self, account: Account | None = None) -> list[Owner]:
        """Remove the pages of an account, or the pages whose time is over; returns their owners."""
        now = self._wall.now_ms()
        return [
            self._pages.pop(page.event).owner
            for page in self._all()
            if (page.until <= now if account is None else page.owner.account is account)
        ]

    def _all(self) -> Iterator[AwaitedPage]:
        return iter(list(self._pages.values()))


def attempt_slots(descriptors: int) -> asyncio.Semaphore:
    """Limits the attempts of all accounts together.

    An attempt ends within seconds, so a slot becomes free also where all receivers are silent.
    """
    return asyncio.Semaphore(min(MAX_ATTEMPTS, max(1, descriptors // SHARE_OF_DESCRIPTORS)))
