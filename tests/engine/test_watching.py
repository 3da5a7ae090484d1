"""Waiting for a checkout to show something else: what wakes a page that is open, and what not."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from emulator.domain.errors import InvalidField, NotReady, UnknownCheckout
from emulator.domain.instants import ClockSpec, parse_clock
from emulator.domain.payment import Status
from emulator.engine.accounts.clock_service import Target
from emulator.engine.payments.checkouts import Checkout
from emulator.engine.payments.customer import PhoneAnswer
from emulator.settings import Settings
from tests.engine.observing import ObservedWall, breathe, observed
from tests.engine.visiting import COMPLETES, Visitor, visitor
from tests.world import LIVE_KEY, OTHER_TEST_KEY, START, START_MS, TEST_KEY, World

TIMEOUT_MS = 25_000
UNTIL = START_MS + TIMEOUT_MS

Observed = tuple[World, ObservedWall]


@pytest.fixture
async def frozen() -> AsyncIterator[Observed]:
    async with observed(Settings(clock=parse_clock(f"frozen@{START}"), seed=1)) as both:
        yield both


@pytest.fixture
async def flowing() -> AsyncIterator[Observed]:
    async with observed(Settings(clock=ClockSpec(), seed=1)) as both:
        yield both


async def watching(shopper: Visitor, wall: ObservedWall) -> asyncio.Task[Checkout]:
    """A page that has shown the present, and waits for something else."""
    seen = await shopper.moment()
    task = asyncio.create_task(
        shopper.checkouts.changed(shopper.token, seen, timeout_ms=TIMEOUT_MS)
    )
    await wall.waited_until(wall.now_ms() + TIMEOUT_MS)
    return task


async def woken(task: asyncio.Task[Checkout]) -> Checkout:
    async with asyncio.timeout(60):
        return await task


def looked_again(wall: ObservedWall) -> bool:
    """Whether somebody who waited for the time-out has begun to wait once more."""
    begun = [wall.waits.get_nowait() for _ in range(wall.waits.qsize())]
    return UNTIL in begun


async def test_what_is_not_what_the_page_has_seen_is_told_at_once(frozen: Observed) -> None:
    emulator, _ = frozen
    shopper = await visitor(emulator)
    stale = await shopper.moment()
    await shopper.pay()
    for seen in (stale, "", "nonsense"):
        checkout = await shopper.checkouts.changed(shopper.token, seen, timeout_ms=TIMEOUT_MS)
        assert checkout == await shopper.open()


async def set_clock(shopper: Visitor) -> None:
    clock_service = shopper.world.running.engine.clock_service
    await clock_service.set(shopper.owner.account, now=START_MS + 1, frozen=None)


async def freeze_ahead(shopper: Visitor) -> None:
    clock_service = shopper.world.running.engine.clock_service
    await clock_service.set(shopper.owner.account, now=START_MS + 1, frozen=True)


Deed = Callable[[Visitor], Awaitable[object]]
WAKING: dict[str, Deed] = {
    "a submit": Visitor.pay,
    "a submit that pays at once": lambda shopper: shopper.pay(COMPLETES),
    "a change by hand": lambda shopper: shopper.change(Status.PROCESSING),
    "an advance that changes the payment": lambda shopper: shopper.advance(1_800_000),
    "an advance that changes no payment": lambda shopper: shopper.advance(1),
    "a clock that is set": set_clock,
    "a clock that is set and frozen": freeze_ahead,
}


@pytest.mark.parametrize("deed", WAKING.values(), ids=WAKING)
@pytest.mark.parametrize("key", [TEST_KEY, LIVE_KEY])
async def test_a_page_is_woken_by(frozen: Observed, key: str, deed: Deed) -> None:
    emulator, wall = frozen
    shopper = await visitor(emulator, key)
    page = await watching(shopper, wall)
    await deed(shopper)
    assert await woken(page) == await shopper.open()


@pytest.mark.parametrize("deed", WAKING.values(), ids=WAKING)
async def test_where_time_flows_a_page_is_woken_by(flowing: Observed, deed: Deed) -> None:
    emulator, wall = flowing
    shopper = await visitor(emulator)
    page = await watching(shopper, wall)
    await deed(shopper)
    assert await woken(page) == await shopper.open()


@pytest.mark.parametrize("answer", [PhoneAnswer.APPROVE, PhoneAnswer.WRONG_PIN])
async def test_a_page_is_woken_by_what_is_answered_on_the_phone(
    frozen: Observed, answer: PhoneAnswer
) -> None:
    emulator, wall = frozen
    shopper = await visitor(emulator)
    await shopper.pay()
    page = await watching(shopper, wall)
    await shopper.answer(answer)
    checkout = await woken(page)
    assert (checkout.payment.status is Status.COMPLETED) == (answer is PhoneAnswer.APPROVE)


async def test_a_page_is_woken_when_time_is_frozen_and_when_it_flows_again(
    flowing: Observed,
) -> None:
    emulator, wall = flowing
    shopper = await visitor(emulator)
    for frozen in (True, False):
        page = await watching(shopper, wall)
        await shopper.freeze(frozen)
        assert (await woken(page)).is_flowing is not frozen


async def test_a_page_is_woken_by_the_scheduler(flowing: Observed) -> None:
    emulator, wall = flowing
    shopper = await visitor(emulator, expires_in=10)
    await wall.waited_until(START_MS + 10_000)
    page = await watching(shopper, wall)
    wall.move(10_000)
    assert (await woken(page)).payment.status is Status.EXPIRED


async def test_a_page_of_each_mode_is_woken_by_the_accounts_clock(frozen: Observed) -> None:
    """Design 3 and 6: both modes of an account have one clock."""
    emulator, wall = frozen
    shoppers = [await visitor(emulator, key) for key in (TEST_KEY, LIVE_KEY)]
    pages = [await watching(shopper, wall) for shopper in shoppers]
    await shoppers[0].advance(1)
    for page in pages:
        assert (await woken(page)).now == START_MS + 1


async def test_each_page_of_a_payment_is_woken(frozen: Observed) -> None:
    emulator, wall = frozen
    shopper = await visitor(emulator)
    pages = [await watching(shopper, wall) for _ in range(5)]
    await shopper.pay()
    for page in pages:
        assert (await woken(page)).payment.status is Status.PROCESSING


async def test_a_page_is_left_alone_by_what_does_not_concern_it(frozen: Observed) -> None:
    emulator, wall = frozen
    shopper = await visitor(emulator)
    neighbour = await visitor(emulator, LIVE_KEY)
    stranger = await visitor(emulator, OTHER_TEST_KEY)
    page = await watching(shopper, wall)
    await neighbour.pay(COMPLETES)
    await stranger.advance(1)
    await stranger.advance(1_800_000)
    await stranger.freeze(False)
    await breathe(emulator)
    assert not looked_again(wall)
    await shopper.pay()
    await woken(page)


async def test_a_page_that_is_woken_for_nothing_waits_on(frozen: Observed) -> None:
    """Whatever is removed wholesale wakes everybody."""
    emulator, wall = frozen
    shopper = await visitor(emulator)
    stranger = await visitor(emulator, OTHER_TEST_KEY)
    page = await watching(shopper, wall)
    await emulator.running.engine.accounts.reset(stranger.owner.account)
    await wall.waited_until(UNTIL)
    await breathe(emulator)
    assert not looked_again(wall)
    wall.move(TIMEOUT_MS)
    assert (await woken(page)).payment.status is Status.PENDING


async def test_the_wait_for_a_status_is_left_alone_by_the_clock(frozen: Observed) -> None:
    """The control API's: a status depends on no clock but through its payment."""
    emulator, wall = frozen
    shopper = await visitor(emulator)
    history = emulator.running.engine.history
    waiting = asyncio.create_task(
        history.wait(shopper.owner, shopper.payment_id, Status.COMPLETED, timeout_ms=TIMEOUT_MS)
    )
    await wall.waited_until(UNTIL)
    await shopper.advance(1)
    await breathe(emulator)
    assert not looked_again(wall)
    await shopper.pay(COMPLETES)
    async with asyncio.timeout(60):
        assert (await waiting)[0]


async def test_after_its_time_a_page_is_told_how_things_are_then(flowing: Observed) -> None:
    emulator, wall = flowing
    shopper = await visitor(emulator)
    page = await watching(shopper, wall)
    wall.move(TIMEOUT_MS - 1)
    await breathe(emulator)
    assert not page.done()
    wall.move(1)
    checkout = await woken(page)
    assert (checkout.now, checkout.payment.status) == (UNTIL, Status.PENDING)
    assert checkout == await shopper.open()


async def test_a_page_that_does_not_want_to_wait_is_told_at_once(frozen: Observed) -> None:
    emulator, _ = frozen
    shopper = await visitor(emulator)
    seen = await shopper.moment()
    checkout = await shopper.checkouts.changed(shopper.token, seen, timeout_ms=0)
    assert checkout.moment == seen


async def test_nobody_waits_for_an_unknown_checkout(frozen: Observed) -> None:
    emulator, _ = frozen
    with pytest.raises(UnknownCheckout):
        await emulator.running.engine.checkouts.changed("nothing", "", timeout_ms=TIMEOUT_MS)


async def test_a_page_is_told_when_its_payment_is_reset_away(frozen: Observed) -> None:
    emulator, wall = frozen
    shopper = await visitor(emulator)
    page = await watching(shopper, wall)
    await emulator.running.engine.accounts.reset(shopper.owner.account)
    with pytest.raises(UnknownCheckout):
        await woken(page)


async def test_a_page_is_told_when_its_account_is_deleted(frozen: Observed) -> None:
    emulator, wall = frozen
    shopper = await visitor(emulator, OTHER_TEST_KEY)
    page = await watching(shopper, wall)
    await emulator.running.engine.accounts.delete("acct_other")
    with pytest.raises(UnknownCheckout):
        await woken(page)


async def test_a_page_is_told_when_the_program_stops(frozen: Observed) -> None:
    """A held request must not keep the program from ending."""
    emulator, wall = frozen
    shopper = await visitor(emulator)
    page = await watching(shopper, wall)
    emulator.running.engine.change_notifier.close()
    with pytest.raises(NotReady):
        await woken(page)
    seen = await shopper.moment()
    with pytest.raises(NotReady):
        await shopper.checkouts.changed(shopper.token, seen, timeout_ms=TIMEOUT_MS)


async def test_a_page_that_is_left_is_forgotten(frozen: Observed) -> None:
    emulator, wall = frozen
    shopper = await visitor(emulator)
    page, other = await watching(shopper, wall), await watching(shopper, wall)
    page.cancel()
    await asyncio.gather(page, return_exceptions=True)
    await shopper.advance(1)
    assert (await woken(other)).now == START_MS + 1
    assert emulator.running.engine.change_notifier._waiting == {}


async def test_a_page_is_woken_when_an_advance_breaks_off_and_time_flows_again(
    flowing: Observed,
) -> None:
    """Design 6: the clock stands during an advance, however that ends."""
    emulator, wall = flowing
    shopper = await visitor(emulator)
    clock = shopper.owner.account.clock
    clock.stand_at(START_MS + 5)  # as the chunk before the one that fails has left it
    page = await watching(shopper, wall)
    with pytest.raises(InvalidField):
        await emulator.running.engine.clock_service.advance(
            shopper.owner.account, Target(until=START_MS)
        )
    checkout = await woken(page)
    assert (checkout.is_flowing, checkout.now) == (True, START_MS + 5)
