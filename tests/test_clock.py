"""The real clock, which can be set, and the monotonic time, which cannot."""

import asyncio
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.clock import RECHECK_MS, AccountClock, RealClock

NOON = 1_767_268_800_000
HOUR = 3_600_000
DAY = 24 * HOUR


class Machine:
    """The clocks of a machine, in milliseconds: each is set by hand."""

    def __init__(self) -> None:
        self.wall_ms = NOON
        self.monotonic_ms = 5_000
        self.wall = RealClock(
            wall_ns=lambda: self.wall_ms * 1_000_000,
            monotonic_ns=lambda: self.monotonic_ms * 1_000_000,
        )

    def pass_time(self, ms: int) -> None:
        self.wall_ms += ms
        self.monotonic_ms += ms

    def step(self, ms: int) -> None:
        """What a user, NTP (either way) or sleep (forward) does to the wall clock."""
        self.wall_ms += ms


def flowing(machine: Machine) -> AccountClock:
    return AccountClock(machine.wall, frozen_at=None)


# Turns: the time that passes, then a step of the wall clock, again time, and the account's time.
TURNS = {
    "it follows the wall clock": [(1_234, 0, 0, 1_234)],
    "a backward step does not stop it": [(0, -HOUR, 0, 0), (60_000, 0, 0, 60_000)],
    "time before a backward step is counted": [(2_000, -HOUR, 3_000, 5_000)],
    "it follows a forward step": [(0, HOUR, 0, HOUR), (1_000, 0, 0, HOUR + 1_000)],
    "a temporary step back has no effect": [
        (0, HOUR if turn % 2 else -HOUR, 1_000, 1_000 * (turn + 1)) for turn in range(6)
    ],
}


@pytest.mark.parametrize("turns", TURNS.values(), ids=TURNS)
def test_the_time_of_an_account_flows(turns: list[tuple[int, int, int, int]]) -> None:
    machine = Machine()
    clock = flowing(machine)
    assert clock.now() == NOON
    for before, step, after, expected in turns:
        machine.pass_time(before)
        machine.step(step)
        machine.pass_time(after)
        assert clock.now() == NOON + expected


def test_the_real_clock_shows_the_system_time() -> None:
    machine = Machine()
    machine.wall.now_ms()
    machine.step(-HOUR)
    assert machine.wall.system_ms() == NOON - HOUR
    assert machine.wall.now_ms() == NOON


@given(steps=st.lists(st.tuples(st.integers(0, DAY), st.integers(-DAY, DAY))))
def test_business_time_never_goes_back_and_is_never_slower_than_monotonic_time(
    steps: list[tuple[int, int]],
) -> None:
    machine = Machine()
    clock = flowing(machine)
    seen = [clock.now()]
    for passed, step in steps:
        machine.pass_time(passed)
        machine.step(step)
        seen.append(clock.now())
    slowest = itertools.accumulate((passed for passed, _ in steps), initial=NOON)
    assert all(now >= least for now, least in zip(seen, slowest, strict=True))
    for (before, after), (passed, _) in zip(itertools.pairwise(seen), steps, strict=True):
        assert after - before >= passed
    assert seen[-1] >= machine.wall_ms


async def test_a_wait_ends_with_the_time_that_flows_though_the_wall_clock_was_set_back() -> None:
    machine = Machine()
    until = machine.wall.now_ms() + 10
    machine.step(-HOUR)
    machine.pass_time(10)
    async with asyncio.timeout(60):
        await machine.wall.wait(asyncio.Event(), until=until)


async def test_a_wait_follows_a_forward_step() -> None:
    machine = Machine()
    until = machine.wall.now_ms() + DAY
    wait = asyncio.create_task(machine.wall.wait(asyncio.Event(), until=until))
    await asyncio.wait([wait], timeout=0)
    machine.step(DAY)
    async with asyncio.timeout(RECHECK_MS / 1000 + 60):
        await wait


async def test_a_wait_ends_when_its_event_is_set() -> None:
    machine = Machine()
    event = asyncio.Event()
    for until in (None, machine.wall.now_ms() + DAY):
        wait = asyncio.create_task(machine.wall.wait(event, until=until))
        await asyncio.wait([wait], timeout=0)
        event.set()
        async with asyncio.timeout(60):
            await wait
        event.clear()
