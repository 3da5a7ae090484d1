"""The real clock, which can be set, and the monotonic time, which cannot."""

import asyncio
import itertools

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


def test_business_time_follows_the_wall_clock() -> None:
    machine = Machine()
    clock = flowing(machine)
    assert clock.now() == NOON
    machine.pass_time(1_234)
    assert clock.now() == NOON + 1_234


def test_a_backward_step_of_the_wall_clock_does_not_stop_the_flow() -> None:
    machine = Machine()
    clock = flowing(machine)
    assert clock.now() == NOON
    machine.step(-HOUR)
    assert clock.now() == NOON
    machine.pass_time(60_000)
    assert clock.now() == NOON + 60_000


def test_time_that_passed_before_a_backward_step_is_counted_at_the_next_read() -> None:
    machine = Machine()
    clock = flowing(machine)
    clock.now()
    machine.pass_time(2_000)
    machine.step(-HOUR)
    machine.pass_time(3_000)
    assert clock.now() == NOON + 5_000


def test_a_forward_step_of_the_wall_clock_is_followed() -> None:
    machine = Machine()
    clock = flowing(machine)
    clock.now()
    machine.step(HOUR)
    assert clock.now() == NOON + HOUR
    machine.pass_time(1_000)
    assert clock.now() == NOON + HOUR + 1_000


def test_a_temporary_step_back_of_the_clock_has_no_effect() -> None:
    machine = Machine()
    clock = flowing(machine)
    clock.now()
    for _ in range(3):
        machine.step(-HOUR)
        machine.pass_time(1_000)
        clock.now()
        machine.step(HOUR)
        machine.pass_time(1_000)
    assert clock.now() == machine.wall_ms


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
