"""The ends of histories: waits for them, ends their payments, and compares equal facts."""

from collections.abc import Awaitable, Callable
from contextlib import suppress

from msgspec import Struct, field
from msgspec.structs import replace

from emulator.clock import pause
from emulator.domain.payment import Status
from emulator.http import emulator_calls as calls
from emulator.tools.explore.anomalies import ANOMALY_BY_NAME
from emulator.tools.explore.histories import History, build_history, facts, without_repetitions
from emulator.tools.explore.judgement import (
    Comparison,
    HistoryFailure,
    compare_ends,
    is_comparable,
    is_settled,
    unstable_places,
)
from emulator.tools.explore.observation import HAS_NO_MONEY, Observation, ObservedOrder
from emulator.tools.explore.service import MAX_SHARED
from emulator.tools.explore.session import AnomalyLeftOut, ExploreSession
from emulator.tools.explore.steps import (
    CREATED,
    READ_WAITS_MS,
    Capabilities,
    Manner,
    StepAction,
    Steps,
)

MAX_CONCURRENT = 64
# Real time between two looks at the state of an asynchronous application.
STATE_PAUSE_MS = 20
# How long a handler may work after its attempt has timed out.
MAX_WORK_MS = 500
CALIBRATIONS = ((), (f"twice {CREATED}",), ("settle-unpaid",), ("return-unpaid",))
"""The anomalies that have no effect on a correct order, but may be in its log."""


class Concurrency(Struct):
    """How many histories run together: more, while the slowest settles in half of `within_ms`."""

    within_ms: float
    width: int = 1
    max_width: int = MAX_CONCURRENT
    _settled_ms: list[float] = field(default_factory=list)

    def add(self, settled_ms: float) -> None:
        """Note how late a history settled; after as many as run together, adapt their number."""
        self._settled_ms.append(settled_ms)
        if len(self._settled_ms) >= self.width:
            is_quick = max(self._settled_ms) <= self.within_ms / 2
            self.width = min(self.max_width, 2 * self.width) if is_quick else self.width // 2 or 1
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


class Ends:
    """The first end of each set of facts, with which later ends are compared."""

    def __init__(self, session: ExploreSession, can: Capabilities) -> None:
        self._session, self._can = session, can
        self._by_facts: dict[Steps, Observation] = {}
        state = session.shop.integration.state
        paths = tuple(value.path for value in state.declared.values() if value.path is not None)
        self._compared = Comparison(ignored=state.ignore, declared=paths)

    @property
    def unstable(self) -> frozenset[str]:
        """The places of the state at which equal histories differ."""
        return self._compared.unstable

    async def calibrate(
        self,
        history: History,
        observe: Callable[[History], Awaitable[Observation]],
        *,
        is_brief: bool = False,
    ) -> None:
        """Find the places of the state that differ without a reason, as a log or a time does."""
        reference = self._by_facts.get(facts(without_repetitions(history.steps)))
        if reference is None:
            reference = await observe(history)
        for names in () if is_brief else CALIBRATIONS:
            parts = (*history.anomalies, *(ANOMALY_BY_NAME[name] for name in names))
            run = build_history(history.outcome, parts, self._can)
            with suppress(AnomalyLeftOut):
                if run is not None:
                    unstable = self.unstable | unstable_places(await observe(run), reference)
                    self._compared = replace(self._compared, unstable=unstable)

    async def compare(self, observation: Observation) -> HistoryFailure | None:
        """Compare the end with the end of the same facts, in another order or without repetitions.

        The first history with these facts has no repetitions, if it ran.
        """
        steps = observation.history.steps
        once = facts(without_repetitions(steps))
        key = once if once in self._by_facts else facts(steps)
        reference = self._by_facts.get(key)
        if reference is None:
            ends = [replace(each, samples=[each.final]) for each in observation.orders]
            first = replace(observation, trace=(), sent=(), orders=ends, forged=())
            self._by_facts[key] = first
            return None
        if not is_comparable(observation, reference):
            return None
        return await self.difference(observation, reference)

    async def difference(
        self, observation: Observation, reference: Observation
    ) -> HistoryFailure | None:
        """How the end differs from the end of a reference, after the time for it."""
        shop, wall, session = self._session.shop, self._session.wall, self._session
        started_ms = wall.monotonic_ms()
        while True:
            failure = compare_ends(observation, reference, self._compared)
            if failure is None or wall.monotonic_ms() - started_ms >= session.max_wait_ms:
                return failure
            await pause(wall, STATE_PAUSE_MS)
            # The end of the first one may have been read too early, too.
            for each in (*observation.orders, *reference.orders):
                each.samples[-1] = await shop.read_state(each, each.final.step)
