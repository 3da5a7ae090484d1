"""An advance that is stopped by its limit of effects, and its continuation."""

import json
from collections.abc import Sequence
from copy import copy
from typing import Any

import pytest

from emulator.server.engine.accounts.clock_service import (
    Advanced,
    ClockService,
    Target,
)
from tests.server.engine.webhook_world import attempts_in, webhook_world
from tests.world import START_MS, World

LIMIT = 2
PAYMENTS = 5


def limited(emulator: World) -> ClockService:
    """The clock_service of a world, with a limit that is soon met."""
    clock_service = copy(emulator.app.engine.clock_service)
    clock_service._max_effects = LIMIT
    return clock_service


async def advanced_often(emulator: World, until: int) -> list[Advanced]:
    """Advances to one instant, as many as it takes."""
    clock_service, account = limited(emulator), emulator.app.engine.accounts.first
    found = [await clock_service.advance(account, Target(until=until))]
    while not found[-1].is_settled:
        found.append(await clock_service.advance(account, Target(until=until)))
    return found


def effects_of(found: Sequence[Advanced]) -> list[dict[str, Any]]:
    return [json.loads(effect) for advanced in found for effect in advanced.effects]


@pytest.mark.parametrize("at_one_instant", [True, False])
async def test_a_limited_advance_lists_every_effect_once(at_one_instant: bool) -> None:
    async with webhook_world() as hooks:
        created = [
            await hooks.emulator.create(expires_in=60 if at_one_instant else 60 + number)
            for number in range(PAYMENTS)
        ]
        await hooks.settle()
        found = await advanced_often(hooks.emulator, START_MS + 100_000)
        effects = effects_of(found)
        assert len(found) > 1
        expired = [effect["payment"] for effect in effects if effect["type"] == "payment.expired"]
        assert expired == [payment["id"] for payment in created]
        assert [effect["payment"] for effect in attempts_in(effects)] == expired
        assert found[-1].now == START_MS + 100_000


async def test_an_attempt_between_two_advances_is_an_effect_of_the_second() -> None:
    async with webhook_world() as hooks:
        for _ in range(PAYMENTS):
            await hooks.create(expires_in=60)
        account = hooks.emulator.app.engine.accounts.first
        target = Target(until=START_MS + 60_000)
        stopped = await limited(hooks.emulator).advance(account, target)
        assert not stopped.is_settled
        await hooks.receiver.wait_for(2 * PAYMENTS)
        went_on = await hooks.emulator.app.engine.clock_service.advance(account, target)
        assert went_on.is_settled
        assert len(attempts_in(effects_of([stopped, went_on]))) == PAYMENTS


async def test_the_last_chunk_may_exceed_the_limit(emulator: World) -> None:
    for _ in range(PAYMENTS):
        await emulator.create(expires_in=60)
    found = await advanced_often(emulator, START_MS + 60_000)
    assert [len(advanced.effects) for advanced in found] == [PAYMENTS]
    assert found[-1].now == START_MS + 60_000
