"""Plays scripts in a private emulator, as `replay` does."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from textwrap import dedent

from emulator.clock import RealClock
from emulator.http.addresses import BaseUrl
from emulator.http.client import EmulatorClient
from emulator.http.received_webhooks import WebhookReceiver
from emulator.scenarios.loader import parse_scenario
from emulator.scenarios.runner.case_runner import RunContext, play
from emulator.scenarios.runner.results import Case, CaseResult, PlayedStep
from emulator.server.app.server import private_emulator
from emulator.settings import resolve

CLOCK = "frozen@2026-01-01T00:00:00Z"
FLAGS = {
    "port": 0,
    "checkout-port": 0,
    "checkout-url": "http://127.0.0.1:8081",
    "seed": 0,
    "clock": CLOCK,
}


def case(script: str, rules: str = "", *, name: str = "mine") -> Case:
    """A case with a script and the other sections of its file, both in YAML."""
    head = f"version: 1\nname: {name}\n"
    text = f"{head}{dedent(rules).strip()}\nscript:\n{dedent(script).strip()}\n"
    source = f"{name}.yaml"
    return Case(source=source, path=Path(source), text=text, scenario=parse_scenario(text, source))


class Player:
    """Plays scripts, each in its own account."""

    def __init__(self, context: RunContext) -> None:
        self.context = context
        self._count = count(1)

    async def play(self, script: str, rules: str = "", **changes: object) -> CaseResult:
        """Play a script in the context with some changes."""
        reported: list[PlayedStep] = []
        context = replace(self.context, **changes)  # type: ignore[arg-type]
        result = await play(
            case(script, rules, name=f"case-{next(self._count)}"), context, reported.append
        )
        assert tuple(reported) == result.steps
        return result

    async def passes(self, script: str, rules: str = "") -> CaseResult:
        result = await self.play(script, rules)
        assert result.failure is None, result.failure
        return result

    async def failure(self, script: str, rules: str = "") -> str:
        """The message of the failure."""
        result = await self.play(script, rules)
        assert result.failure is not None, [step.outcome for step in result.steps]
        return result.failure.message

    async def mismatches(self, script: str, rules: str = "") -> dict[str, list[str]]:
        """The actual values of the failed checks, by their keys."""
        result = await self.play(script, rules)
        assert result.failure is not None, "everything is as expected"
        return {
            mismatch.subject: [line[1:] for line in mismatch.diff if line[0] in " +"]
            for mismatch in result.failure.mismatches
        }


@asynccontextmanager
async def new_player() -> AsyncIterator[Player]:
    async with (
        private_emulator(resolve(FLAGS, {})) as base_url,
        EmulatorClient(BaseUrl.parse(base_url)) as client,
        WebhookReceiver() as receiver,
    ):
        await receiver.listen("127.0.0.1")
        yield Player(
            RunContext(
                client=client,
                is_private=True,
                wall=RealClock(),
                receiver=receiver,
            )
        )
