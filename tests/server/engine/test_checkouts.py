"""The content of a checkout page: the payment, its scheduled changes and its moment."""

import re
from pathlib import Path

import pytest

from emulator.domain.errors import UnknownCheckout
from emulator.domain.instants import ClockSpec
from emulator.domain.payment import Reason, Status
from emulator.domain.transitions import TimerKind
from emulator.server.engine.payments.customer import PhoneAnswer
from tests.server.engine.observed_world import observed
from tests.server.engine.scenario_world import SHOP_CASES, scenario_world
from tests.server.engine.visitors import COMPLETES, visitor
from tests.world import LIVE_KEY, OTHER_TEST_KEY, START_MS, World, world

HALF_AN_HOUR_MS = 1_800_000
WORD = re.compile(r"[A-Za-z0-9._-]{1,80}", re.ASCII)


async def test_a_checkout_shows_the_payment_and_its_merchant(emulator: World) -> None:
    shopper = await visitor(emulator, LIVE_KEY)
    checkout = await shopper.open()
    assert checkout.payment.id == shopper.payment_id
    assert (checkout.token, checkout.merchant) == (shopper.token, "Demo Merchant")
    assert (checkout.mode, checkout.now) == ("live", START_MS)


async def test_a_token_without_a_payment_is_refused(emulator: World) -> None:
    with pytest.raises(UnknownCheckout):
        await emulator.app.engine.checkouts.open("nothing")


async def test_the_token_of_a_deleted_account_is_refused(emulator: World) -> None:
    shopper = await visitor(emulator, OTHER_TEST_KEY)
    await emulator.app.engine.accounts.delete("acct_other")
    with pytest.raises(UnknownCheckout):
        await shopper.open()


async def test_opening_a_checkout_fires_due_timers() -> None:
    """Design 5: a payment whose time has come is settled before any read."""
    async with observed() as (emulator, wall):
        shopper = await visitor(emulator)
        wall.move(HALF_AN_HOUR_MS - 1)
        before = await shopper.open()
        wall.move(1)
        after = await shopper.open()
    assert (before.payment.status, before.now) == (Status.PENDING, START_MS + HALF_AN_HOUR_MS - 1)
    assert (after.payment.status, after.now) == (Status.EXPIRED, START_MS + HALF_AN_HOUR_MS)


async def test_due_timers_of_other_payments_do_not_change_a_checkout() -> None:
    async with observed() as (emulator, wall):
        for _ in range(3):
            await emulator.create(expires_in=60)
        shopper = await visitor(emulator)
        wall.move(60_000)
        assert (await shopper.open()).payment.status is Status.PENDING


LIVES: list[tuple[str, str | None, int, list[TimerKind]]] = [
    ("pending", None, 0, [TimerKind.EXPIRY]),
    ("awaits an answer", "asked", 0, [TimerKind.HANDSET_TIMEOUT]),
    ("scripted", "late", 0, [TimerKind.OUTCOME, TimerKind.OUTCOME]),
    ("failed, to be paid late", "late", 10_000, [TimerKind.OUTCOME]),
    ("paid late", "late", 60_000, []),
    ("stuck", "stuck", 0, []),
]


@pytest.mark.parametrize(
    ("case", "by_ms", "kinds"), [life[1:] for life in LIVES], ids=[life[0] for life in LIVES]
)
async def test_a_checkout_contains_the_scheduled_changes_in_order(
    tmp_path: Path, case: str | None, by_ms: int, kinds: list[TimerKind]
) -> None:
    """The control API, which uses another query, shows the same."""
    async with scenario_world(tmp_path, shop=SHOP_CASES) as emulator:
        await visitor(emulator)
        shopper = await visitor(emulator, metadata={"case": case or ""})
        if case is not None:
            await shopper.pay("0922222222")
        await shopper.advance(by_ms)
        checkout = await shopper.open()
        assert [timer.kind for timer in checkout.scheduled] == kinds
        history = emulator.app.engine.history
        detail = await history.detail(shopper.owner, shopper.payment_id)
        assert (checkout.payment, checkout.scheduled) == (detail.payment, detail.scheduled)


async def test_real_time_does_not_change_the_moment() -> None:
    async with world(clock=ClockSpec()) as emulator:
        shopper = await visitor(emulator)
        moment = await shopper.moment()
        emulator.wall.move(1_799_999)
        assert await shopper.moment() == moment
        await shopper.freeze()
        moment = await shopper.moment()
        emulator.wall.move(86_400_000)
        assert await shopper.moment() == moment


async def test_other_payments_do_not_change_the_moment(emulator: World) -> None:
    shopper = await visitor(emulator)
    moment = await shopper.moment()
    other, stranger = await visitor(emulator), await visitor(emulator, OTHER_TEST_KEY)
    await other.pay(COMPLETES)
    await stranger.advance(3_600_000)
    assert await shopper.moment() == moment


async def test_each_status_and_each_due_instant_of_a_payment_has_its_own_moment(
    emulator: World,
) -> None:
    """After a reset the same requests give the same addresses: the page may still be open."""
    moments = []
    for expires_in in (60, 90):
        await emulator.control("POST", "/reset")
        moments.append(await (await visitor(emulator, expires_in=expires_in)).moment())
    for reason in (Reason.WRONG_PIN, Reason.TIMEOUT):
        await emulator.control("POST", "/reset")
        shopper = await visitor(emulator)
        await shopper.pay()
        await shopper.change(Status.FAILED, reason)
        moments.append(await shopper.moment())
    await emulator.control("POST", "/reset")
    shopper = await visitor(emulator)
    moments.append(await shopper.moment())
    await shopper.pay()
    moments.append(await shopper.moment())
    await shopper.answer(PhoneAnswer.APPROVE)
    moments.append(await shopper.moment())
    await shopper.change(Status.REFUNDED)
    moments.append(await shopper.moment())
    assert len(set(moments)) == len(moments)


async def test_a_moment_fits_into_an_address_and_contains_no_secret(emulator: World) -> None:
    shopper = await visitor(emulator)
    checkouts = [await shopper.open()]
    await shopper.change(Status.PROCESSING)
    await shopper.change(Status.FAILED, Reason.INSUFFICIENT_BALANCE)
    await shopper.freeze(False)
    checkouts.append(await shopper.open())
    for checkout in checkouts:
        assert WORD.fullmatch(checkout.moment)
        for secret in (shopper.token, shopper.payment_id, checkout.form_token):
            assert secret not in checkout.moment


async def test_a_moment_is_the_same_after_a_restart(tmp_path: Path) -> None:
    """A page that is open during a restart is not updated."""
    database = str(tmp_path / "state.db")
    async with world(database=database) as emulator:
        shopper = await visitor(emulator)
        before = await shopper.moment()
    async with world(database=database) as emulator:
        assert (await emulator.app.engine.checkouts.open(shopper.token)).moment == before
