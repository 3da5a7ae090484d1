"""Events whose first attempts wait until the page of their payment has redirected."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from emulator.clock import SystemClock
from emulator.domain.instants import Instant
from emulator.engine.state.account import NEVER, Account, Owner


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitedPage:
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
    """The awaited pages by the event that waits; written on any thread."""

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

    def add(self, page: AwaitedPage) -> None:
        self._pages[page.event] = page

    def serve(self, payment: int) -> None:
        """Start the delay of a payment's event, once."""
        for page in self._all():
            if page.payment == payment and not page.is_served:
                until = self._wall.now_ms() + page.delay_ms
                self._pages[page.event] = replace(page, until=until, is_served=True)

    def release(self, account: Account | None = None) -> list[Owner]:
        """Remove those of an account, or those whose time is over; returns their owners."""
        now = self._wall.now_ms()
        return [
            self._pages.pop(page.event).owner
            for page in self._all()
            if (page.until <= now if account is None else page.owner.account is account)
        ]

    def _all(self) -> Iterator[AwaitedPage]:
        return iter(list(self._pages.values()))
