"""Updates of an open checkout page: the changes that wake it, and those that do not."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from emulator.domain.errors import InvalidField, NotReady, UnknownCheckout
from emulator.domain.instants import REAL_RATE, ClockSpec
from emulator.domain.payment import Status
from emulator.server.engine.accounts.clock_service import Target
from emulator.server.engine.payments.checkouts import Checkout
from emulator.server.engine.payments.customer import PhoneAnswer
from emulator.settings import Settings
from tests.server.engine.observed_world import ObservedWall, observed, run_pending
from tests.server.engine.visitors import COMPLETES, TIMES_OUT, Visitor, visitor
from tests.world import FROZEN, LIVE_KEY, OTHER_TEST_KEY, START_MS, TEST_KEY, World

TIMEOUT_MS = 25_000
UNTIL = START_MS + TIMEOUT_MS
FLOWING = Settings(clock=ClockSpec(), seed=1)

# With a customer at the checkout of the first account.
Observed = tuple[World, ObservedWall, Visitor]


@pytest.fixture
async def frozen() -> AsyncIterator[Observed]:
    async with observed(FROZEN) as (emulator, wall):
        yield emulator, wall, await visitor(emulator)


@pytest.fixture
async def flowing() -> AsyncIterator[Observed]:
    async with observed(FLOWING) as (emulator, wall):
        yield emulator, wall, await visitor(emulator)


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
    """Whether a task that waited for the timeout has begun to wait again."""
    begun = [wall.waits.get_nowait() for _ in range(wall.waits.qsize())]
    return UNTIL in begun


async def test_an_outdated_page_is_updated_at_once(frozen: Observed) -> None:
    _, _, shopper = frozen
    stale = await shopper.moment()
    await shopper.pay()
    for seen in (stale, "", "nonsense"):
        checkout = await shopper.checkouts.changed(shopper.token, seen, timeout_ms=TIMEOUT_MS)
        assert checkout == await shopper.open()


async def set_clock(shopper: Visitor) -> None:
    await shopper.set_clock(START_MS + 1, frozen=None)


async def set_and_freeze_clock(shopper: Visitor) -> None:
    await shopper.set_clock(START_MS + 1, frozen=True)


Action = Callable[[Visitor], Awaitable[object]]
ACTIONS: dict[str, Action] = {
    "a phone is submitted": Visitor.pay,
    "a bank is submitted": Visitor.pay_by_bank,
    "a submit completes the payment": lambda shopper: shopper.pay(COMPLETES),
    "a submit schedules a timeout": lambda shopper: shopper.pay(TIMES_OUT),
    "the status is changed": lambda shopper: shopper.change(Status.PROCESSING),
    "an advance changes the payment": lambda shopper: shopper.advance(1_800_000),
    "an advance changes no payment": lambda shopper: shopper.advance(1),
    "an advance reaches what is next": lambda shopper: shopper.advance(None),
    "the clock is set": set_clock,
    "the clock is set and frozen": set_and_freeze_clock,
}


@pytest.mark.parametrize("action", ACTIONS.values(), ids=ACTIONS)
@pytest.mark.parametrize(
    ("settings", "key"), [(FROZEN, TEST_KEY), (FROZEN, LIVE_KEY), (FLOWING, TEST_KEY)]
)
async def test_a_page_is_woken_when(settings: Settings, key: str, action: Action) -> None:
    async with observed(settings) as (emulator, wall):
        shopper = await visitor(emulator, key)
        page = await watching(shopper, wall)
        await action(shopper)
        assert await woken(page) == await shopper.open()


@pytest.mark.parametrize("answer", [PhoneAnswer.APPROVE, PhoneAnswer.WRONG_PIN])
async def test_a_page_is_woken_by_an_answer_on_the_phone(
    frozen: Observed, answer: PhoneAnswer
) -> None:
    _, wall, shopper = frozen
    await shopper.pay()
    page = await watching(shopper, wall)
    await shopper.answer(answer)
    checkout = await woken(page)
    assert (checkout.payment.status is Status.COMPLETED) == (answer is PhoneAnswer.APPROVE)


async def test_a_page_is_woken_when_time_is_frozen_and_when_it_flows_again(
    flowing: Observed,
) -> None:
    _, wall, shopper = flowing
    for frozen in (True, False):
        page = await watching(shopper, wall)
        await shopper.freeze(frozen)
        assert (await woken(page)).rate_thousandths == (0 if frozen else REAL_RATE)


async def test_a_page_is_woken_by_the_scheduler(flowing: Observed) -> None:
    emulator, wall, _ = flowing
    shopper = await visitor(emulator, expires_in=10)
    await wall.waited_until(START_MS + 10_000)
    page = await watching(shopper, wall)
    wall.move(10_000)
    assert (await woken(page)).payment.status is Status.EXPIRED


async def test_a_page_of_each_mode_is_woken_by_the_accounts_clock(frozen: Observed) -> None:
    """Design 3 and 6: both modes of an account have one clock."""
    emulator, wall, _ = frozen
    shoppers = [await visitor(emulator, key) for key in (TEST_KEY, LIVE_KEY)]
    pages = [await watching(shopper, wall) for shopper in shoppers]
    await shoppers[0].advance(1)
    for page in pages:
        assert (await woken(page)).now == START_MS + 1


async def test_each_page_of_a_payment_is_woken(frozen: Observed) -> None:
    _, wall, shopper = frozen
    pages = [await watching(shopper, wall) for _ in range(5)]
    await shopper.pay()
    for page in pages:
        assert (await woken(page)).payment.status is Status.PROCESSING


async def test_a_page_is_not_woken_by_other_payments_and_accounts(frozen: Observed) -> None:
    emulator, wall, shopper = frozen
    neighbour = await visitor(emulator, LIVE_KEY)
    stranger = await visitor(emulator, OTHER_TEST_KEY)
    page = await watching(shopper, wall)
    await neighbour.pay(COMPLETES)
    await stranger.advance(1)
    await stranger.advance(1_800_000)
    await stranger.freeze(False)
    await run_pending(emulator)
    assert not looked_again(wall)
    await shopper.pay()
    await woken(page)


async def test_a_page_that_is_woken_without_a_change_continues_to_wait(frozen: Observed) -> None:
    """Whatever is removed wholesale wakes everybody."""
    emulator, wall, shopper = frozen
    stranger = await visitor(emulator, OTHER_TEST_KEY)
    page = await watching(shopper, wall)
    await emulator.app.engine.accounts.reset(stranger.owner.account)
    await wall.waited_until(UNTIL)
    await run_pending(emulator)
    assert not looked_again(wall)
    wall.move(TIMEOUT_MS)
    assert (await woken(page)).payment.status is Status.PENDING


async def test_the_wait_for_a_status_is_not_woken_by_the_clock(frozen: Observed) -> None:
    """The control API's: a status depends on no clock but through its payment."""
    emulator, wall, shopper = frozen
    history = emulator.app.engine.history
    waiting = asyncio.create_task(
        history.wait(shopper.owner, shopper.payment_id, Status.COMPLETED, timeout_ms=TIMEOUT_MS)
    )
    await wall.waited_until(UNTIL)
    await shopper.advance(1)
    await run_pending(emulator)
    assert not looked_again(wall)
    await shopper.pay(COMPLETES)
    async with asyncio.timeout(60):
        assert (await waiting)[0]


async def test_a_page_is_updated_after_the_timeout(flowing: Observed) -> None:
    emulator, wall, shopper = flowing
    page = await watching(shopper, wall)
    wall.move(TIMEOUT_MS - 1)
    await run_pending(emulator)
    assert not page.done()
    wall.move(1)
    checkout = await woken(page)
    assert (checkout.now, checkout.payment.status) == (UNTIL, Status.PENDING)
    assert checkout == await shopper.open()


async def test_a_page_with_a_timeout_of_zero_does_not_wait(frozen: Observed) -> None:
    _, _, shopper = frozen
    seen = await shopper.moment()
    checkout = await shopper.checkouts.changed(shopper.token, seen, timeout_ms=0)
    assert checkout.moment == seen


@pytest.mark.parametrize("is_deleted", [False, True])
async def test_a_page_is_woken_when_its_account_is_reset_or_deleted(
    frozen: Observed, is_deleted: bool
) -> None:
    emulator, wall, _ = frozen
    shopper = await visitor(emulator, OTHER_TEST_KEY)
    page = await watching(shopper, wall)
    accounts = emulator.app.engine.accounts
    if is_deleted:
        await accounts.delete("acct_other")
    else:
        await accounts.reset(shopper.owner.account)
    with pytest.raises(UnknownCheckout):
        await woken(page)


async def test_a_page_is_woken_when_the_program_stops(frozen: Observed) -> None:
    """A held request must not keep the program from ending."""
    emulator, wall, shopper = frozen
    page = await watching(shopper, wall)
    emulator.app.engine.change_notifier.close()
    with pytest.raises(NotReady):
        await woken(page)
    seen = await shopper.moment()
    with pytest.raises(NotReady):
        await shopper.checkouts.changed(shopper.token, seen, timeout_ms=TIMEOUT_MS)


async def test_a_page_that_is_closed_is_removed(frozen: Observed) -> None:
    emulator, wall, shopper = frozen
    page, other = await watching(shopper, wall), await watching(shopper, wall)
    page.cancel()
    await asyncio.gather(page, return_exceptions=True)
    await shopper.advance(1)
    assert (await woken(other)).now == START_MS + 1
    assert emulator.app.engine.change_notifier._waiting == {}


async def test_a_page_is_woken_when_an_advance_fails_and_time_flows_again(
    flowing: Observed,
) -> None:
    """Design 6: the clock stands during an advance, however that ends."""
    emulator, wall, shopper = flowing
    clock = shopper.owner.account.clock
    clock.stand_at(START_MS + 5)  # as the chunk before the one that fails has left it
    page = await watching(shopper, wall)
    with pytest.raises(InvalidField):
        await emulator.app.engine.clock_service.advance(
            shopper.owner.account, Target(until=START_MS)
        )
    checkout = await woken(page)
    assert (checkout.rate_thousandths, checkout.now) == (REAL_RATE, START_MS + 5)
