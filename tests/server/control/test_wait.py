"""Waiting for a status of a payment, in real time that the test advances."""

import asyncio

import httpx
import pytest

from emulator.domain.transitions import TIMED_OUT
from tests.server.control import refusal
from tests.world import World

PAID = {"method": "telebirr", "phone": "0900000001"}


async def wait(emulator: World, payment_id: str, query: str) -> httpx.Response:
    return await emulator.control("GET", f"/payments/{payment_id}/wait?{query}")


async def under_way(emulator: World, payment_id: str, query: str) -> asyncio.Task[httpx.Response]:
    """A wait that has begun and is not over."""
    task = asyncio.create_task(wait(emulator, payment_id, query))
    await emulator.wall.waited_for()
    assert not task.done()
    return task


async def test_a_status_that_the_payment_has_is_reached_at_once(emulator: World) -> None:
    payment = await emulator.create()
    response = await wait(emulator, payment["id"], "status=pending")
    assert response.json() == {"reached": True, "payment": payment}


async def test_a_status_that_is_past_counts_as_reached(emulator: World) -> None:
    payment = await emulator.create()
    await emulator.control("POST", f"/payments/{payment['id']}/pay", PAID)
    reached = (await wait(emulator, payment["id"], "status=processing")).json()
    assert (reached["reached"], reached["payment"]["status"]) == (True, "completed")


async def test_a_wait_ends_as_soon_as_the_status_is_reached(emulator: World) -> None:
    payment = await emulator.create()
    waiting = await under_way(emulator, payment["id"], "status=completed&timeout=300")
    paid = await emulator.done("POST", f"/payments/{payment['id']}/pay", PAID)
    assert (await waiting).json() == {"reached": True, "payment": paid}


async def test_a_wait_goes_on_over_other_changes(emulator: World) -> None:
    payment = await emulator.create()
    waiting = await under_way(emulator, payment["id"], "status=refunded")
    for status in ("processing", "completed"):
        await emulator.transition(payment, status)
        assert not waiting.done()
    await emulator.transition(payment, "refunded")
    assert (await waiting).json()["reached"] is True


@pytest.mark.parametrize("is_frozen", [True, False])
async def test_a_wait_ends_when_an_advance_or_a_flowing_clock_makes_it_so(
    emulator: World, is_frozen: bool
) -> None:
    await emulator.control("PUT", "/clock", {"frozen": is_frozen})
    payment = await emulator.create(expires_in=10)
    waiting = await under_way(emulator, payment["id"], "status=expired")
    emulator.wall.move(10_000)
    if is_frozen:
        assert not waiting.done()
        await emulator.advance(10)
    reached = (await waiting).json()
    assert (reached["reached"], reached["payment"]["status"]) == (True, "expired")


@pytest.mark.parametrize(
    ("query", "timeout_ms"), [("", 30_000), ("&timeout=0.25", 250), ("&timeout=300", 300_000)]
)
async def test_a_wait_ends_when_its_time_is_over(
    emulator: World, query: str, timeout_ms: int
) -> None:
    payment = await emulator.create()
    waiting = await under_way(emulator, payment["id"], f"status=completed{query}")
    emulator.wall.move(timeout_ms - 1)
    await emulator.control("GET", "/clock")
    assert not waiting.done()
    emulator.wall.move(1)
    assert (await waiting).json() == {"reached": False, "payment": payment}


@pytest.mark.parametrize("seconds", ["0", "0.0009", "000"])
async def test_a_wait_of_no_time_only_looks(emulator: World, seconds: str) -> None:
    payment = await emulator.create()
    response = await wait(emulator, payment["id"], f"status=completed&timeout={seconds}")
    assert response.json() == {"reached": False, "payment": payment}


async def test_a_wait_for_expired_notes_that_the_payment_failed_by_a_timeout(
    emulator: World,
) -> None:
    payment = await emulator.create()
    await emulator.transition(payment, "processing")
    await emulator.transition(payment, "failed", reason="timeout")
    waited = (await wait(emulator, payment["id"], "status=expired&timeout=0")).json()
    assert (waited["reached"], waited["note"]) == (False, TIMED_OUT)


@pytest.mark.parametrize(
    ("statuses", "awaited"),
    [
        (["processing", "failed"], "completed"),
        (["processing", "completed"], "expired"),
        (["expired"], "refunded"),
    ],
)
async def test_a_wait_notes_that_its_status_can_no_longer_be_reached(
    emulator: World, statuses: list[str], awaited: str
) -> None:
    payment = await emulator.create()
    for status in statuses:
        await emulator.transition(payment, status)
    waited = (await wait(emulator, payment["id"], f"status={awaited}&timeout=0")).json()
    note = f"a payment that is {statuses[-1]} becomes {awaited} only with 'unusual': true"
    assert (waited["reached"], waited["note"]) == (False, note)


@pytest.mark.parametrize("awaited", ["pending", "expired", "refunded"])
async def test_a_wait_notes_nothing_while_its_status_can_be_reached(
    emulator: World, awaited: str
) -> None:
    payment = await emulator.create()
    await emulator.transition(payment, "processing")
    waited = (await wait(emulator, payment["id"], f"status={awaited}&timeout=0")).json()
    assert "note" not in waited


async def test_a_wait_ends_when_its_account_is_reset(emulator: World) -> None:
    payment = await emulator.create()
    waiting = await under_way(emulator, payment["id"], "status=completed")
    await emulator.control("POST", "/reset")
    assert refusal(await waiting) == (404, "payment_not_found", None)
