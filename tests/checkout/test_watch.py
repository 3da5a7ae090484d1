"""`/c/{token}/status`: what an open page watches."""

import asyncio
from typing import Any

from tests.checkout.visiting import Customer, customer
from tests.world import World, world


async def seen(visitor: Customer, moment: str = "") -> dict[str, Any]:
    response = await visitor.world.pages.get(f"{visitor.path}/status", params={"seen": moment})
    assert response.status_code == 200, response.text
    assert response.headers["cache-control"] == "no-store"
    return dict(response.json())


async def test_a_page_has_seen_what_the_status_tells(emulator: World) -> None:
    visitor = await customer(emulator)
    for leaf in ("", "?method=telebirr"):
        page = await visitor.open(leaf)
        main = page.all("main")[0].attributes
        told = await seen(visitor)
        assert (main["data-moment"], main["data-status"]) == (told["moment"], told["status"])
        address = page.response.url.join(main["data-watch"])
        assert address.path == f"{visitor.path}/status"
        assert page.response.url.join(main["data-here"]) == page.response.url


async def test_the_status_tells_how_long_the_phone_asks(emulator: World) -> None:
    visitor = await customer(emulator)
    assert (await seen(visitor))["left_ms"] is None
    await visitor.pay("telebirr", phone="0911223344")
    await visitor.advance(12_345)
    told = await seen(visitor)
    assert (told["status"], told["left_ms"], told["is_flowing"]) == ("processing", 17_655, False)


async def test_a_change_answers_at_once(emulator: World) -> None:
    visitor = await customer(emulator)
    before = await seen(visitor)
    watching = asyncio.create_task(seen(visitor, before["moment"]))
    await visitor.pay("telebirr", phone="0900000001")
    assert (await watching)["status"] in ("processing", "completed")


async def test_an_advance_that_changes_no_status_answers_too(emulator: World) -> None:
    visitor = await customer(emulator)
    await visitor.pay("telebirr", phone="0911223344")
    before = await seen(visitor)
    watching = asyncio.create_task(seen(visitor, before["moment"]))
    await visitor.advance(10_000)
    assert (await watching)["left_ms"] == 20_000


async def test_nothing_new_is_told_after_ten_seconds_of_real_time(emulator: World) -> None:
    visitor = await customer(emulator)
    before = await seen(visitor)
    watching = asyncio.create_task(seen(visitor, before["moment"]))
    while not watching.done():
        emulator.wall.move(1_000)
        await asyncio.wait({watching}, timeout=0)
    assert await watching == before
    assert emulator.wall.now_ms() >= 10_000


async def test_a_payment_that_is_gone_is_404(emulator: World) -> None:
    visitor = await customer(emulator)
    before = await seen(visitor)
    path = f"{visitor.path}/status"
    watching = asyncio.create_task(emulator.pages.get(path, params={"seen": before["moment"]}))
    await asyncio.wait({watching}, timeout=0)
    assert (await emulator.control("POST", "/reset")).status_code == 204
    assert (await watching).status_code == 404


async def test_a_stop_does_not_wait_for_those_who_watch() -> None:
    async with world() as emulator:
        visitor = await customer(emulator)
        before = await seen(visitor)
        path = f"{visitor.path}/status"
        watching = asyncio.create_task(emulator.pages.get(path, params={"seen": before["moment"]}))
        await asyncio.wait({watching}, timeout=0)
        emulator.running.engine.announcements.close()
        assert (await watching).status_code == 503


async def test_the_status_tells_nothing_that_the_page_does_not(emulator: World) -> None:
    visitor = await customer(emulator, metadata={"order": "confidential"})
    response = await emulator.pages.get(f"{visitor.path}/status")
    assert set(response.json()) == {"status", "moment", "left_ms", "is_flowing"}
    assert visitor.payment_id.removeprefix("pay_") not in response.text
    assert "confidential" not in response.text
