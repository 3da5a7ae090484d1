"""Runs histories in the order of their size, and collects the failures."""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress

from msgspec import Struct
from msgspec.structs import replace

from emulator.clock import pause
from emulator.domain.user_error import UserError
from emulator.tools.explore.anomalies import left_out
from emulator.tools.explore.ends import Concurrency, Ends
from emulator.tools.explore.executor import HistoryRun
from emulator.tools.explore.histories import (
    History,
    build_history,
    histories_of_size,
    random_histories,
)
from emulator.tools.explore.integration import FileMistake, Integration
from emulator.tools.explore.judgement import HistoryFailure, is_comparable, judge
from emulator.tools.explore.observation import Observation
from emulator.tools.explore.session import AnomalyLeftOut, ExploreSession
from emulator.tools.explore.steps import Capabilities, Steps

# How many times `within` a failed history may take when it runs once more, alone.
PATIENCE = 2
MAX_BEFORE = 50
# A race may end well by chance.
RACE_RUNS = 5
# The titles of the histories that show what a file may declare.
USUAL = ("paid", "failed", "refunded")
Progress = Callable[["Exploration"], None]
_Running = deque[asyncio.Task[Observation | None]]


class Result(Struct, frozen=True, kw_only=True):
    """The result of one history; `failure` is None when it passed."""

    history: History
    duration_ms: float
    failure: HistoryFailure | None


class Limits(Struct, frozen=True, kw_only=True):
    """When an exploration ends; random histories larger than `depth` follow if it `draws` them.

    Until all histories up to `required_depth` ran, the limit is `max_required_time_ms`.
    """

    depth: int
    seed: int
    max_failures: int
    max_time_ms: int | None
    required_depth: int = 0
    max_required_time_ms: int | None = None
    draws: bool = False


class Exploration:
    """Explores one integration, and counts its histories.

    `existing` and `done` are by size; a history is done if it ran, or one with equal steps ran.
    `usual` has the observations of the smallest histories by title. The time counts from
    `started_ms`.
    """

    def __init__(
        self,
        session: ExploreSession,
        limits: Limits,
        progress: Progress,
        *,
        started_ms: float | None = None,
    ) -> None:
        self.existing, self.done = Counter[int](), Counter[int]()
        self.equivalent = self.containing_failure = self.held_alone = 0
        self.failed_once = 0
        self.complete_size: int | None = None
        self.usual: dict[str, Observation] = {}
        self.results: list[Result] = []
        self.failures: list[HistoryFailure] = []
        self.can = Capabilities(session.shop.integration.keys, session.shop.form, session.no_clock)
        self.can_overlap = False
        self.limits = limits
        self._session, self._progress = session, progress
        self._started_ms = session.wall.monotonic_ms() if started_ms is None else started_ms
        self._kind = (False, False)
        self._concurrency = Concurrency(session.shop.integration.state.within_ms)
        self._seen: set[Steps] = set()
        self._impossible: list[tuple[History, str]] = []
        self._ends = Ends(session, self.can)

    @property
    def duration_ms(self) -> float:
        return self._session.wall.monotonic_ms() - self._started_ms

    @property
    def integration(self) -> Integration:
        return self._session.shop.integration

    @property
    def is_complete(self) -> bool:
        """Whether all histories up to the depth ran; random ones never end."""
        return self.complete_size == self.limits.depth

    @property
    def is_sufficient(self) -> bool:
        """Whether all histories ran that are required."""
        return self.complete_size is not None and self.complete_size >= self.limits.required_depth

    @property
    def is_over(self) -> bool:
        """Whether a limit is reached."""
        limits = self.limits
        max_ms = limits.max_time_ms if self.is_sufficient else limits.max_required_time_ms
        has_time = max_ms is None or self.duration_ms < max_ms
        return len(self.failures) >= limits.max_failures or not has_time

    async def run(self) -> None:
        """Run all histories up to the depth, then random ones. Raises UserError."""
        session, limits = self._session, self.limits
        by_size = [histories_of_size(size, self.can) for size in range(limits.depth + 1)]
        self.existing.update({size: len(histories) for size, histories in enumerate(by_size)})
        await session.drop_payments()
        # Which payment is new is only known of one order at a time.
        is_known = "payment" in self.can.keys
        self.can_overlap = is_known and await session.shop.serves_several()
        session.observes_reads, session.reads_later = True, False
        for size, histories in enumerate(by_size):
            await self._explore_all(histories)
            if self.is_over:
                return
            self.complete_size = size
            if session.observes_reads:
                session.observes_reads = False
                for history in histories:
                    await self._ends.calibrate(history, self.observe)
        if limits.draws:
            await self._explore_all(random_histories(limits.seed, limits.depth, self.can))

    @property
    def not_compared(self) -> list[str]:
        """The places of the state at which equal histories differ."""
        return sorted(self._ends.unstable)

    async def _explore_all(self, histories: Iterable[History]) -> None:
        """Run the histories whose results are not known, and judge them in order.

        Those that share the account overlap: an asynchronous application, or one that waits itself,
        needs no more time for several; their number follows the slowest. A retry after a wait must
        not meet the fault of another history, so those that wait end before others begin. The clock
        moves for one at a time.
        """
        running: _Running = deque()
        try:
            for history in histories:
                shares, kind = self._shares(history), (history.waits, history.moves_clock)
                width = self._concurrency.width
                is_full = history.waits and len(running) >= width
                is_alone = not shares or kind != self._kind or is_full
                await self._end_oldest(running, leaving=0 if is_alone else width - 1)
                if self.is_over:
                    return
                if not self._is_new(history):
                    continue
                self._session.is_shared, self._kind = shares, kind
                running.append(asyncio.create_task(self._observe_possible(history)))
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
        account = self._session.shop.integration.account
        has_common_account = account is not None and account.is_common
        can_overlap = self.can_overlap and self._session.names_orders and not has_common_account
        return can_overlap and not history.runs_alone and saves_time

    async def _end_oldest(self, running: _Running, leaving: int) -> None:
        """Judge the oldest histories until this number is left."""
        while len(running) > leaving:
            observation = await running[0]
            del running[0]
            if observation is None or self.is_over:
                continue
            history = observation.history
            if self._contains_failure(history):
                continue
            self._concurrency.add(observation.settled_ms)
            failure = await self.failure_of(observation)
            if failure is not None:
                await asyncio.gather(*running, return_exceptions=True)
                failure = await self._confirmed(failure)
            failed = observation if failure is None else failure.observation
            self.results.append(
                Result(history=failed.history, duration_ms=failed.duration_ms, failure=failure)
            )
            self.failures += [] if failure is None else [failure]
            self.done[len(history.anomalies)] += 1
            if history.title in USUAL:
                self.usual[history.title] = observation
            self._progress(self)

    async def _confirmed(self, failure: HistoryFailure) -> HistoryFailure | None:
        """A failure after its history ran alone; None where only its end was late before."""
        before = tuple(each.history.name for each in self.results[-MAX_BEFORE:])
        again: HistoryFailure | None = failure
        self.failed_once += 1
        try:
            # A request without a response would take as long once more.
            if not failure.observation.hung_alone:
                if self._session.lag_ms:  # A queue first ends what the histories have sent.
                    await pause(self._session.wall, PATIENCE * self._session.max_wait_ms)
                with self._alone():
                    again = await self._repeated(failure)
        except UserError as error:
            again = replace(failure, runs=f"not repeated: {error.lines[0]}")
        self.failed_once -= 1
        if again is None:
            self.held_alone += 1
            # Several were late together.
            self._concurrency.width = self._concurrency.max_width = 1
        return again and replace(again, before=before)

    async def _repeated(self, failure: HistoryFailure) -> HistoryFailure | None:
        """Run the smallest part of a history that fails once more. Raises UserError."""
        if len(failure.observation.history.anomalies) > self.limits.depth:
            failure = await self._reduced(failure)
        history = failure.observation.history
        again = await self.rerun(history, failure.reference)
        if again is None and failure.is_seen_fact:
            third = await self.rerun(history, failure.reference)
            again = replace(failure, runs=f"seen in {1 + (third is not None)} of 3 runs")
        return again

    @contextmanager
    def _alone(self) -> Iterator[None]:
        session = self._session
        is_shared, session.is_shared, session.patience = session.is_shared, False, PATIENCE
        try:
            yield
        finally:
            session.is_shared, session.patience = is_shared, 1

    async def rerun(self, history: History, reference: History | None) -> HistoryFailure | None:
        """Run a history once more, after the one with whose end its end is compared.

        Raises UserError, also where the ends differ and a correct application may end so.
        """
        await self._session.drop_payments()
        other = None if reference is None else await self.observe(reference)
        observation = await self.observe(history)
        failure = judge(observation)
        if failure is None and other is not None:
            failure = await self._ends.difference(observation, other)
            if failure is not None and not is_comparable(observation, other):
                title = other.history.title
                raise UserError(f"the end need not equal that of: {title} ({failure.seen})")
        return failure

    async def replay(
        self, history: History, reference: History | None = None, before: Iterable[History] = ()
    ) -> Result:
        """Run a saved history: alone, and if it holds, once more after others.

        The usual history of its outcome shows first how the application works.
        """
        session, started_ms = self._session, self._session.wall.monotonic_ms()
        await session.drop_payments()
        session.observes_reads, session.reads_later = True, False
        for usual in filter(None, [build_history(history.outcome, (), self.can)]):
            await self._ends.calibrate(usual, self.observe, is_brief=reference is None)
        session.observes_reads = False
        with self._alone():
            failure = await self._replayed(history, reference, before)
        duration_ms = session.wall.monotonic_ms() - started_ms
        return Result(history=history, duration_ms=duration_ms, failure=failure)

    async def _replayed(
        self, history: History, reference: History | None, before: Iterable[History]
    ) -> HistoryFailure | None:
        """The failure; its `before` is empty if the history fails alone."""
        for _ in range(RACE_RUNS if history.is_race else 1):
            if failure := await self.rerun(history, reference):
                return failure
        names = []
        for each in before:
            with suppress(AnomalyLeftOut):
                await self.observe(each)
                names.append(each.name)
        failure = await self.rerun(history, reference) if names else None
        return failure and replace(failure, before=tuple(names))

    def _is_new(self, history: History) -> bool:
        """Whether the result of a history is not known yet; counts it otherwise."""
        if any(history.contains(each) for each, _ in self._impossible):
            self.existing[len(history.anomalies)] -= 1
            return False
        if self._contains_failure(history):
            return False
        is_new = history.steps not in self._seen
        self._seen.add(history.steps)
        self.equivalent += not is_new
        self.done[len(history.anomalies)] += not is_new
        return is_new

    def _contains_failure(self, history: History) -> bool:
        contains = any(history.contains(each.observation.history) for each in self.failures)
        self.containing_failure += contains
        return contains

    async def observe(self, history: History) -> Observation:
        """Run a history. Raises UserError, and AnomalyLeftOut."""
        try:
            return await HistoryRun(self._session, history).run()
        except (AnomalyLeftOut, FileMistake):
            raise
        except UserError as error:
            raise UserError(f"{error.lines[0]} (in the history: {history.title})") from None

    async def _observe_possible(self, history: History) -> Observation | None:
        """Run a history; None where the application turns out not to have one of its anomalies."""
        try:
            return await self.observe(history)
        except AnomalyLeftOut as error:
            self._impossible.append((history, error.lines[0]))
            self.existing[len(history.anomalies)] -= 1
            return None

    @property
    def left_out(self) -> dict[str, list[str]]:
        """The anomalies that did not occur, by the reason."""
        problems = left_out(self.can) | {each: ["return"] for each in self._session.unopened}
        for history, reason in self._impossible:
            names = problems.setdefault(reason, [])
            names += (each for each in history.name.anomalies if each not in names)
        return problems

    async def failure_of(self, observation: Observation) -> HistoryFailure | None:
        """The failure of a history, also by the ends of earlier ones."""
        return judge(observation) or await self._ends.compare(observation)

    async def _reduced(self, failure: HistoryFailure) -> HistoryFailure:
        """The failure of the smallest part of a history that still fails."""
        history = failure.observation.history
        for one in history.anomalies:
            others = [each for each in history.anomalies if each is not one]
            part = build_history(history.outcome, others, self.can)
            smaller = part and await self.failure_of(await self.observe(part))
            if smaller:
                return await self._reduced(smaller)
        return failure
