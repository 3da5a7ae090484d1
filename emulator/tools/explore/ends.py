"""Compares the ends of histories that have the same facts."""

from collections.abc import Awaitable, Callable
from contextlib import suppress

from msgspec.structs import replace

from emulator.clock import pause
from emulator.tools.explore.anomalies import ANOMALY_BY_NAME
from emulator.tools.explore.histories import History, build_history, facts, without_repetitions
from emulator.tools.explore.judgement import (
    Comparison,
    HistoryFailure,
    compare_ends,
    is_comparable,
    unstable_places,
)
from emulator.tools.explore.observation import Observation
from emulator.tools.explore.session import AnomalyLeftOut, ExploreSession
from emulator.tools.explore.settling import STATE_PAUSE_MS
from emulator.tools.explore.steps import CREATED, Capabilities, Steps

CALIBRATIONS = ((), (f"twice {CREATED}",), ("settle-unpaid",), ("return-unpaid",))
"""The anomalies that have no effect on a correct order, but may be in its log."""


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
