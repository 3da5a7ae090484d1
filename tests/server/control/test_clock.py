"""An account's clock: read, frozen, let flow, set forward; and advanced, with what falls due."""

import asyncio
from typing import Any

import pytest

from emulator.domain.instants import ClockSpec
from tests.server.control import refusal
from tests.world import LIVE_KEY, START, World, world

NOW = "2026-01-01T00:00:00.000Z"
TIMES_OUT = "+251900000003"


async def clock(emulator: World) -> dict[str, Any]:
    return dict(await emulator.shown("/clock"))


async def put(emulator: World, **body: Any) -> dict[str, Any]:
    return dict(await emulator.done("PUT", "/clock", body))


async def advance(emulator: World, **body: Any) -> dict[str, Any]:
    response = await emulator.control("POST", "/clock/advance", body)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/json"
    return dict(response.json())


def standing(now: str) -> dict[str, Any]:
    """A frozen clock without due changes."""
    return {"now": now, "frozen": True, "rate": None, "next": None}


async def test_a_clock_shows_the_next_due_change(emulator: World) -> None:
    assert await clock(emulator) == standing(NOW)
    later = await emulator.create(expires_in=120)
    sooner = await emulator.create(LIVE_KEY, expires_in=60)
    assert (await clock(emulator))["next"] == {
        "at": "2026-01-01T00:01:00.000Z",
        "kind": "expiry",
        "payment": sooner["id"],
    }
    await emulator.pay(later, TIMES_OUT)
    assert (await clock(emulator))["next"] == {
        "at": "2026-01-01T00:00:30.000Z",
        "kind": "outcome",
        "payment": later["id"],
    }


async def test_a_clock_is_set_forward_and_fires_what_is_due(emulator: World) -> None:
    payment = await emulator.create(expires_in=60)
    assert await put(emulator, now="2026-01-01T03:01:00+03:00") == standing(
        "2026-01-01T00:01:00.000Z"
    )
    assert (await emulator.retrieve(payment["id"]))["status"] == "expired"


async def test_setting_nothing_changes_nothing(emulator: World) -> None:
    assert await put(emulator) == await clock(emulator)


async def test_a_clock_is_let_flow_and_frozen(emulator: World) -> None:
    assert (await put(emulator, frozen=False))["frozen"] is False
    emulator.wall.move(1500)
    assert (await clock(emulator))["now"] == "2026-01-01T00:00:01.500Z"
    assert (await put(emulator, frozen=True))["frozen"] is True
    emulator.wall.move(1500)
    assert (await clock(emulator))["now"] == "2026-01-01T00:00:01.500Z"
    assert await put(emulator, frozen=True) == await clock(emulator)


async def test_a_clock_is_set_and_let_flow_in_one_call(emulator: World) -> None:
    reading = await put(emulator, now="2026-01-01T01:00:00Z", frozen=False)
    assert reading == {"now": "2026-01-01T01:00:00.000Z", "frozen": False, "rate": 1, "next": None}
    emulator.wall.move(250)
    assert (await clock(emulator))["now"] == "2026-01-01T01:00:00.250Z"


async def test_a_flowing_clock_that_is_set_and_frozen_stands_exactly_there() -> None:
    async with world(clock=ClockSpec()) as emulator:
        # Real time passes while the call is on its way: a little at each look at the wall.
        look = emulator.wall.now_ms

        def now_ms() -> int:
            emulator.wall.move(1)
            return look()

        emulator.wall.now_ms = now_ms  # type: ignore[method-assign]
        assert (await put(emulator, now="2026-01-02T00:00:00Z", frozen=True)) == standing(
            "2026-01-02T00:00:00.000Z"
        )


async def test_an_advance_of_a_flowing_clock_goes_on_flowing() -> None:
    async with world(clock=ClockSpec()) as emulator:
        payment = await emulator.create(expires_in=60)
        advanced = await advance(emulator, seconds=60)
        assert advanced["now"] == "2026-01-01T00:01:00.000Z"
        assert [effect["payment"] for effect in advanced["effects"]] == [payment["id"]]
        emulator.wall.move(5)
        reading = await clock(emulator)
        assert (reading["now"], reading["frozen"]) == ("2026-01-01T00:01:00.005Z", False)


async def test_a_clock_is_never_set_back(emulator: World) -> None:
    await emulator.advance(1)
    for call, path, body in (
        ("PUT", "/clock", {"now": START, "frozen": False}),
        ("POST", "/clock/advance", {"until": "2026-01-01T00:00:00.999Z"}),
    ):
        response = await emulator.control(call, path, body)
        assert refusal(response)[:2] == (400, "invalid_clock")
        assert "2026-01-01T00:00:01.000Z" in response.json()["error"]["message"]
    assert await clock(emulator) == standing("2026-01-01T00:00:01.000Z")


async def test_an_advance_with_nothing_due_has_no_effects(emulator: World) -> None:
    assert await advance(emulator, seconds=1.005) == {
        "now": "2026-01-01T00:00:01.005Z",
        "effects": [],
        "settled": True,
    }


@pytest.mark.parametrize(
    ("content", "now"),
    [
        (b"0.001", "2026-01-01T00:00:00.001Z"),
        (b"0.0010", "2026-01-01T00:00:00.001Z"),
        (b"1e-3", "2026-01-01T00:00:00.001Z"),
        (b"1.5E1", "2026-01-01T00:00:15.000Z"),
        (b"-0", NOW),
        (b"-0.0", NOW),
        (b"0e999999999", NOW),
        # In binary arithmetic 1.001 * 1000 is less than 1001.
        (b"1.001", "2026-01-01T00:00:01.001Z"),
        (b"86400.000000000000000000000000000000000000000000000", "2026-01-02T00:00:00.000Z"),
        (b"251288006399.999", "9988-12-31T23:59:59.999Z"),
    ],
)
async def test_seconds_are_exact(emulator: World, content: bytes, now: str) -> None:
    response = await emulator.api.post(
        "/_emulator/clock/advance",
        content=b'{"seconds": ' + content + b"}",
        headers={"Content-Type": "application/json"},
    )
    assert response.json()["now"] == now


async def test_the_third_test_number_times_out_after_exactly_thirty_seconds(
    emulator: World,
) -> None:
    payment = await emulator.create()
    await emulator.pay(payment, TIMES_OUT)
    assert (await advance(emulator, seconds=29.999))["effects"] == []
    assert (await emulator.retrieve(payment["id"]))["status"] == "processing"
    assert (await advance(emulator, until="2026-01-01T00:00:30Z"))["effects"] == [
        {
            "at": "2026-01-01T00:00:30.000Z",
            "type": "payment.failed",
            "payment": payment["id"],
            "kind": "outcome",
            "status": "failed",
            "reason": "timeout",
        }
    ]
    assert (await emulator.retrieve(payment["id"]))["status"] == "failed"


async def test_no_seconds_settle_what_is_due_now() -> None:
    async with world(clock=ClockSpec()) as emulator:
        await put(emulator, frozen=True)
        payment = await emulator.create(expires_in=60)
        assert (await advance(emulator, seconds=0))["effects"] == []
        await put(emulator, frozen=False)
        emulator.wall.move(60_000)
        # The scheduler, waked by the same move, may have been first.
        await advance(emulator, seconds=0)
        assert (await emulator.retrieve(payment["id"]))["status"] == "expired"


async def test_a_second_advance_waits_its_turn(emulator: World) -> None:
    for seconds in range(1, 11):
        await emulator.create(expires_in=seconds)
    answers = await asyncio.gather(*(advance(emulator, seconds=5) for _ in range(2)))
    assert [answer["now"] for answer in answers] == [
        "2026-01-01T00:00:05.000Z",
        "2026-01-01T00:00:10.000Z",
    ]
    assert [len(answer["effects"]) for answer in answers] == [5, 5]


async def test_a_payment_can_be_created_and_read_while_the_clock_advances(emulator: World) -> None:
    for _ in range(20):
        await emulator.create(expires_in=60)
    advanced, payment = await asyncio.gather(advance(emulator, seconds=60), emulator.create())
    assert len(advanced["effects"]) == 20
    assert (await emulator.retrieve(payment["id"]))["status"] == "pending"
