"""The events of an account and mode."""

from tests.world import LIVE_KEY, World


async def test_events_are_the_bodies_as_sent_newest_first(emulator: World) -> None:
    payment = await emulator.create()
    paid = await emulator.pay(payment, "0900000001")
    events = (await emulator.shown("/events"))["data"]
    types = ["payment.completed", "payment.processing", "payment.created"]
    assert [event["type"] for event in events] == types
    assert events[0]["data"] == paid
    assert events[2] == {
        "id": events[2]["id"],
        "object": "event",
        "type": "payment.created",
        "timestamp": "2026-01-01T00:00:00.000Z",
        "mode": "test",
        "data": payment,
    }
    timeline = (await emulator.shown(f"/payments/{payment['id']}"))["timeline"]
    assert [event["id"] for event in timeline] == [event["id"] for event in reversed(events)]


async def test_events_are_a_hundred_unless_another_limit_is_named(emulator: World) -> None:
    ids = [(await emulator.create())["id"] for _ in range(101)]
    pages = {"": ids[:0:-1], "?limit=1": ids[:-2:-1], "?limit=1000": ids[::-1]}
    for query, expected in pages.items():
        events = (await emulator.shown(f"/events{query}"))["data"]
        assert [event["data"]["id"] for event in events] == expected


async def test_each_mode_has_its_own_events(emulator: World) -> None:
    await emulator.create(LIVE_KEY)
    assert (await emulator.shown("/events"))["data"] == []
    (event,) = (await emulator.shown("/events", key=LIVE_KEY))["data"]
    assert event["mode"] == "live"
