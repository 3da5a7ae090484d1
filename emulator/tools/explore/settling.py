"""Waits until the orders of a history have reached their end, and ends their payments."""

from msgspec import Struct, field

from emulator.clock import pause
from emulator.domain.payment import Status
from emulator.http import emulator_calls as calls
from emulator.tools.explore.judgement import is_settled
from emulator.tools.explore.observation import HAS_NO_MONEY, Observation, ObservedOrder
from emulator.tools.explore.service import MAX_SHARED
from emulator.tools.explore.session import ExploreSession
from emulator.tools.explore.steps import READ_WAITS_MS, Manner, StepAction

MAX_CONCURRENT = 64
# Real time between two looks at the state of an asynchronous application.
STATE_PAUSE_MS = 20
# How long a handler may work after its attempt has timed out.
MAX_WORK_MS = 500


class Concurrency(Struct):
    """How many histories run together: more, while the slowest settles in half of `within_ms`."""

    within_ms: float
    width: int = 1
    _settled_ms: list[float] = field(default_factory=list)

    def add(self, settled_ms: float) -> None:
        """Note how late a history settled; after as many as run together, adapt their number."""
        self._settled_ms.append(settled_ms)
        if len(self._settled_ms) >= self.width:
            is_quick = max(self._settled_ms) <= self.within_ms / 2
            self.width = min(MAX_CONCURRENT, 2 * self.width) if is_quick else self.width // 2 or 1
            self._settled_ms.clear()


async def settled(session: ExploreSession, observed: Observation, *, is_working: bool) -> None:
    """Wait until the orders have reached their end, or have had the time for it.

    A handler `is_working` whose response was not awaited.
    """
    wall, is_late, steps = session.wall, False, observed.history.steps
    started_ms = wall.monotonic_ms()
    slow_ms = max(READ_WAITS_MS.get(step.manner, 0) for step in steps)
    orders, last = observed.orders, observed.number - 1
    while True:
        for order in orders:
            order.samples.append(await session.shop.read_state(order, last))
            if order.account:
                now = await session.shop.read_account(order.values, order.browser)
                observed.accounts[order.account].now = now
        elapsed_ms = wall.monotonic_ms() - started_ms
        is_missing = not is_settled(observed)
        if is_missing or is_late:
            observed.settled_ms = elapsed_ms
        if is_missing:
            is_late = True
            wait_ms = session.max_wait_ms + slow_ms
        else:
            # Histories that run at the same time delay each other.
            if is_late and not (is_working or session.is_shared or slow_ms):
                session.lag_ms = max(session.lag_ms, int(elapsed_ms))
            is_quick = not is_working and _is_quick(observed)
            is_late, wait_ms = False, 0 if is_quick else session.unexpected_wait_ms
        if elapsed_ms >= max(wait_ms, MAX_WORK_MS if is_working else 0):
            return
        await pause(wall, STATE_PAUSE_MS)
        for order in orders:
            order.samples.pop()


def _is_quick(observed: Observation) -> bool:
    """Whether the first settled state counts: nothing was delivered that could be one too many.

    Otherwise a second effect may follow later.
    """
    deliveries = [step for step in observed.history.steps if step.action is StepAction.DELIVER]
    usual = {step for step in deliveries if step.manner is Manner.USUAL}
    return len(usual) == len(deliveries)


async def end_payments(session: ExploreSession, order: ObservedOrder, *, is_only: bool) -> None:
    """Note which payments may still complete; expire those that wait for their customer."""
    order.created += session.take_payments(order.payments[0], is_only=is_only)
    own = order.statuses
    others = [each["id"] for each in order.created if each["id"] not in own]
    call = calls.NEWEST_PAYMENTS(limit=MAX_SHARED)
    newest = await session.service.call(call) if others else ()
    statuses = {each["id"]: each["status"] for each in newest} | own
    live = (each for each in (*own, *others) if statuses.get(each) not in HAS_NO_MONEY)
    order.live_payments = tuple(live)
    for each in others:
        if statuses.get(each) == Status.PENDING:
            await session.service.change(each, Status.EXPIRED)
