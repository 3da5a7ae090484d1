"""A private emulator to play scripts in, as `replay` makes one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from textwrap import dedent

from emulator.app.server import private_emulator
from emulator.clock import RealClock
from emulator.replay.case_runner import play
from emulator.replay.client import Address, Client
from emulator.replay.receiver import receiving
from emulator.replay.results import Case, PlayedStep, Result
from emulator.replay.run_context import RunContext
from emulator.scenarios.loader import parse_scenario
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
    """A case of a script and of what else is in its file, both YAML."""
    head = f"version: 1\nname: {name}\n"
    text = f"{head}{dedent(rules).strip()}\nscript:\n{dedent(script).strip()}\n"
    source = f"{name}.yaml"
    return Case(source=source, path=Path(source), text=text, scenario=parse_scenario(text, source))


class Plays:
    """Plays scripts, each in an account of its own."""

    def __init__(self, stage: RunContext) -> None:
        self.stage = stage
        self._count = count(1)

    async def play(self, script: str, rules: str = "", **changes: object) -> Result:
        """Play a script; `changes` are those of the stage."""
        told: list[PlayedStep] = []
        stage = replace(self.stage, **changes)  # type: ignore[arg-type]
        result = await play(
            case(script, rules, name=f"case-{next(self._count)}"), stage, told.append
        )
        assert tuple(told) == result.steps
        return result

    async def passes(self, script: str, rules: str = "") -> Result:
        result = await self.play(script, rules)
        assert result.failure is None, result.failure
        return result

    async def fails(self, script: str, rules: str = "") -> str:
        """Why it fails, in a line."""
        result = await self.play(script, rules)
        assert result.failure is not None, [step.outcome for step in result.steps]
        return result.failure.message

    async def seen(self, script: str, rules: str = "") -> dict[str, list[str]]:
        """What a script that expects something else has seen, by what it looked at."""
        result = await self.play(script, rules)
        assert result.failure is not None, "all was as expected"
        return {
            mismatch.subject: [row.seen for row in mismatch.rows]
            for mismatch in result.failure.mismatches
        }


@asynccontextmanager
async def playing() -> AsyncIterator[Plays]:
    async with (
        private_emulator(resolve(FLAGS, {})) as base_url,
        receiving("127.0.0.1") as receiver,
    ):
        yield Plays(
            RunContext(
                client=Client(Address.of(base_url)),
                is_private=True,
                clock=CLOCK,
                seed=0,
                wall=RealClock(),
                receiver=receiver,
            )
        )
