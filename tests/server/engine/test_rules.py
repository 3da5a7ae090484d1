"""The rules of scenario files: which one applies, how often, and its outcome."""

from pathlib import Path
from typing import Any

import pytest

from tests.server.engine.scenario_world import HEAD, SHOP_CASES, scenario_world
from tests.world import LIVE_KEY, TEST_KEY, World, world


async def pay(
    emulator: World, phone: str = "0955555555", key: str = TEST_KEY, **changes: Any
) -> dict[str, Any]:
    """A payment that the customer has submitted telebirr for, as it is then."""
    return await emulator.pay(await emulator.create(key, **changes), phone, key=key)


async def seen(emulator: World, payment: dict[str, Any], key: str = TEST_KEY) -> tuple[Any, Any]:
    """The status and the reason."""
    detail = await emulator.shown(f"/payments/{payment['id']}", key)
    return detail["payment"]["status"], detail["reason"]


ANY_PHONE = "0955555555"
# The metadata and the phone of a submit, and the status after each advance.
COURSES: list[tuple[str, str, list[tuple[float, str, str | None]]]] = [
    ("limit", ANY_PHONE, [(1.999, "processing", None), (0.001, "failed", "limit_exceeded")]),
    (
        *("late", ANY_PHONE),
        [
            (9.999, "processing", None),
            (0.001, "failed", "timeout"),
            (49.999, "failed", "timeout"),
            (0.001, "completed", None),
        ],
    ),
    ("stuck", ANY_PHONE, [(10 * 86_400, "processing", None)]),
    ("twice", "+251-911-000000", [(0, "processing", None), (30, "failed", "timeout")]),
]


@pytest.mark.clause("4.4.4")
@pytest.mark.parametrize(("case", "phone", "course"), COURSES, ids=[row[0] for row in COURSES])
async def test_the_steps_of_an_outcome_happen_at_their_instants(
    tmp_path: Path, case: str, phone: str, course: list[tuple[float, str, str | None]]
) -> None:
    async with scenario_world(tmp_path, shop=SHOP_CASES) as emulator:
        payment = await pay(emulator, phone, metadata={"case": case})
        for seconds, *expected in course:
            await emulator.advance(seconds)
            assert [*await seen(emulator, payment)] == expected


@pytest.mark.parametrize(
    ("amount", "status"), [(499_999, "processing"), (500_000, "failed"), (10**9, "failed")]
)
async def test_a_rule_may_match_a_range_of_amounts(
    tmp_path: Path, amount: int, status: str
) -> None:
    async with scenario_world(tmp_path, shop=SHOP_CASES) as emulator:
        assert (await pay(emulator, amount=amount))["status"] == status


async def test_a_rule_with_times_applies_so_often_in_each_account(tmp_path: Path) -> None:
    async with scenario_world(tmp_path, shop=SHOP_CASES) as emulator:
        case = {"case": "twice"}
        for key in (TEST_KEY, "test_other_key"):
            paid = [(await pay(emulator, key=key, metadata=case))["status"] for _ in range(4)]
            assert paid == ["failed", "failed", "completed", "completed"]
        await emulator.control("POST", "/reset")
        assert (await pay(emulator, metadata=case))["status"] == "failed"


@pytest.mark.clause("2.1.13")
async def test_an_expiry_rule_overrides_expires_in_and_sets_expires_at(tmp_path: Path) -> None:
    async with scenario_world(tmp_path, shop=SHOP_CASES) as emulator:
        payment = await emulator.create(metadata={"case": "short"}, expires_in=3_600)
        assert payment["expires_at"] == "2026-01-01T00:00:05.000Z"
        await emulator.advance(4.999)
        assert (await emulator.retrieve(payment["id"]))["status"] == "pending"
        await emulator.advance(0.001)
        assert (await emulator.retrieve(payment["id"]))["status"] == "expired"


async def test_an_expiry_rule_with_times_applies_so_often(tmp_path: Path) -> None:
    async with scenario_world(tmp_path, shop=SHOP_CASES) as emulator:
        case = {"case": "once"}
        of_test_mode = await emulator.create(metadata=case)
        first, second = [await emulator.create(LIVE_KEY, metadata=case) for _ in range(2)]
        assert [payment["expires_at"][14:19] for payment in (of_test_mode, first, second)] == [
            "30:00",
            "00:07",
            "30:00",
        ]


async def test_a_later_file_precedes_an_earlier_one_and_both_precede_the_shipped_ones(
    tmp_path: Path,
) -> None:
    rule = 'outcomes: [{{when: {{phone: "0900000001"}}, then: [{{status: failed, reason: {}}}]}}]\n'
    files = {"older": rule.format("wrong_pin"), "newer": rule.format("bank_declined")}
    async with scenario_world(tmp_path, **files) as emulator:
        payment = await pay(emulator, "0900000001")
        assert await seen(emulator, payment) == ("failed", "bank_declined")


async def test_the_uses_of_a_rule_survive_a_restart(tmp_path: Path) -> None:
    settings = {"database": str(tmp_path / "db")}
    path = tmp_path / "shop.yaml"
    path.write_text(HEAD.format(name="shop") + SHOP_CASES, encoding="utf-8")
    paid = []
    for _ in range(3):
        async with world(scenarios=(str(path),), **settings) as emulator:
            paid.append((await pay(emulator, metadata={"case": "twice"}))["status"])
    assert paid == ["failed", "failed", "completed"]
