"""Plays several cases at the same time."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Protocol

from emulator.http import emulator_calls as calls
from emulator.http.client import EmulatorClient
from emulator.http.emulator_calls import PaymentsEmulatorError
from emulator.http.received_webhooks import WebhookReceiver
from emulator.scenarios.runner.case_runner import RunContext, expects_webhooks, play
from emulator.scenarios.runner.results import Case, CaseResult, PlayedStep


class RunListener(Protocol):
    """Receives the progress of a run; the steps of concurrent cases alternate."""

    def step_played(self, case: Case, step: PlayedStep) -> None:
        """A step was played, with or without a failure."""

    def case_ended(self, result: CaseResult) -> None:
        """A case has ended."""


async def play_all(
    cases: Sequence[Case], context: RunContext, listener: RunListener, *, max_concurrent: int
) -> list[CaseResult]:
    """Play cases; the results have the order of the cases. Raises PaymentsEmulatorError."""
    tasks: list[asyncio.Task[CaseResult]] = []
    async with AsyncExitStack() as stack:
        url = context.client.base_url
        async with EmulatorClient(url, timeout_s=calls.MAX_IDENTIFICATION_S) as checked:
            await checked.call(calls.HEALTH)
        if any(expects_webhooks(case.scenario.script) for case in cases):
            receiver = await stack.enter_async_context(WebhookReceiver())
            await receiver.listen(checked.http.local_address[0])
            context = replace(context, receiver=receiver)
        semaphore = asyncio.Semaphore(max_concurrent)

        async def play_in_turn(case: Case) -> CaseResult:
            async with semaphore:
                result = await play(case, context, lambda step: listener.step_played(case, step))
            listener.case_ended(result)
            return result

        try:
            async with asyncio.TaskGroup() as group:
                tasks += [group.create_task(play_in_turn(case)) for case in cases]
        except* PaymentsEmulatorError as group_error:
            raise group_error.exceptions[0] from None
    return [task.result() for task in tasks]
