"""`/c/{token}/status`, which an open page polls."""

import asyncio
from typing import Any, TypeVar

from emulator.server.checkout.pages import WATCH_MS
from tests.server.api.raw_requests import RawRequest, send_raw
from tests.server.checkout.visiting import Customer, customer
from tests.world import CHECKOUT_PORT, World

HANGS_AFTER_S = 200
T = TypeVar("T")


async def seen(visitor: Customer, moment: str = "") -> dict[str, Any]:
    response = await visitor.world.pages.get(f"{visitor.path}/status", params={"seen": moment})
    assert response.status_code == 200, response.text
    assert response.headers["cache-control"] == "no-store"
    return dict(response.json())


async def is_held(emulator: World, watching: "asyncio.Task[T]") -> bool:
    """Whether a request waits for a change, and so has no response."""
    waited = asyncio.create_task(emulator.wall.waited_for())
    async with asyncio.timeout(HANGS_AFTER_S):
        await asyncio.wait({watching, waited}, return_when=asyncio.FIRST_COMPLETED)
    waited.cancel()
    return not watching.done()


async def within_a_while(watching: "asyncio.Task[T]") -> T:
    """The response; a missing wake-up fails instead of hanging."""
    async with asyncio.timeout(HANGS_AFTER_S):
        return await watching


async def test_a_page_has_the_moment_and_the_address_of_its_status(emulator: World) -> None:
    visitor = await customer(emulator)
    for leaf in ("", "?method=telebirr"):
        page = await visitor.open(leaf)
        main = page.all("main")[0].attributes
        status = await seen(visitor)
        assert (main["data-moment"], main["data-status"]) == (status["moment"], status["status"])
        address = page.response.url.join(main["data-watch"])
        assert address.path == f"{visitor.path}/status"
        assert page.response.url.join(main["data-here"]) == page.response.url


async def test_the_status_has_the_time_left_to_answer(emulator: World) -> None:
    visitor = await customer(emulator)
    assert (await seen(visitor))["left_ms"] is None
    await visitor.pay("telebirr", phone="0911223344")
    await visitor.advance(12_345)
    status = await seen(visitor)
    assert (status["status"], status["left_ms"], status["rate"]) == ("processing", 17_655, 0)


async def test_a_change_and_an_advance_without_one_end_a_held_request_at_once(
    emulator: World,
) -> None:
    visitor = await customer(emulator)

    async def hold() -> asyncio.Task[dict[str, Any]]:
        before = await seen(visitor)
        watching = asyncio.create_task(seen(visitor, before["moment"]))
        assert await is_held(emulator, watching)
        return watching

    watching = await hold()
    await visitor.pay("telebirr", phone="0911223344")
    assert (await within_a_while(watching))["status"] == "processing"
    watching = await hold()
    await visitor.advance(10_000)
    assert (await within_a_while(watching))["left_ms"] == 20_000


async def test_beyond_three_held_requests_of_a_machine_a_page_polls(emulator: World) -> None:
    visitor = await customer(emulator)
    moment = (await seen(visitor))["moment"]
    held = []
    for _ in range(3):
        held.append(asyncio.create_task(seen(visitor, moment)))
        assert await is_held(emulator, held[-1])
    status = await seen(visitor, moment)
    assert (status["moment"], status["again_ms"]) == (moment, 150)
    await visitor.pay("telebirr", phone="0900000001")
    answers = [await within_a_while(watching) for watching in held]
    assert {(answer["status"], answer["again_ms"]) for answer in answers} == {("completed", 0)}
    # A further request can be held again.
    moment = (await seen(visitor))["moment"]
    watching = asyncio.create_task(seen(visitor, moment))
    assert await is_held(emulator, watching)
    watching.cancel()


async def test_a_status_without_a_change_is_returned_after_ten_seconds_of_real_time(
    emulator: World,
) -> None:
    visitor = await customer(emulator)
    before = await seen(visitor)
    watching = asyncio.create_task(seen(visitor, before["moment"]))
    assert await is_held(emulator, watching)
    emulator.wall.move(WATCH_MS - 1)
    assert (await emulator.control("GET", "/clock")).status_code == 200
    assert not watching.done()
    emulator.wall.move(1)
    assert await within_a_while(watching) == before


async def test_a_disconnected_page_is_held_no_longer(emulator: World) -> None:
    visitor = await customer(emulator)
    moment = (await seen(visitor))["moment"]
    hang_up = asyncio.Event()
    request = RawRequest(
        path=f"{visitor.path}/status",
        query=f"seen={moment}".encode(),
        headers=[(b"host", b"localhost")],
        port=CHECKOUT_PORT,
        hang_up=hang_up,
    )
    held = []
    for _ in range(3):
        held.append(asyncio.create_task(send_raw(emulator, request)))
        assert await is_held(emulator, held[-1])
    assert (await seen(visitor, moment))["again_ms"] == 150
    hang_up.set()
    assert [(await within_a_while(watching)).status for watching in held] == [0] * 3
    after = asyncio.create_task(seen(visitor, moment))
    assert await is_held(emulator, after)
    after.cancel()


async def test_a_reset_and_a_stop_end_a_held_request(emulator: World) -> None:
    for status, code in ((404, "payment_not_found"), (503, "not_ready")):
        visitor = await customer(emulator)
        seen_before = {"seen": (await seen(visitor))["moment"]}
        path = f"{visitor.path}/status"
        watching = asyncio.create_task(emulator.pages.get(path, params=seen_before))
        assert await is_held(emulator, watching)
        if code == "not_ready":
            emulator.app.engine.change_notifier.close()
        else:
            assert (await emulator.control("POST", "/reset")).status_code == 204
        response = await within_a_while(watching)
        assert (response.status_code, response.json()["error"]["code"]) == (status, code)


async def test_the_status_has_only_values_that_the_page_shows(emulator: World) -> None:
    visitor = await customer(emulator, metadata={"order": "confidential"})
    response = await emulator.pages.get(f"{visitor.path}/status")
    times = {"left_ms", "open_ms", "now_ms", "rate"}
    assert set(response.json()) == {"status", "moment", "again_ms", *times}
    assert visitor.payment_id.removeprefix("pay_") not in response.text
    assert "confidential" not in response.text
