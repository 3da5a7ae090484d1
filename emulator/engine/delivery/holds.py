"""Holds responses of the API until a delivery of their payment has been answered."""

from contextlib import suppress
from weakref import WeakSet

from emulator.clock import SystemClock
from emulator.domain.errors import NotReady
from emulator.domain.faults import MAX_RESPONSE_HOLD_MS
from emulator.domain.instants import Instant
from emulator.engine.state.account import Owner
from emulator.engine.state.change_notifier import ChangeNotifier


class Hold:
    """A response that waits; without a `payment_id` for any payment of the owner."""

    def __init__(self, owner: Owner, payment_id: str | None, *, until: Instant) -> None:
        self.owner = owner
        self.payment_id = payment_id
        self.until = until
        self.generation = owner.account.generation
        self.is_released = False

    @property
    def is_over(self) -> bool:
        """Also after a reset, and during an advance, which would wait for a held handler."""
        account = self.owner.account
        return (
            self.is_released
            or account.is_closed
            or account.generation != self.generation
            or account.collector is not None
        )


class Holds:
    """The held responses, on the event loop."""

    def __init__(self, *, wall: SystemClock, change_notifier: ChangeNotifier) -> None:
        self._wall = wall
        self._change_notifier = change_notifier
        # Without those whose requests have ended.
        self._held: WeakSet[Hold] = WeakSet()

    def begin(self, owner: Owner, payment_id: str | None) -> Hold:
        """A hold that ends with the first delivery that is answered from now on."""
        until = self._wall.now_ms() + MAX_RESPONSE_HOLD_MS
        hold = Hold(owner, payment_id, until=until)
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
