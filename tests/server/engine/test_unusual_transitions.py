"""With `unusual: true` every status can follow every other one (design 5)."""

from collections.abc import AsyncIterator
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from emulator.domain.payment import Status
from tests.server.engine.recording_player import check_replay
from tests.server.engine.scenario_world import scenario_world
from tests.world import World

PAIRS = [(str(before), str(after)) for before, after in permutations(Status, 2)]
PHONE = "0911223344"


def steps(before: str, after: str) -> list[str]:
    """The statuses of an outcome that ends with this change."""
    return [after] if before == "pending" else [before, after]


def rules() -> str:
    lines = ["outcomes:"]
    for before, after in PAIRS:
        then = ", ".join(f"{{status: {each}, unusual: true}}" for each in steps(before, after))
        lines.append(f"  - {{when: {{metadata: {{case: {before} {after}}}}}, then: [{then}]}}")
    return "\n".join(lines)


LATER = """
outcomes:
  - when: {metadata: {case: pending}}
    then:
      - {after: 1h, status: pending, unusual: true}
      - {after: 80m, status: completed, unusual: true}
  - when: {metadata: {case: expired first}}
    then:
      - {after: 1s, status: pending, unusual: true}
      - {after: 40m, status: processing}
      - {after: 41m, status: refunded, unusual: true}
"""


@pytest.fixture
async def emulator(tmp_path: Path) -> AsyncIterator[World]:
    async with scenario_world(tmp_path, mine=rules(), later=LATER) as emulator:
        yield emulator


async def types(emulator: World, payment: dict[str, Any]) -> list[str]:
    timeline = (await emulator.shown(f"/payments/{payment['id']}"))["timeline"]
    return [str(each["type"]).removeprefix("payment.") for each in timeline]


def shown(statuses: list[str]) -> list[str]:
    """The types of events of these statuses; a return to pending has none."""
    return ["None" if status == "pending" else status for status in statuses]


async def test_an_outcome_makes_every_change(emulator: World) -> None:
    for before, after in PAIRS:
        created = await emulator.create(metadata={"case": f"{before} {after}"})
        await emulator.pay(created, PHONE)
        paid = await emulator.retrieve(created["id"])
        assert (paid["status"], paid["method"]) == (after, "telebirr"), (before, after)
        changes = steps(before, after)
        assert await types(emulator, created) == ["created", *shown(changes)]
        assert (paid["completed_at"] is None) == ("completed" not in changes)


async def test_a_payment_that_is_pending_again_later_gets_a_new_expiry(emulator: World) -> None:
    """Of the same length; it can be paid, and a replay returns the first response."""
    first = await emulator.create(expires_in=600, idempotency_key="k")
    await emulator.transition(first, "completed", unusual=True)
    for instant in ("00:15:00", "00:30:00"):
        await emulator.advance(900)
        await emulator.transition(first, "pending", unusual=True)
        again = await emulator.retrieve(first["id"])
        hour, minute, second = instant.split(":")
        assert again["expires_at"] == f"2026-01-01T{hour}:{int(minute) + 10}:{second}.000Z"
        assert again["created_at"] == first["created_at"]
        if instant == "00:15:00":
            await emulator.transition(first, "refunded", unusual=True)
    assert await emulator.create(expires_in=600, idempotency_key="k") == first
    assert (await emulator.shown("/clock"))["next"]["at"] == again["expires_at"]
    await emulator.advance(599.999)
    assert (await emulator.retrieve(first["id"]))["status"] == "pending"
    await emulator.advance(0.001)
    assert (await emulator.retrieve(first["id"]))["status"] == "expired"
    causes = (await emulator.shown(f"/payments/{first['id']}"))["timeline"]
    assert causes[-1]["cause"]["by"] == "schedule"


async def test_a_payment_that_is_pending_again_in_time_keeps_its_expiry(emulator: World) -> None:
    first = await emulator.create(methods=["mpesa", "telebirr"])
    await emulator.transition(first, "failed", "pending", unusual=True)
    again = await emulator.retrieve(first["id"])
    assert again == {**first, "method": "mpesa"}
    paid = await emulator.pay(first, "0900000001")
    assert (paid["status"], paid["method"]) == ("completed", "telebirr")


async def test_the_steps_after_a_return_are_made_on_time(emulator: World) -> None:
    """Also where the payment expires between them."""
    payment = await emulator.create(metadata={"case": "pending"})
    await emulator.pay(payment, PHONE)
    effects = (await emulator.advance(5 * 3600))["effects"]
    assert [(each["at"][11:19], each["status"]) for each in effects] == [
        ("01:00:00", "pending"),
        ("01:20:00", "completed"),
    ]
    payment = await emulator.create(metadata={"case": "expired first"})
    await emulator.pay(payment, PHONE)
    effects = (await emulator.advance(5 * 3600))["effects"]
    assert [(each["at"][11:19], each["status"]) for each in effects] == [
        ("05:00:01", "pending"),
        ("05:30:00", "expired"),
        ("05:41:00", "refunded"),
    ]
    timeline = (await emulator.shown(f"/payments/{payment['id']}"))["timeline"]
    by = [each["cause"]["by"] for each in timeline]
    assert by == ["request", "control", "scenario", "schedule", "scenario"]


async def test_a_return_sends_no_webhook(emulator: World) -> None:
    await emulator.done("POST", "/webhook_endpoints", {"url": "http://127.0.0.1:9/"})
    payment = await emulator.create()
    await emulator.transition(payment, "completed", "pending", unusual=True)
    sent = (await emulator.shown("/events"))["data"]
    assert [each["type"] for each in sent] == ["payment.completed", "payment.created"]
    deliveries = (await emulator.shown("/deliveries"))["data"]
    assert len(deliveries) == 2


async def test_a_recording_reproduces_every_change(emulator: World, tmp_path: Path) -> None:
    for before, after in PAIRS:
        payment = await emulator.create(metadata={"case": f"{before} {after}"}, expires_in=600)
        await emulator.pay(payment, PHONE)
        await emulator.advance(1)
        await emulator.transition(
            payment, "failed" if after != "failed" else "pending", unusual=True
        )
    await check_replay(emulator, tmp_path)
