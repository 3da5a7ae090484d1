"""The steps and rules of a recording, for each action, and its limits (design 10, 12)."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from emulator.scenarios.loader import parse_scenario
from emulator.server.engine.payments.customer import PhoneAnswer, Submission
from tests.cli.processes import run
from tests.server.engine.recording_player import (
    act,
    check_replay,
    history,
    parts,
    recorded,
    replayed,
)
from tests.server.engine.scenario_world import HEAD, scenario_world
from tests.server.engine.visitors import Visitor
from tests.world import LIVE_KEY, TEST_KEY, World, world

SIMPLE = """\
# The history of acct_demo in test mode,
# from 2026-01-01T00:00:00.000Z to 2026-01-01T00:01:00.250Z.
#
# To replay it:  payments-emulator replay case.yaml
# To use it together with other scenarios, change its name.
version: 1
name: recording
description: Recorded from acct_demo in test mode.

outcomes:
- when: {method: telebirr, phone: "+251911111111"}
  then: [{after: 2s, status: failed, reason: limit_exceeded}]

script:
- create:
    as: order_1
    amount: 15000
    methods: [telebirr]
    metadata: {case: limit, ዕቃ: "ቡና, 1 kg"}
    idempotency_key: "0700"
    expires_in: 600
- cancel: order_1
- expect: {payment: order_1, status: pending}
- advance: 250ms
- pay: {payment: order_1, method: telebirr, phone: "0911111111"}
- expect: {payment: order_1, status: processing, method: telebirr}
- advance: 2s
- create: {as: order_2, amount: 500000}
- pay: {payment: order_2, method: bank_transfer, bank: walia_test}
- expect: {payment: order_1, status: failed, reason: limit_exceeded}
- expect: {payment: order_2, status: processing, method: bank_transfer}
- advance: 28s
- answer: {payment: order_2, answer: approve}
- transition: {payment: order_1, status: completed, unusual: true}
- expect: {payment: order_2, status: completed}
- expect: {payment: order_1, status: completed}
- advance: 30s
- expect:
    payment: order_1
    status: completed
    events: [payment.created, payment.processing, payment.failed, payment.completed]
- expect:
    payment: order_2
    status: completed
    events: [payment.created, payment.processing, payment.completed]
- expect:
    events:
    - payment.created
    - payment.processing
    - payment.failed
    - payment.created
    - payment.processing
    - payment.completed
    - payment.completed
"""


async def pay(emulator: World, payment: dict[str, Any], phone: str, key: str = TEST_KEY) -> None:
    method = "mpesa" if phone.startswith("07") else "telebirr"
    await act(emulator, payment, "pay", key, method=method, phone=phone)


async def script(emulator: World, key: str = TEST_KEY) -> list[dict[str, Any]]:
    return list(parts(await recorded(emulator, key))["script"])


async def steps(emulator: World, key: str = TEST_KEY) -> list[dict[str, Any]]:
    """What the script does, without what it expects."""
    return [step for step in await script(emulator, key) if "expect" not in step]


async def test_a_recording_has_this_text(tmp_path: Path) -> None:
    rules = """
outcomes:
  - when: {metadata: {case: limit}}
    then: [{after: 2s, status: failed, reason: limit_exceeded}]
"""
    async with scenario_world(tmp_path, shop=rules) as emulator:
        first = await emulator.create(
            methods=["telebirr"],
            metadata={"case": "limit", "ዕቃ": "ቡና, 1 kg"},
            expires_in=600,
            idempotency_key="0700",
        )
        await act(emulator, first, "cancel")
        await emulator.advance(0.25)
        await pay(emulator, first, "+251 91 111 1111")
        await emulator.advance(2)
        second = await emulator.create(amount=500_000)
        await act(emulator, second, "pay", method="bank_transfer", bank="walia_test")
        await emulator.advance(28)
        await act(emulator, second, "answer", answer="approve")
        await act(emulator, first, "transition", status="completed", unusual=True)
        await emulator.advance(30)
        assert await check_replay(emulator, tmp_path) == SIMPLE


def test_the_command_plays_what_was_recorded(tmp_path: Path) -> None:
    case = tmp_path / "case.yaml"
    case.write_text(SIMPLE, encoding="utf-8")
    for command in ("check", "replay"):
        ended = run(command, str(case))
        assert ended.returncode == 0, ended.stdout + ended.stderr


async def test_a_redirect_before_the_completion_becomes_a_later_completion_with_a_comment(
    emulator: World, tmp_path: Path
) -> None:
    comment = "# A page that redirected before the completion is recorded as a later completion."
    first = await emulator.create()
    await pay(emulator, first, "+251900000001")
    rule = {"when": {}, "then": {"redirect": "before_completed", "delay": "5s"}}
    await emulator.done("PUT", "/scenarios/early", {"checkout": [rule]})
    await pay(emulator, await emulator.create(), "+251900000001")
    answered = await emulator.create()
    await pay(emulator, answered, "0911223344")
    await act(emulator, answered, "answer", answer="approve")
    await emulator.advance(5)
    text = await check_replay(emulator, tmp_path)
    assert comment in text.splitlines()
    of_first = await emulator.control("GET", f"/recording?payment={first['id']}")
    assert comment not in of_first.text
    document = yaml.safe_load(text)
    assert "checkout" not in document
    for rule in document["outcomes"][-2:]:
        assert rule["then"] == [{"after": "5s", "status": "completed"}]


async def test_an_empty_history_expects_no_events(emulator: World, tmp_path: Path) -> None:
    await emulator.advance(60)
    assert await script(emulator) == [{"expect": {"events": []}}]
    await check_replay(emulator, tmp_path)


async def test_a_single_payment_is_named_order_and_expected_once(emulator: World) -> None:
    await pay(emulator, await emulator.create(), "0700000002")
    events = ["payment.created", "payment.processing", "payment.failed"]
    why = {"reason": "insufficient_balance", "events": events}
    assert await script(emulator) == [
        {"create": {"as": "order", "amount": 15_000}},
        {"pay": {"payment": "order", "method": "mpesa", "phone": "0700000002"}},
        {"expect": {"payment": "order", "status": "failed", "method": "mpesa", **why}},
    ]


@pytest.mark.parametrize(
    "members",
    [
        {"status": "processing"},
        {"status": "processing", "method": "mpesa"},
        {"status": "expired"},
        {"status": "expired", "unusual": True},
    ],
)
async def test_a_transition_is_recorded_with_the_members_of_its_request(
    members: dict[str, Any], emulator: World, tmp_path: Path
) -> None:
    payment = await emulator.create()
    await emulator.advance(1.001)
    await act(emulator, payment, "transition", **members)
    assert (await steps(emulator))[1:] == [
        {"advance": "1.001s"},
        {"transition": {"payment": "order", **members}},
    ]
    await check_replay(emulator, tmp_path)


async def test_a_scheduled_change_is_recorded_as_an_advance(
    emulator: World, tmp_path: Path
) -> None:
    answerable, _ = await emulator.create(), await emulator.create(expires_in=31)
    await pay(emulator, answerable, "0911111111")
    await emulator.advance(3600)
    assert (await script(emulator))[5:] == [
        {"advance": "30s"},
        {"expect": {"payment": "order_1", "status": "failed", "reason": "timeout"}},
        {"advance": "1s"},
        {"expect": {"payment": "order_2", "status": "expired"}},
        {"advance": "3569s"},
        *(await script(emulator))[-3:],
    ]
    await check_replay(emulator, tmp_path)


async def test_a_long_pause_is_recorded_as_several_advances(
    emulator: World, tmp_path: Path
) -> None:
    await emulator.create()
    for _ in range(3):
        await emulator.advance(315_360_000)
    await emulator.create()
    assert (await steps(emulator))[1:] == [
        {"advance": "30m"},
        {"advance": "3650d"},
        {"advance": "3650d"},
        {"advance": "5255970m"},
        {"create": {"as": "order_2", "amount": 15_000}},
    ]
    await check_replay(emulator, tmp_path)


async def test_a_call_that_changes_nothing_is_not_recorded(emulator: World) -> None:
    payment = await emulator.create(idempotency_key="k")
    await pay(emulator, payment, "0900000001")
    before = await recorded(emulator)
    assert (await emulator.create(idempotency_key="k"))["id"] == payment["id"]
    await emulator.retrieve(payment["id"])
    for verb, body in (
        ("pay", {"method": "telebirr", "phone": "0900000001"}),
        ("pay", {"method": "telebirr", "phone": "1"}),
        ("answer", {"answer": "approve"}),
        ("cancel", None),
        ("transition", {"status": "failed"}),
    ):
        path = f"/payments/{payment['id']}/{verb}"
        assert (await emulator.control("POST", path, body)).status_code in (400, 409)
    await emulator.control("POST", "/webhook_endpoints", {"url": "http://127.0.0.1:9"})
    await emulator.control("PUT", f"/payments/{payment['id']}/scenario", {"name": "banks"})
    assert await recorded(emulator) == before


async def test_actions_on_the_pages_are_recorded(emulator: World, tmp_path: Path) -> None:
    payment = await emulator.create()
    token = payment["checkout_url"].rsplit("/", 1)[1]
    visitor = Visitor(world=emulator, payment_id=payment["id"], token=token, key=TEST_KEY)
    for _ in range(2):
        await visitor.customer.cancel(visitor.owner, payment["id"])
    submission = Submission(method="bank_transfer", bank="gelada_test")
    await visitor.customer.pay(visitor.owner, payment["id"], submission)
    await visitor.answer(PhoneAnswer.DECLINE)
    assert (await steps(emulator))[1:] == [
        {"cancel": "order"},
        {"cancel": "order"},
        {"pay": {"payment": "order", "method": "bank_transfer", "bank": "gelada_test"}},
        {"answer": {"payment": "order", "answer": "decline"}},
    ]
    await check_replay(emulator, tmp_path)


async def test_a_cancel_that_ends_a_payment_is_recorded_with_its_rule(
    emulator: World, tmp_path: Path
) -> None:
    rules = [
        {"when": {}, "then": {"cancel": "stays_pending"}, "times": 1},
        {"when": {}, "then": {"cancel": "fails"}, "times": 1},
    ]
    await emulator.done("PUT", "/scenarios/page", {"checkout": rules})
    payment = await emulator.create()
    for _ in rules:
        await act(emulator, payment, "cancel")
    assert parts(await check_replay(emulator, tmp_path))["checkout"] == rules


class TestOutcomes:
    """An outcome is recorded as a rule unless the shipped scenarios have the same outcome."""

    async def outcomes(self, emulator: World, key: str = TEST_KEY) -> Any:
        return parts(await recorded(emulator, key)).get("outcomes")

    async def test_outcomes_of_the_shipped_scenarios_need_no_rule(
        self, emulator: World, tmp_path: Path
    ) -> None:
        for phone in ("0900000001", "0900000002", "0900000003", "0700000004", "0911111111"):
            await pay(emulator, await emulator.create(), phone)
        for bank in ("walia_test", "fidel_test"):
            payment = await emulator.create()
            await act(emulator, payment, "pay", method="bank_transfer", bank=bank)
        assert await self.outcomes(emulator) is None
        await check_replay(emulator, tmp_path)

    async def test_outcomes_in_live_mode_are_recorded_as_rules(
        self, emulator: World, tmp_path: Path
    ) -> None:
        for phone in ("0900000001", "0900000005"):
            await pay(emulator, await emulator.create(LIVE_KEY), phone, LIVE_KEY)
        assert await self.outcomes(emulator, LIVE_KEY) == [
            {"when": {"method": "telebirr", "phone": "+251900000001"}, "then": "handset"}
        ]
        text = await check_replay(emulator, tmp_path, LIVE_KEY)
        assert "\n# The script runs in test mode, with the same result.\n" in text

    async def test_outcomes_without_a_disabled_scenario_are_recorded_as_rules(
        self, emulator: World, tmp_path: Path
    ) -> None:
        path = "/scenarios/telebirr-test-numbers/enabled"
        await emulator.control("PUT", path, {"enabled": False})
        await pay(emulator, await emulator.create(), "0900000002")
        assert await self.outcomes(emulator) == [
            {"when": {"method": "telebirr", "phone": "+251900000002"}, "then": "handset"}
        ]
        await check_replay(emulator, tmp_path)

    async def test_different_outcomes_of_one_number_are_recorded_in_order(
        self, tmp_path: Path
    ) -> None:
        rules = """
outcomes:
  - when: {phone: "0900000001", metadata: {case: fails}}
    then: [{status: failed, reason: wrong_pin}]
  - when: {metadata: {case: stuck}}
    then: []
"""
        async with scenario_world(tmp_path, shop=rules) as emulator:
            for case in ("fails", "fails", "usual", "stuck", "fails"):
                await pay(emulator, await emulator.create(metadata={"case": case}), "0900000001")
            await pay(emulator, await emulator.create(), "0900000004")
            when = {"method": "telebirr", "phone": "+251900000001"}
            fails = [{"status": "failed", "reason": "wrong_pin"}]
            assert await self.outcomes(emulator) == [
                {"when": when, "then": fails, "times": 2},
                {"when": when, "then": [{"status": "completed"}], "times": 1},
                {"when": when, "then": [], "times": 1},
                {"when": when, "then": fails, "times": 1},
            ]
            await check_replay(emulator, tmp_path)

    async def test_outcomes_of_a_configured_method_are_recorded(self, tmp_path: Path) -> None:
        rules = """
outcomes:
  - when: {method: cbe_birr, phone: "0911111111"}
    then: [{status: completed}]
  - when: {method: cbe_birr}
    then: []
"""
        methods = ("telebirr", "cbe_birr", "amole")
        shop = tmp_path / "shop.yaml"
        shop.write_text(HEAD.format(name="shop") + rules, encoding="utf-8")
        async with world(scenarios=(str(shop),), methods=methods) as emulator:
            both = {"phone": "0911111111", "bank": "walia_test"}
            for more in (both, {}, {"bank": "walia_test"}, {"phone": "0911111111"}):
                payment = await emulator.create(methods=["cbe_birr"])
                await act(emulator, payment, "pay", method="cbe_birr", **more)
            text = await recorded(emulator)
            when = {"method": "cbe_birr"}
            assert await self.outcomes(emulator) == [
                {"when": when, "then": [{"status": "completed"}], "times": 1},
                {"when": when, "then": [], "times": 2},
                {"when": when, "then": [{"status": "completed"}], "times": 1},
            ]
            needed = "telebirr,mpesa,bank_transfer,cbe_birr"
            assert f"\n#   payments-emulator serve --methods {needed}\n" in text
            parse_scenario(text, "recording.yaml")
            async with replayed(text, tmp_path, methods=tuple(needed.split(","))) as again:
                assert await history(again) == await history(emulator)


class TestExpiry:
    """The lifetime of checkouts is recorded in the create steps, or else in rules for all."""

    async def test_whole_seconds_are_recorded_in_the_create_step(self, tmp_path: Path) -> None:
        rules = "expiry: [{when: {metadata: {case: short}}, after: 5s}]\n"
        async with scenario_world(tmp_path, shop=rules) as emulator:
            await emulator.create(metadata={"case": "short"})
            for expires_in in (1800, 315_360_000):
                await emulator.create(expires_in=expires_in)
            recording = parts(await recorded(emulator))
            creations = [step["create"] for step in recording["script"] if "create" in step]
            assert [one.get("expires_in") for one in creations] == [5, None, 315_360_000]
            assert "expiry" not in recording
            await check_replay(emulator, tmp_path)

    async def test_fractions_of_seconds_are_recorded_as_rules_for_all_payments(
        self, tmp_path: Path
    ) -> None:
        rules = "expiry: [{when: {metadata: {case: short}}, after: 1500ms}]\n"
        short = {"metadata": {"case": "short"}}
        async with scenario_world(tmp_path, shop=rules) as emulator:
            for members in ({}, {"expires_in": 1800}, short, short, {"expires_in": 60}):
                await emulator.create(**members)
            recording = parts(await recorded(emulator))
            assert recording["expiry"] == [
                {"when": {}, "after": "30m", "times": 2},
                {"when": {}, "after": "1.5s", "times": 2},
                {"when": {}, "after": "1m", "times": 1},
            ]
            assert "expires_in" not in str(recording["script"])
            await emulator.advance(3600)
            await check_replay(emulator, tmp_path)


async def test_a_history_survives_a_restart(tmp_path: Path) -> None:
    database = str(tmp_path / "kept.sqlite3")
    async with world(database=database) as emulator:
        payment = await emulator.create()
        await act(emulator, payment, "cancel")
        await pay(emulator, payment, "0911111111")
    async with world(database=database) as emulator:
        await act(emulator, payment, "answer", answer="approve")
        await act(emulator, await emulator.create(), "cancel")
        assert [next(iter(step)) for step in await steps(emulator)] == [
            *("create", "cancel", "pay", "answer", "create", "cancel")
        ]
        await check_replay(emulator, tmp_path)


async def test_a_reset_ends_the_history(emulator: World) -> None:
    payment = await emulator.create()
    await act(emulator, payment, "cancel")
    await pay(emulator, payment, "0900000001")
    await emulator.control("POST", "/reset")
    await emulator.create(amount=100)
    assert await steps(emulator) == [{"create": {"as": "order", "amount": 100}}]


async def refusal(emulator: World) -> str:
    response = await emulator.control("GET", "/recording")
    assert (response.status_code, response.json()["error"]["code"]) == (409, "too_much_to_record")
    return str(response.json()["error"]["message"])


@pytest.mark.deep
async def test_a_recording_has_at_most_a_thousand_steps(emulator: World) -> None:
    for _ in range(498):
        payment = await emulator.create()
    for _ in range(3):
        await act(emulator, payment, "cancel")
    scenario = parse_scenario(await recorded(emulator), "recording.yaml")
    assert len(scenario.script) == 1_000
    await act(emulator, payment, "cancel")
    assert await refusal(emulator) == (
        "The history is too long for one scenario file: 498 payments and 4 actions. That takes"
        " 1,001 steps; a file can have 1,000. Record a new account for each case, or reset this"
        " one before it."
    )


@pytest.mark.deep
async def test_a_much_too_long_history_is_refused_before_it_is_read(emulator: World) -> None:
    for _ in range(501):
        await emulator.create()
    assert "That takes 1,002 steps at least; a file can have 1,000." in await refusal(emulator)


@pytest.mark.parametrize("rest", [0, 1])
async def test_a_recording_has_at_most_256_kibibytes(rest: int, emulator: World) -> None:
    most = 256 * 1024
    await emulator.create(metadata={"a": "x" * 200, "b": "x" * 200})
    frame = len((await recorded(emulator)).encode()) - 400
    await emulator.control("POST", "/reset")
    half = (most - frame) // 2
    parts = {"a": "x" * half, "b": "\u1230" * ((most - frame - half) // 3)}
    parts["a"] += "x" * (most - frame - len("".join(parts.values()).encode()) + rest)
    await emulator.create(metadata=parts)
    if rest:
        assert "That takes 262,145 bytes; a file can have 262,144." in await refusal(emulator)
    else:
        text = await recorded(emulator)
        assert len(text.encode()) == most
        parse_scenario(text, "recording.yaml")
