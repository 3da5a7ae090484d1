"""Runs the suite without a variant, and then once with each, beside an emulator of its own."""

import asyncio
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager

from msgspec import Struct, field

from emulator.clock import SystemClock
from emulator.domain.user_error import UserError
from emulator.reporting import progress_bar
from emulator.scenarios.values import VariantKind
from emulator.tools.json_results import RehearsedVariant
from emulator.tools.rehearse.suite import Suite, SuiteRun
from emulator.tools.rehearse.variants import Variant, combination

# Of the first run, without --max-time.
MAX_FIRST_RUN_MS = 3_600_000
# Of the others: a multiple of the first, and the time for retries and time-outs.
MAX_DURATION_FACTOR = 10
MAX_DELAYS_MS = 30_000
_API_REQUEST = re.compile(r" /v1/[^ ]* ")
_OWN_SCENARIO = re.compile(r" PUT /_emulator/(?:payments/[^ /]+/scenario|scenarios/[^ ]+) 2")


class RehearsalError(UserError):
    """The suite cannot be rehearsed; `last_lines` are the end of its output."""

    def __init__(
        self, message: str, last_lines: Sequence[str], failed_tests: Sequence[str] = ()
    ) -> None:
        super().__init__(message, *(f"failed: {name}" for name in failed_tests))
        self.last_lines = last_lines


class Traffic(Struct):
    """What a suite requests from its emulator, read from the lines of the request log.

    `own_scenarios` counts how often a test sets a scenario, which precedes the variant's scenario.
    `unanswered` counts the webhooks that a handler did not answer in time, each of which may delay
    the suite. `variants` are the variants of `--vary` that responses and webhooks had.
    """

    api_requests: int = 0
    own_scenarios: int = 0
    unanswered: int = 0
    variants: Collection[str] = ()

    def add_lines(self, text: str) -> None:
        self.api_requests += len(_API_REQUEST.findall(text))
        self.own_scenarios += len(_OWN_SCENARIO.findall(text))


Variables = Mapping[str, str]
PrivateEmulator = Callable[[Variant | None, Traffic], AbstractAsyncContextManager[Variables]]
"""Runs an emulator with a variant, and yields the variables of the suite."""


def rehearsed(variant: Variant, run: SuiteRun, traffic: Traffic) -> RehearsedVariant:
    """The result of a run of the suite with a variant."""
    # The suite has missed a false answer, or the shop has not survived.
    is_finding = run.has_passed is (variant.kind is VariantKind.FALSE_ANSWER)
    # Scenarios are not observed.
    is_observed = any(name in traffic.variants for name in variant.vary.split(","))
    return RehearsedVariant(
        variant=variant.name,
        description=variant.description,
        rehearsal=variant.kind.value,
        scenario=variant.by_hand,
        is_finding=is_finding,
        is_applicable=is_observed or variant.file is not None,
        exit_code=run.exit_code,
        duration_ms=round(run.duration_ms),
        failed_tests=run.failed_tests,
        last_lines=run.last_lines,
        own_scenarios=traffic.own_scenarios,
        what_to_do=variant.what_to_do if is_finding else None,
    )


class RehearsalRun(Struct, kw_only=True):
    """A rehearsal: its parts, and its results so far, in the order of the variants.

    Without a maximum time of each run, the first run sets the maximum time of the others.
    """

    suite: Suite
    variants: Sequence[Variant]
    emulator: PrivateEmulator
    wall: SystemClock
    max_ms: float | None = None
    show: Callable[[str], None]
    duration_ms: float = 0
    results: list[RehearsedVariant] = field(default_factory=list)
    unanswered: dict[str, int] = field(default_factory=dict)
    """The number of webhooks without an answer in time, by the name of the variant."""

    @property
    def is_complete(self) -> bool:
        return len(self.results) == len(self.variants)

    async def run(self, jobs: int) -> None:
        """Run everything, `jobs` variants at the same time. Raises RehearsalError."""
        started_ms = self.wall.monotonic_ms()
        self.show("the first run, without a variant")
        try:
            max_ms = await self._run_without_variant()
            alone = [variant for variant in self.variants if not variant.is_combinable]
            await self._run_each(alone, jobs, max_ms)
            combined = [variant for variant in self.variants if variant.is_combinable]
            if combined:
                await self._run_combined(combined, jobs, max_ms)
        finally:
            self.duration_ms = self.wall.monotonic_ms() - started_ms

    async def _run_each(self, variants: Sequence[Variant], jobs: int, max_ms: float) -> None:
        remaining = iter(variants)

        async def work() -> None:
            for variant in remaining:
                self._add([variant], *await self._run(variant, max_ms))

        workers = [asyncio.create_task(work()) for _ in range(jobs)]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)

    async def _run_combined(self, variants: Sequence[Variant], jobs: int, max_ms: float) -> None:
        """Run the suite with all at once, which most shops survive.

        Otherwise each shows whether it is the cause; if none is, all together are.
        """
        together = combination(variants)
        run, traffic = await self._run(together, max_ms)
        if run.has_passed:
            self._add(variants, run, traffic)
            return
        await self._run_each(variants, jobs, max_ms)
        names = {variant.name for variant in variants}
        if not any(each.is_finding for each in self.results if each.variant in names):
            self.variants = [*self.variants, together]
            self._add([together], run, traffic)

    def _add(self, variants: Sequence[Variant], run: SuiteRun, traffic: Traffic) -> None:
        self.results += [rehearsed(variant, run, traffic) for variant in variants]
        names = [variant.name for variant in self.variants]
        self.results.sort(key=lambda result: names.index(result.variant))
        self.show(f"{progress_bar(len(self.results), len(self.variants))} variants")

    async def _run_without_variant(self) -> float:
        """Return the maximum time of the runs with a variant."""
        own_ms = self.max_ms
        run, traffic = await self._run(None, MAX_FIRST_RUN_MS if own_ms is None else own_ms)
        problem = None
        if not run.has_passed:
            problem = f"the suite fails without a variant, {run.end}; it must pass first"
        elif not traffic.api_requests:
            problem = "the suite sends no request to the address in PAYMENTS_EMULATOR_URL"
        if problem is not None:
            message = f"{problem}: {self.suite.command}"
            raise RehearsalError(message, run.last_lines, run.failed_tests)
        return MAX_DURATION_FACTOR * run.duration_ms + MAX_DELAYS_MS if own_ms is None else own_ms

    async def _run(self, variant: Variant | None, max_ms: float) -> tuple[SuiteRun, Traffic]:
        traffic = Traffic()
        async with self.emulator(variant, traffic) as variables:
            run = await self.suite.run(variables, max_ms=max_ms)
        # Only now: the last lines of the log are written at the end of the emulator.
        if traffic.unanswered:
            self.unanswered[variant.name if variant else "no variant"] = traffic.unanswered
        return run, traffic
