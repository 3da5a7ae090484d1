"""How the cases of a run are played: several at a time, and told of in their order."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Protocol

from emulator.replay.case_runner import expects_webhooks, play
from emulator.replay.client import Unreachable
from emulator.replay.health_check import find_emulator
from emulator.replay.receiver import receiving
from emulator.replay.results import Case, PlayedStep, Result
from emulator.replay.run_context import RunContext


class Audience(Protocol):
    """Who is told how a run goes on; cases that overlap are told of as they come."""

    def step_played(self, case: Case, step: PlayedStep) -> None:
        """A step was played, and has perhaps failed."""

    def case_ended(self, result: Result) -> None:
        """A case has ended."""


async def play_all(
    cases: Sequence[Case], stage: RunContext, audience: Audience, *, at_a_time: int
) -> list[Result]:
    """Play cases; the results are in the order of the cases. Raises Unreachable."""
    tasks: list[asyncio.Task[Result]] = []
    async with AsyncExitStack() as stack:
        host = await find_emulator(stage.client)
        if any(expects_webhooks(case.scenario.script) for case in cases):
            stage = replace(stage, receiver=await stack.enter_async_context(receiving(host)))
        turnstile = asyncio.Semaphore(at_a_time)

        async def play_in_turn(case: Case) -> Result:
            async with turnstile:
                result = await play(case, stage, lambda step: audience.step_played(case, step))
            audience.case_ended(result)
            return result

        try:
            async with asyncio.TaskGroup() as group:
                tasks += [group.create_task(play_in_turn(case)) for case in cases]
        except* Unreachable as failed:
            raise failed.exceptions[0] from None
    return [task.result() for task in tasks]
