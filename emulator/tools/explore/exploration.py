"""Runs histories in the order of their size, and collects the failures."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from itertools import combinations, islice

from msgspec import Struct
from msgspec.structs import replace

from emulator.clock import pause
from emulator.domain.webhook_forms import STANDARD, WebhookForm
from emulator.http.emulator_calls import PaymentsEmulatorError
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
    HistoryFailure,
    Observation,
    compare_ends,
    is_order_free,
    judge,
)
from emulator.tools.explore.service import ExploreError
from emulator.tools.explore.session import ExploreSession
from emulator.tools.explore.steps import Capabilities, Steps

MAX_CONCURRENT = 64

Progress = Callable[["Exploration"], None]


class Result(Struct, frozen=True, kw_only=True):
    """The result of one history; `failure` is None when it passed."""

    history: History
    duration_ms: float
    failure: HistoryFailure | None


class Limits(Struct, frozen=True, kw_only=True):
    """When an exploration ends; random histories larger than `depth` follow if it `draws` them."""

    depth: int
    seed: int
    max_failures: int
    max_time_ms: int | None
    draws: bool = False


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
    """Explores one integration, and counts its histories: what became of those that exist."""

    def __init__(self, session: ExploreSession, limits: Limits, progress: Progress) -> None:
        self.existing = self.ran = self.equivalent = self.containing_failure = 0
        self.complete_size: int | None = None
        self.results: list[Result] = []
        self.failures: list[HistoryFailure] = []
        self.can = capabilities(session.shop.integration, session.shop.form)
        self.can_overlap = False
        self._session, self._limits, self._progress = session, limits, progress
        self._started_ms = session.wall.monotonic_ms()
        self._reads = session.max_reads
        self._kind = (False, False)
        self._seen: set[Steps] = set()
        self._ends: dict[Steps, Observation] = {}

    @property
    def duration_ms(self) -> float:
        return self._session.wall.monotonic_ms() - self._started_ms

    @property
    def not_run(self) -> int:
        """How many had no time left, or too many others had failed."""
        return self.existing - self.ran - self.equivalent - self.containing_failure

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
        session, limits = self._session, self._limits
        await session.drop_payments()
        # Which payment is new is only known of one order at a time.
        is_known = session.shop.integration.names_payment
        self.can_overlap = is_known and await session.shop.serves_several()
        by_size = [histories_of_size(size, self.can) for size in range(limits.depth + 1)]
        self.existing = sum(len(histories) for histories in by_size)
        session.observes_reads, session.reads_later = True, False
        for size, histories in enumerate(by_size):
            await self._explore_all(histories)
            if self.is_over:
                return
            self.complete_size = size
            if session.observes_reads:
                session.observes_reads, self._reads = False, session.max_reads
                self._seen = {normal_form(history.steps, self._reads) for history in histories}
        if limits.draws:
            await self._explore_all(random_histories(limits.seed, limits.depth, self.can))

    async def _explore_all(self, histories: Iterable[History]) -> None:
        """Run the histories whose results are not known, and judge them in order.

        Those that share the account overlap: an asynchronous application, or one that waits itself,
        needs no more time for several. A retry after a wait must not meet the fault of another
        history, so those that wait end before others begin. The clock moves for one at a time.
        """
        running: deque[asyncio.Task[Observation]] = deque()
        try:
            for history in histories:
                # The number of random ones is not known before.
                self.existing += len(history.anomalies) > self._limits.depth
                shares, kind = self._shares(history), (history.waits, history.moves_clock)
                is_full = history.waits and len(running) == MAX_CONCURRENT
                is_alone = not shares or kind != self._kind or is_full
                await self._end_oldest(running, leaving=0 if is_alone else MAX_CONCURRENT - 1)
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

    async def _end_oldest(self, running: "deque[asyncio.Task[Observation]]", leaving: int) -> None:
        """Judge the oldest histories until this number is left."""
        while len(running) > leaving:
            observation = await running[0]
            del running[0]
            history = observation.history
            if self.is_over or self._contains_failure(history):
                continue
            result = await self._judge(observation)
            if result.failure is not None and len(history.anomalies) > self._limits.depth:
                await asyncio.gather(*running, return_exceptions=True)  # its parts may run alone
                result = await self._reduced(result)
            self.results.append(result)
            self.failures += [] if result.failure is None else [result.failure]
            self.ran += 1
            self._progress(self)

    def _is_new(self, history: History) -> bool:
        """Whether the result of a history is not known yet; counts it otherwise."""
        if self._contains_failure(history):
            return False
        steps = normal_form(history.steps, self._reads)
        is_new = steps not in self._seen
        self._seen.add(steps)
        self.equivalent += not is_new
        return is_new

    def _contains_failure(self, history: History) -> bool:
        contains = any(history.contains(each.observation.history) for each in self.failures)
        self.containing_failure += contains
        return contains

    async def _observe(self, history: History) -> Observation:
        try:
            return await HistoryRun(self._session, history).run()
        except (ExploreError, PaymentsEmulatorError) as error:
            text = error.line if isinstance(error, PaymentsEmulatorError) else error
            raise ExploreError(f"{text} (in the history: {history.title})") from None

    async def _judge(self, observation: Observation) -> Result:
        """Judge a history, also by the ends of earlier ones."""
        failure = judge(observation)
        if failure is None and is_order_free(observation):
            failure = await self._compare(observation)
        history, duration_ms = observation.history, observation.duration_ms
        return Result(history=history, duration_ms=duration_ms, failure=failure)

    async def _compare(self, observation: Observation) -> HistoryFailure | None:
        """Compare the end with that of the same facts in another order, once there is one."""
        shop, wall, key = self._session.shop, self._session.wall, facts(observation.history.steps)
        reference = self._ends.get(key)
        if reference is None:
            final = [observation.final]
            self._ends[key] = replace(observation, trace=(), sent=(), samples=final, forged=())
            return None
        state, started_ms = shop.integration.state, wall.monotonic_ms()
        while True:
            failure = compare_ends(observation, reference, state.ignore)
            if failure is None or wall.monotonic_ms() - started_ms >= state.max_wait_ms:
                return failure
            await pause(wall, STATE_PAUSE_MS)
            # The end of the first one may have been read too early, too.
            for each in (observation, reference):
                step, status = each.final.step, each.final.payment_status
                each.samples[-1] = await shop.read_state(each.order, each.browser, step, status)

    async def _reduced(self, result: Result) -> Result:
        """The smallest part of a history that still fails."""
        outcome, anomalies = result.history.outcome, result.history.anomalies
        for left_out in anomalies:
            others = [each for each in anomalies if each is not left_out]
            part = build_history(outcome, others, self.can)
            smaller = part and await self._judge(await self._observe(part))
            if smaller and smaller.failure:
                return await self._reduced(smaller)
        return result

    async def replay(self, history: History) -> Result:
        """Run one history, after another order of its facts with which its end is compared."""
        await self._session.drop_payments()
        sizes, own = range(len(history.anomalies)), facts(history.steps)
        parts = (part for size in sizes for part in combinations(history.anomalies, size))
        others = (build_history(history.outcome, part, self.can) for part in parts)
        for other in islice((each for each in others if each and facts(each.steps) == own), 1):
            await self._judge(await self._observe(other))
        return await self._judge(await self._observe(history))
