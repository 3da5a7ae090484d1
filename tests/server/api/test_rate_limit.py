"""The rate limit: 429 with `Retry-After`, off by default (contract, section 8)."""

import pytest

from emulator.domain.accounts import RateLimit
from emulator.domain.instants import parse_clock
from emulator.settings import Settings
from tests.server.api.calls import PAYMENTS, get, ids, post, refusal
from tests.world import LIVE_KEY, OTHER_TEST_KEY, TEST_KEY, World, order, world

TOO_MANY = (429, "rate_limit_exceeded", None)
THREE_A_SECOND = RateLimit(requests=3, period_ms=1000)


async def statuses(emulator: World, count: int, key: str = TEST_KEY) -> list[int]:
    return [(await get(emulator, PAYMENTS, key)).status_code for _ in range(count)]


@pytest.mark.clause("8.8")
async def test_there_is_no_rate_limit_by_default(emulator: World) -> None:
    assert set(await statuses(emulator, 200)) == {200}


@pytest.mark.clause("8.7")
async def test_the_limit_is_exact_on_a_frozen_clock() -> None:
    async with world(rate_limit=THREE_A_SECOND) as emulator:
        assert await statuses(emulator, 5) == [200, 200, 200, 429, 429]
        await emulator.advance(0.333)
        assert await statuses(emulator, 1) == [429]
        await emulator.advance(0.001)
        assert await statuses(emulator, 2) == [200, 429]
        await emulator.advance(0.666)
        assert await statuses(emulator, 3) == [200, 200, 429]
        await emulator.advance(3600)
        assert await statuses(emulator, 4) == [200, 200, 200, 429]


@pytest.mark.clause("7.11", "7.14")
async def test_retry_after_is_rounded_up_to_whole_seconds() -> None:
    async with world(rate_limit=RateLimit(requests=1, period_ms=60_000)) as emulator:
        await statuses(emulator, 1)
        for passed_s, seconds in ((0.5, "60"), (0.5, "59"), (58, "1"), (0.999, "1")):
            await emulator.advance(passed_s)
            response = await get(emulator, PAYMENTS)
            assert response.headers["retry-after"] == seconds
            assert "frozen" in response.json()["error"]["message"]
        await emulator.advance(0.001)
        assert await statuses(emulator, 1) == [200]


@pytest.mark.clause("7.11", "7.14")
@pytest.mark.parametrize(
    ("rate", "seconds"), [("x0.001", 60_000), ("x0.5", 120), ("x7", 9), ("x60", 1), ("x100000", 1)]
)
async def test_retry_after_counts_real_seconds_on_a_clock_of_another_rate(
    rate: str, seconds: int
) -> None:
    settings = Settings(
        seed=1, rate_limit=RateLimit(requests=1, period_ms=60_000), clock=parse_clock(rate)
    )
    async with world(settings) as emulator:
        await statuses(emulator, 1)
        assert (await get(emulator, PAYMENTS)).headers["retry-after"] == str(seconds)
        emulator.wall.move(seconds * 1000)
        assert await statuses(emulator, 1) == [200]


async def test_the_limit_refills_on_a_running_clock() -> None:
    async with world(Settings(seed=1, rate_limit=THREE_A_SECOND)) as emulator:
        assert await statuses(emulator, 4) == [200, 200, 200, 429]
        response = await get(emulator, PAYMENTS)
        assert "frozen" not in response.json()["error"]["message"]
        emulator.wall.move(334)
        assert await statuses(emulator, 2) == [200, 429]


@pytest.mark.clause("8.8")
async def test_each_account_and_mode_has_a_bucket_of_its_own() -> None:
    async with world(rate_limit=THREE_A_SECOND, auto_provision=True) as emulator:
        for key in (TEST_KEY, LIVE_KEY, OTHER_TEST_KEY, "live_other_key", "test_new_merchant"):
            assert await statuses(emulator, 4, key) == [200, 200, 200, 429]


async def test_every_request_counts_even_if_it_is_refused() -> None:
    async with world(rate_limit=THREE_A_SECOND) as emulator:
        assert (await get(emulator, "/v1/nothing")).status_code == 404
        assert (await post(emulator, b"{")).status_code == 400
        assert (await get(emulator, f"{PAYMENTS}/pay_unknown")).status_code == 404
        for response in (
            await get(emulator, "/v1/nothing"),
            await post(emulator, order()),
            await post(emulator, b"{", **{"Content-Type": "text/plain"}),
            await get(emulator, f"{PAYMENTS}?limit=0"),
        ):
            assert refusal(response) == TOO_MANY
        await emulator.advance(1)
        assert await ids(emulator) == []


async def test_calls_of_the_control_api_do_not_count() -> None:
    async with world(rate_limit=RateLimit(requests=1, period_ms=1000)) as emulator:
        for _ in range(5):
            assert (await emulator.control("GET", "/clock")).status_code == 200
        assert await statuses(emulator, 2) == [200, 429]


async def test_a_reset_fills_the_bucket() -> None:
    async with world(rate_limit=THREE_A_SECOND) as emulator:
        await statuses(emulator, 4)
        assert (await emulator.control("POST", "/reset")).status_code == 204
        assert await statuses(emulator, 4) == [200, 200, 200, 429]
