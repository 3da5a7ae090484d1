"""The rules of scenario files: which one applies, how often, its outcome, and the test numbers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from emulator.domain.effects import Handset, Scripted
from emulator.domain.payment import Status
from emulator.scenarios.rules import NamedNumber
from tests.server.engine.scenario_world import HEAD, SHOP_CASES, scenario_world
from tests.server.engine.visitors import Visitor, visitor
from tests.world import LIVE_KEY, OTHER_TEST_KEY, TEST_KEY, World, world


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


OURS = ["+251900000001", "+251900000002", "+251900000003", "+251900000004"]
OURS_OF_MPESA = ["+251700000001", "+251700000002", "+251700000003", "+251700000004"]
OURS_LEAD_TO = ["completed", "insufficient_balance", "timeout", "user_cancelled"]


async def offered(shopper: Visitor, method: str = "telebirr") -> Sequence[NamedNumber]:
    return await shopper.checkouts.test_numbers(await shopper.open(), method)


def phones(numbers: Sequence[NamedNumber]) -> list[str]:
    return [number.phone for number in numbers]


def ends(number: NamedNumber) -> str:
    """The status, or the reason of the failure, that a number leads to in the end."""
    assert isinstance(number.outcome, Scripted)
    last = number.outcome.steps[-1]
    return last.reason or last.status


@pytest.mark.clause("4.4.6")
@pytest.mark.parametrize(("method", "designated"), [("telebirr", OURS), ("mpesa", OURS_OF_MPESA)])
async def test_in_test_mode_the_designated_numbers_are_offered(
    emulator: World, method: str, designated: list[str]
) -> None:
    numbers = await offered(await visitor(emulator), method)
    assert phones(numbers) == designated
    assert [ends(number) for number in numbers] == OURS_LEAD_TO


DECIDES_ALL = "outcomes: [{when: {}, then: [{status: completed}]}]\n"
DISABLED = 'enabled: false\noutcomes: [{when: {phone: "0955555555"}, then: handset}]\n'
OTHER_OFFERS: dict[str, tuple[str, str, str, list[str]]] = {
    "none in live mode": ("", LIVE_KEY, "telebirr", []),
    "none of M-Pesa in live mode": ("", LIVE_KEY, "mpesa", []),
    "none for a bank transfer": ("", TEST_KEY, "bank_transfer", []),
    "none where a scenario decides everything": (DECIDES_ALL, TEST_KEY, "telebirr", []),
    "none of a disabled scenario": (DISABLED, TEST_KEY, "telebirr", OURS),
}


@pytest.mark.parametrize(
    ("text", "key", "method", "expected"), OTHER_OFFERS.values(), ids=OTHER_OFFERS
)
async def test_the_offered_numbers_are(
    text: str, key: str, method: str, expected: list[str], tmp_path: Path
) -> None:
    async with scenario_world(tmp_path, **({"shop": text} if text else {})) as emulator:
        assert phones(await offered(await visitor(emulator, key), method)) == expected


async def test_the_number_of_a_scenario_precedes_the_designated_ones(tmp_path: Path) -> None:
    text = """
outcomes:
  - when: {phone: "0955555555"}
    then: [{after: 5s, status: failed, reason: wrong_pin}]
  - when: {mode: live, phone: "0900000002"}
    then: handset
"""
    async with scenario_world(tmp_path, shop=text) as emulator:
        in_test_mode = await offered(await visitor(emulator))
        in_live_mode = await offered(await visitor(emulator, LIVE_KEY))
    assert phones(in_test_mode) == ["+251955555555", OURS[1], OURS[0], OURS[2], OURS[3]]
    assert [ends(number) for number in in_test_mode[:2]] == ["wrong_pin", "insufficient_balance"]
    assert [(number.phone, number.outcome) for number in in_live_mode] == [
        ("+251955555555", in_test_mode[0].outcome),
        (OURS[1], Handset()),
    ]


COUNTED = """
outcomes:
  - when: {phone: "0955555555"}
    then: [{status: failed, reason: wrong_pin}]
    times: 2
  - when: {phone: "0955555555"}
    then: [{status: completed}]
    times: 1
"""


async def test_a_number_with_times_gets_the_outcome_of_the_next_rule(tmp_path: Path) -> None:
    async with scenario_world(tmp_path, counted=COUNTED) as emulator:
        shown, done = [], []
        for _ in range(4):
            shopper = await visitor(emulator)
            first = (await offered(shopper))[0]
            shown.append((first.phone, ends(first)))
            await shopper.pay("0955555555")
            payment = (await shopper.open()).payment
            done.append(payment.reason or payment.status)
        other = await visitor(emulator, OTHER_TEST_KEY)
        assert ends((await offered(other))[0]) == "wrong_pin", "uses are counted for each account"
    assert shown == [
        ("+251955555555", "wrong_pin"),
        ("+251955555555", "wrong_pin"),
        ("+251955555555", "completed"),
        (OURS[0], "completed"),
    ]
    assert done == ["wrong_pin", "wrong_pin", "completed", "processing"]


async def test_every_payment_gets_the_numbers_of_its_own_amount_and_metadata(
    tmp_path: Path,
) -> None:
    text = """
outcomes:
  - when: {phone: "0955555551", amount: {gte: 500000}}
    then: [{status: failed, reason: limit_exceeded}]
  - when: {phone: "0955555552", metadata: {case: vip}}
    then: [{status: completed}]
"""
    large, vip = "+251955555551", "+251955555552"
    async with scenario_world(tmp_path, shop=text) as emulator:
        for amount, case, own in (
            (499_999, "none", []),
            (500_000, "none", [large]),
            (499_999, "vip", [vip]),
            (500_000, "vip", [large, vip]),
            (499_999, "none", []),
        ):
            shopper = await visitor(emulator, amount=amount, metadata={"case": case})
            assert phones(await offered(shopper)) == own + OURS


@pytest.mark.parametrize("key", [TEST_KEY, LIVE_KEY])
async def test_each_number_has_the_outcome_that_the_page_shows(emulator: World, key: str) -> None:
    """The page and the submit choose the same outcome."""
    for number in await offered(await visitor(emulator, key)):
        shopper = await visitor(emulator, key)
        await shopper.pay(number.phone)
        await shopper.advance(30_000)
        payment = (await shopper.open()).payment
        assert (payment.reason or payment.status) == ends(number)
        assert payment.status is not Status.PROCESSING
