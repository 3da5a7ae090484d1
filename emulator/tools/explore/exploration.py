"""Runs histories in the order of their size, and collects the failures."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from emulator.clock import pause
from emulator.domain.payment import EVENT_TYPES
from emulator.domain.webhook_forms import STANDARD, WebhookForm
from emulator.http.emulator_calls import PaymentsEmulatorError
from emulator.tools.explore.anomalies import Anomaly
from emulator.tools.explore.executor import STATE_PAUSE_MS, HistoryRun
from emulator.tools.explore.histories import (
    History,
    build_history,
    facts,
    histories_of_size,
    normal_form,
    random_histories,
)
from emulator.tools.explore.integration import Integration
from emulator.tools.explore.judgement import (
    HistoryVerdict,
    Observation,
    compare_ends,
    is_order_free,
    judge,
)
from emulator.tools.explore.service import ExploreError
from emulator.tools.explore.session import MAX_READS, ExploreSession
from emulator.tools.explore.steps import Capabilities, Outcome, Steps

MAX_CONCURRENT = 64

Progress = Callable[["Exploration"], None]
Observed = tuple[Observation, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryFailure:
    """A history with a failed judgement."""

    verdict: HistoryVerdict
    observation: Observation

    @property
    def history(self) -> History:
        return self.observation.history


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of one history; `failure` is None when it passed."""

    history: History
    duration_ms: float
    failure: HistoryFailure | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """When an exploration ends; `max_time_ms` is for all of it.

    Random histories with more anomalies than `depth` follow if it `draws` them.
    """

    depth: int
    seed: int
    max_failures: int
    max_time_ms: int | None
    draws: bool = False


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


def capabilities(integration: Integration, form: WebhookForm = STANDARD) -> Capabilities:
    """What the merchant's application has, by its file and the form of its webhooks."""
    return Capabilities(
        form=form,
        has_webhook=integration.webhook is not None,
        has_return=integration.return_to is not None,
        has_settle=integration.settle is not None,
        is_durable=integration.run is not None and integration.run.durable,
    )


class Exploration:
    """Explores one integration."""

    def __init__(self, session: ExploreSession, limits: Limits, progress: Progress) -> None:
        self.counts = Counts()
        self.results: list[Result] = []
        self.failures: list[HistoryFailure] = []
        self._session, self._limits, self._progress = session, limits, progress
        self._integration = session.shop.integration
        self.can = capabilities(self._integration, session.shop.form)
        self._started_ms = session.wall.monotonic_ms()
        self.complete_size: int | None = None
        self._reads = dict.fromkeys(EVENT_TYPES.values(), MAX_READS)
        self.can_overlap = False
        self._kind = (False, False)
        self._seen: set[tuple[Outcome, Steps]] = set()
        self._ends: dict[tuple[Outcome, Steps], Observation] = {}

    @property
    def duration_ms(self) -> float:
        return self._session.wall.monotonic_ms() - self._started_ms

    @property
    def is_complete(self) -> bool:
        """Whether all histories up to the depth ran; random ones never end."""
        return self.complete_size == self._limits.depth

    @property
    def is_over(self) -> bool:
        """Whether a limit is reached."""
        limits = self._limits
        has_time = limits.max_time_ms is None or self.duration_ms < limits.max_time_ms
        return len(self.failures) >= limits.max_failures or not has_time

    async def run(self) -> None:
        """Run all histories up to the depth, then random ones. Raises ExploreError."""
        await self._session.drop_payments()
        # Which payment is new is only known of one order at a time.
        is_known = self._integration.names_payment
        self.can_overlap = is_known and await self._session.shop.serves_several()
        by_size = [histories_of_size(size, self.can) for size in range(self._limits.depth + 1)]
        self.counts.existing = sum(len(histories) for histories in by_size)
        for size, histories in enumerate(by_size):
            if size == 0:
                self._session.observes_reads, self._session.reads_later = True, False
            await self._explore_all(histories)
            if self.is_over:
                return
            self.complete_size = size
            if size == 0:
                self._session.observes_reads = False
                self._reads = self._known_reads()
                self._seen |= {self._key(history) for history in histories}
        if self._limits.draws:
            await self._explore_at_random()

    async def _explore_at_random(self) -> None:
        drawn = random_histories(self._limits.seed, self._limits.depth, self.can)
        await self._explore_all(self._counted(drawn))

    def _counted(self, histories: Iterable[History]) -> Iterator[History]:
        for history in histories:
            self.counts.existing += 1
            yield history

    def _known_reads(self) -> dict[str, int]:
        """The most reads of the payment while each event is handled.

        They are unknown of an event that no history has delivered yet, and of an asynchronous
        application that reads the payment: it may do so later.
        """
        session, counted = self._session, self._session.reads
        is_reading = any(counted.values())
        if session.reads_later or (session.lag_ms and is_reading):
            return self._reads
        return {event: counted.get(event, is_reading * MAX_READS) for event in self._reads}

    def _key(self, history: History) -> tuple[Outcome, Steps]:
        return history.outcome, normal_form(history.steps, self._reads)

    async def _explore_all(self, histories: Iterable[History]) -> None:
        """Run the histories whose results are not known, and judge them in order.

        Those that share the account overlap: an asynchronous application, or one that waits itself,
        needs no more time for several. A retry after a wait must not meet the fault of another
        history, so those that wait end before others begin. The clock moves for one at a time.
        """
        running: deque[asyncio.Task[Observed]] = deque()
        try:
            for history in histories:
                shares = self._shares(history)
                kind = history.waits, history.moves_clock
                if not shares or kind != self._kind:
                    await self._end_oldest(running, leaving=0)
                elif len(running) == MAX_CONCURRENT:
                    await self._end_oldest(running, 0 if history.waits else MAX_CONCURRENT - 1)
                if self.is_over:
                    return
                if not self._is_new(history):
                    continue
                self._session.is_shared, self._kind = shares, kind
                running.append(asyncio.create_task(self._observe(history)))
                if not shares:
                    await self._end_oldest(running, leaving=0)
            await self._end_oldest(running, leaving=0)
        finally:
            self._session.is_shared = False
            for run in running:
                run.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    def _shares(self, history: History) -> bool:
        """Whether a history can overlap with others, and it saves time."""
        saves_time = not history.moves_clock if history.waits else self._session.lag_ms > 0
        can_overlap = self.can_overlap and self._session.names_orders
        return can_overlap and not history.runs_alone and saves_time

    async def _end_oldest(self, running: "deque[asyncio.Task[Observed]]", leaving: int) -> None:
        """Judge the oldest histories until this number is left."""
        while len(running) > leaving:
            observation, duration_ms = await running[0]
            del running[0]
            history = observation.history
            if self.is_over or self._contains_failure(history):
                continue
            result = await self._judge(observation, duration_ms)
            if result.failure is not None and len(history.anomalies) > self._limits.depth:
                await asyncio.gather(*running, return_exceptions=True)  # its parts may run alone
                result = await self._reduced(result)
            self.results.append(result)
            self.failures += [] if result.failure is None else [result.failure]
            self.counts.ran += 1
            self._progress(self)

    def _is_new(self, history: History) -> bool:
        """Whether the result of a history is not known yet; counts it otherwise."""
        if self._contains_failure(history):
            return False
        key = self._key(history)
        if key in self._seen:
            self.counts.equivalent += 1
            return False
        self._seen.add(key)
        return True

    def _contains_failure(self, history: History) -> bool:
        contains = any(history.contains(failure.history) for failure in self.failures)
        self.counts.containing_failure += contains
        return contains

    async def _observe(self, history: History) -> Observed:
        started_ms = self._session.wall.monotonic_ms()
        try:
            observation = await HistoryRun(self._session, history).run()
        except (ExploreError, PaymentsEmulatorError) as error:
            text = error.line if isinstance(error, PaymentsEmulatorError) else error
            raise ExploreError(f"{text} (in the history: {history.title})") from None
        return observation, self._session.wall.monotonic_ms() - started_ms

    async def _run_one(self, history: History) -> Result:
        return await self._judge(*await self._observe(history))

    async def _judge(self, observation: Observation, duration_ms: float) -> Result:
        """Judge a history, also by the ends of earlier ones."""
        verdict = judge(observation)
        if verdict is None and is_order_free(observation):
            verdict, observation = await self._compare(observation)
        failure = HistoryFailure(verdict=verdict, observation=observation) if verdict else None
        return Result(history=observation.history, duration_ms=duration_ms, failure=failure)

    async def _compare(self, observation: Observation) -> tuple[HistoryVerdict | None, Observation]:
        """Compare the end with that of the same facts in another order, once there is one."""
        history, state = observation.history, self._integration.state
        key = (history.outcome, facts(history.steps))
        reference = self._ends.get(key)
        if reference is None:
            final = (observation.final,)
            self._ends[key] = replace(observation, trace=(), sent=(), samples=final, forged=())
            return None, observation
        wall = self._session.wall
        until_ms = wall.monotonic_ms() + state.max_wait_ms
        while True:
            verdict = compare_ends(observation, reference, state.ignore)
            if verdict is None or wall.monotonic_ms() >= until_ms:
                return verdict, observation
            await pause(wall, STATE_PAUSE_MS)
            observation = await self._look_again(observation)
            # The end of the first one may have been read too early, too.
            reference = self._ends[key] = await self._look_again(reference)

    async def _look_again(self, observation: Observation) -> Observation:
        """The observation with the present state of the order at the end."""
        final, order, browser = observation.final, observation.order, observation.browser
        last = await self._session.shop.read_state(
            order, browser, step=final.step, payment_status=final.payment_status
        )
        return replace(observation, samples=(*observation.samples[:-1], last))

    async def _reduced(self, result: Result) -> Result:
        """The smallest part of a history that still fails."""
        for part in parts(result.history, self.can):
            smaller = await self._run_one(part)
            if smaller.failure is not None:
                return await self._reduced(smaller)
        return result

    async def replay(self, history: History) -> Result:
        """Run one history, after another order of its facts with which its end is compared."""
        await self._session.drop_payments()
        key = (history.outcome, facts(history.steps))
        sizes = range(len(history.anomalies) + 1)
        others = (other for size in sizes for other in histories_of_size(size, self.can))
        for other in others:
            if (other.outcome, facts(other.steps)) == key and other.steps != history.steps:
                await self._run_one(other)
                break
        return await self._run_one(history)


def parts(history: History, can: Capabilities) -> Iterator[History]:
    """The histories with one anomaly less."""
    for left_out in history.anomalies:
        others: list[Anomaly] = [each for each in history.anomalies if each is not left_out]
        part = build_history(history.outcome, others, can)
        if part is not None:
            yield part
