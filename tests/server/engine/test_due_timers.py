"""Due timers are fired before any read, so that all reads agree (design 5)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from emulator.domain.instants import parse_clock
from tests.server.engine.observed_world import observed
from tests.world import LIVE_KEY, OTHER_TEST_KEY, World, headers, world

DUE = [
    pytest.param(1800, None, "pending", "expired", id="expiry"),
    pytest.param(30, "0900000003", "processing", "failed", id="scripted outcome"),
    pytest.param(30, "0911111111", "processing", "failed", id="missing answer"),
]


async def views(emulator: World, payment_id: str, statuses: tuple[str, str]) -> dict[str, Any]:
    """The status of a payment as every way of reading shows it."""
    listed = (await emulator.api.get("/v1/payments", headers=headers())).json()["data"]
    found = {
        status: (
            await emulator.api.get("/v1/payments", params={"status": status}, headers=headers())
        ).json()["data"]
        for status in statuses
    }
    detail = await emulator.shown(f"/payments/{payment_id}")
    events = (await emulator.shown("/events"))["data"]
    return {
        "list": listed[0]["status"],
        "filters": "".join(status for status in statuses if found[status]),
        "retrieve": (await emulator.retrieve(payment_id))["status"],
        "detail": detail["payment"]["status"],
        "timeline": detail["timeline"][-1]["status"],
        "event": events[0]["data"]["status"],
    }


@pytest.mark.parametrize(("after_s", "phone", "before", "after"), DUE)
async def test_every_view_changes_at_the_same_millisecond(
    emulator: World, after_s: int, phone: str | None, before: str, after: str
) -> None:
    """Design 5: a poll, a list filter and a page can never disagree."""
    payment = await emulator.create()
    payment_id = payment["id"]
    if phone is not None:
        await emulator.pay(payment, phone)
    await emulator.advance(after_s - 0.001)
    assert set((await views(emulator, payment_id, (before, after))).values()) == {before}
    await emulator.advance(0.001)
    assert set((await views(emulator, payment_id, (before, after))).values()) == {after}


PAY = {"method": "telebirr", "phone": "0900000001"}
# A first request about a payment that should have expired, and a part of its response.
FIRST_REQUESTS = [
    ("GET", "/v1/payments/{}", None, lambda body: body["status"], "expired"),
    ("GET", "/v1/payments", None, lambda body: body["data"][0]["status"], "expired"),
    ("GET", "/v1/payments?status=expired", None, lambda body: len(body["data"]), 1),
    ("GET", "/_emulator/payments/{}", None, lambda body: body["payment"]["status"], "expired"),
    ("GET", "/_emulator/payments/{}", None, lambda body: body["next"], None),
    ("GET", "/_emulator/events", None, lambda body: body["data"][0]["type"], "payment.expired"),
    ("GET", "/_emulator/clock", None, lambda body: body["next"], None),
    (
        *("POST", "/_emulator/payments/{}/pay", PAY),
        *(lambda body: body["error"]["code"], "payment_not_payable"),
    ),
]


@pytest.mark.parametrize(("method", "path", "body", "part", "expected"), FIRST_REQUESTS)
async def test_the_first_request_fires_due_timers(
    method: str, path: str, body: Any, part: Callable[[Any], object], expected: object
) -> None:
    """Design 5: settled before any read, even where the scheduler had no time yet."""
    async with observed() as (emulator, wall):
        payment_id = (await emulator.create())["id"]
        wall.move(1_800_000)
        response = await emulator.api.request(
            method, path.format(payment_id), json=body, headers=headers()
        )
        assert part(response.json()) == expected


async def test_a_create_call_fires_due_timers_first() -> None:
    async with observed() as (emulator, wall):
        await emulator.create()
        wall.move(1_800_000)
        await emulator.create()
        events = (await emulator.shown("/events"))["data"]
        types = [event["type"] for event in events]
        assert types == ["payment.created", "payment.expired", "payment.created"]


async def test_timers_of_one_instant_fire_in_order_of_creation(emulator: World) -> None:
    """Design 6: in order of due time and then of creation."""
    created = [(await emulator.create(expires_in=60))["id"] for _ in range(20)]
    effects = (await emulator.advance(60))["effects"]
    assert [effect["payment"] for effect in effects] == created
    events = (await emulator.shown("/events"))["data"]
    assert [event["data"]["id"] for event in events[:20]] == created[::-1]


async def test_more_timers_than_a_chunk_fire_completely(emulator: World) -> None:
    """Design 5: however much is due at once."""
    for _ in range(1_001):
        await emulator.create(expires_in=60)
    await emulator.control("PUT", "/clock", {"now": "2026-01-01T00:01:00Z"})
    pending = await emulator.api.get(
        "/v1/payments", params={"status": "pending"}, headers=headers()
    )
    assert pending.json()["data"] == []
    expired = await emulator.api.get(
        "/v1/payments", params={"status": "expired", "limit": 100}, headers=headers()
    )
    assert len(expired.json()["data"]) == 100


async def test_an_advance_affects_both_modes_and_no_other_account(emulator: World) -> None:
    """Design 3 and 6: an account has one clock; others have their own."""
    payments = {key: (await emulator.create(key))["id"] for key in ("test_demo_key", LIVE_KEY)}
    other = (await emulator.create(OTHER_TEST_KEY))["id"]
    await emulator.advance(1800)
    for key, payment_id in payments.items():
        assert (await emulator.retrieve(payment_id, key))["status"] == "expired"
    assert (await emulator.retrieve(other, OTHER_TEST_KEY))["status"] == "pending"


@pytest.mark.parametrize(("expires_in", "waits_s"), [(1800, 1790), (60, 50), (20, 30), (40, 30)])
async def test_a_bank_waits_until_the_checkout_expires_or_for_thirty_seconds(
    emulator: World, expires_in: int, waits_s: int
) -> None:
    """Design 7: a bank: at `expires_at`, or 30 s after the submit if that is later."""
    payment_id = (await emulator.create(expires_in=expires_in))["id"]
    await emulator.advance(10)
    paying = {"method": "bank_transfer", "bank": "walia_test"}
    await emulator.control("POST", f"/payments/{payment_id}/pay", paying)
    await emulator.advance(waits_s - 0.001)
    assert (await emulator.retrieve(payment_id))["status"] == "processing"
    await emulator.advance(0.001)
    detail = await emulator.shown(f"/payments/{payment_id}")
    assert (detail["payment"]["status"], detail["reason"]) == ("failed", "timeout")


async def test_a_payment_never_cancels_the_expiry_of_another(emulator: World) -> None:
    """Design 6: a timer belongs to what it was set for, whatever was set there before."""
    first = (await emulator.create())["id"]
    path = f"/payments/{first}/transition"
    await emulator.control("POST", path, {"status": "processing"})
    assert (await emulator.control("POST", path, {"status": "expired"})).status_code == 409
    second = (await emulator.create())["id"]
    assert (await emulator.shown(f"/payments/{first}"))["scheduled"] == []
    await emulator.control("POST", path, {"status": "completed"})
    await emulator.advance(1800)
    assert (await emulator.retrieve(second))["status"] == "expired"


async def test_a_clock_does_not_go_back_when_the_machine_is_set_back_between_two_runs(
    tmp_path: Path,
) -> None:
    database = str(tmp_path / "state.sqlite")
    async with world(database=database, clock=parse_clock("real")) as emulator:
        emulator.wall.move(3_600_000)
        payment = await emulator.create()
    async with world(database=database, clock=parse_clock("real")) as again:
        clock = await again.shown("/clock")
        assert clock["now"] == payment["created_at"]
        assert clock["frozen"] is False
        later = await again.create()
        listed = (await again.api.get("/v1/payments", headers=headers())).json()["data"]
    assert [one["id"] for one in listed] == [later["id"], payment["id"]]
