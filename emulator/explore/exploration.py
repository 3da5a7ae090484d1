"""Runs histories in the order of their size, and collects the failures."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from emulator.clock import pause
from emulator.explore.executor import STATE_PAUSE_MS, HistoryRun, Session
from emulator.explore.histories import (
    Action,
    Anomaly,
    Capabilities,
    History,
    Outcome,
    Steps,
    build_history,
    facts,
    histories_of_size,
    normal_form,
    random_histories,
)
from emulator.explore.integration import Integration
from emulator.explore.judgement import Verdict, compare_ends, is_order_free, judge
from emulator.explore.observation import Observation

Progress = Callable[["Exploration"], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A history with a failed judgement."""

    verdict: Verdict
    observation: Observation

    @property
    def history(self) -> History:
        return self.observation.history


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of one history; `failure` is None when it passed."""

    history: History
    duration_ms: float
    failure: Failure | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """When an exploration ends; `max_time_ms` is for all of it."""

    depth: int
    seed: int
    max_failures: int
    max_time_ms: int | None


@dataclass(slots=True)
class Counts:
    """How many histories exist, and what became of them."""

    existing: int = 0
    ran: int = 0
    equivalent: int = 0
    containing_failure: int = 0

    @property
    def not_run(self) -> int:
        """Those for which no time was left, or too many others had failed."""
        return self.existing - self.ran - self.equivalent - self.containing_failure


def capabilities(integration: Integration) -> Capabilities:
    """What the merchant's application has, by its file."""
    return Capabilities(
        has_webhook=integration.webhook is not None,
        has_return=integration.return_to is not None,
        has_settle=integration.settle is not None,
    )


class Exploration:
    """Explores one integration."""

    def __init__(self, session: Session, limits: Limits, progress: Progress) -> None:
        self.counts = Counts()
        self.results: list[Result] = []
        self._session = session
        self._integration = session.shop.integration
        self._can = capabilities(self._integration)
        self._limits = limits
        self._progress = progress
        self._started_ms = session.wall.monotonic_ms()
        self._reads_on_delivery = True
        self._seen: set[tuple[Outcome, Steps]] = set()
        self._ends: dict[tuple[Outcome, Steps], Observation] = {}

    @property
    def failures(self) -> Sequence[Failure]:
        return [result.failure for result in self.results if result.failure is not None]

    @property
    def duration_ms(self) -> float:
        return self._session.wall.monotonic_ms() - self._started_ms

    @property
    def is_over(self) -> bool:
        """Whether a limit is reached."""
        limits = self._limits
        has_time = limits.max_time_ms is None or self.duration_ms < limits.max_time_ms
        return len(self.failures) >= limits.max_failures or not has_time

    async def run(self) -> None:
        """Run all histories up to the depth, then random ones. Raises ExploreError."""
        by_size = [histories_of_size(size, self._can) for size in range(self._limits.depth + 1)]
        self.counts.existing = sum(len(histories) for histories in by_size)
        for size, histories in enumerate(by_size):
            self._session.observes_requests = size == 0
            for history in histories:
                if self.is_over:
                    return
                await self._explore(history)
            if size == 0:
                self._reads_on_delivery = self._has_reading_delivery()
                self._seen |= {self._key(history) for history in histories}
        if self._limits.max_time_ms is not None:
            await self._explore_at_random()

    async def _explore_at_random(self) -> None:
        for history in random_histories(self._limits.seed, self._limits.depth, self._can):
            if self.is_over:
                return
            self.counts.existing += 1
            await self._explore(history)

    def _has_reading_delivery(self) -> bool:
        """Whether the application sends requests to the service while it handles a delivery.

        That of an asynchronous application is unknown: it may send them later.
        """
        if self._integration.state.within_ms:
            return True
        steps = [step for end in self._ends.values() for step in end.reading_steps]
        return any(step.action is Action.DELIVER for step in steps)

    def _key(self, history: History) -> tuple[Outcome, Steps]:
        form = normal_form(history.steps, reads_on_delivery=self._reads_on_delivery)
        return history.outcome, form

    async def _explore(self, history: History) -> None:
        """Run a history, unless its result is known."""
        if any(history.contains(failure.history) for failure in self.failures):
            self.counts.containing_failure += 1
            return
        key = self._key(history)
        if key in self._seen:
            self.counts.equivalent += 1
            return
        self._seen.add(key)
        result = await self._run_one(history)
        if result.failure is not None and len(history.anomalies) > self._limits.depth:
            result = await self._reduced(result)
        self.results.append(result)
        self.counts.ran += 1
        self._progress(self)

    async def _run_one(self, history: History) -> Result:
        started_ms = self._session.wall.monotonic_ms()
        failure = await self.failure_of(history)
        duration_ms = self._session.wall.monotonic_ms() - started_ms
        return Result(history=history, duration_ms=duration_ms, failure=failure)

    async def failure_of(self, history: History) -> Failure | None:
        """Run a history and judge it, also by the ends of earlier ones. Raises ExploreError."""
        run = HistoryRun(self._session, history)
        observation = await run.run()
        verdict = judge(observation)
        if verdict is None and is_order_free(observation):
            verdict, observation = await self._compare(run, observation)
        return None if verdict is None else Failure(verdict=verdict, observation=observation)

    async def _compare(
        self, run: HistoryRun, observation: Observation
    ) -> tuple[Verdict | None, Observation]:
        """Compare the end with that of the same facts in another order, once there is one."""
        history, state = observation.history, self._integration.state
        key = (history.outcome, facts(history.steps))
        reference = self._ends.get(key)
        if reference is None:
            self._ends[key] = replace(observation, trace=(), samples=(observation.final,))
            return None, observation
        wall = self._session.wall
        until_ms = wall.monotonic_ms() + state.within_ms
        while True:
            verdict = compare_ends(observation, reference, state.ignore)
            if verdict is None or wall.monotonic_ms() >= until_ms:
                return verdict, observation
            await pause(wall, STATE_PAUSE_MS)
            observation = await run.look_again()

    async def _reduced(self, result: Result) -> Result:
        """The smallest part of a history that still fails."""
        for part in parts(result.history, self._can):
            smaller = await self._run_one(part)
            if smaller.failure is not None:
                return await self._reduced(smaller)
        return result

    async def replay(self, history: History) -> Result:
        """Run one history, after another order of its facts with which its end is compared."""
        for size in range(len(history.anomalies) + 1):
            for other in histories_of_size(size, self._can):
                is_same = (other.outcome, facts(other.steps)) == (
                    history.outcome,
                    facts(history.steps),
                )
                if is_same and other.steps != history.steps:
                    await self.failure_of(other)
                    return await self._run_one(history)
        return await self._run_one(history)


def parts(history: History, can: Capabilities) -> Iterator[History]:
    """The histories with one anomaly less."""
    for left_out in history.anomalies:
        others: list[Anomaly] = [each for each in history.anomalies if each is not left_out]
        part = build_history(history.outcome, others, can)
        if part is not None:
            yield part


@dataclass(slots=True)
class Matrix:
    """How often each anomaly took part in a history, and in a failed one by verdict."""

    ran: Counter[str] = field(default_factory=Counter)
    failed: Counter[tuple[str, str]] = field(default_factory=Counter)


def matrix(results: Sequence[Result]) -> Matrix:
    """Count the anomalies of all results."""
    counted = Matrix()
    for result in results:
        for name in result.history.name.anomalies or ("no anomaly",):
            counted.ran[name] += 1
            if result.failure is not None:
                counted.failed[name, result.failure.verdict.id] += 1
    return counted
