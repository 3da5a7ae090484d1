"""Scenarios of an account: stored, enabled, applied to a payment and deleted."""

import asyncio
import json
import logging
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from emulator.server.engine.accounts import scenarios as limits
from tests.server.control import refusal
from tests.server.engine.scenario_world import scenario_world
from tests.world import LIVE_KEY, OTHER_TEST_KEY, TEST_KEY, World, headers, world

FAILS = "outcomes:\n  - when: {}\n    then: [{status: failed, reason: %s}]\n"
YAML = "application/yaml"


async def put(
    emulator: World, name: str, text: str, key: str = TEST_KEY, kind: str = YAML
) -> httpx.Response:
    return await emulator.api.put(
        f"/_emulator/scenarios/{name}",
        content=text.encode(),
        headers={**headers(key), "Content-Type": kind},
    )


async def reason(emulator: World, key: str = TEST_KEY, **changes: Any) -> Any:
    """Why a new payment fails as soon as its method is submitted, None where it does not."""
    payment = await emulator.create(key, **changes)
    return await reason_of(emulator, payment["id"], key)


async def reason_of(emulator: World, payment_id: str, key: str = TEST_KEY) -> Any:
    await emulator.pay({"id": payment_id}, "0911223344", key=key)
    return (await emulator.shown(f"/payments/{payment_id}", key))["reason"]


async def names(emulator: World, key: str = TEST_KEY) -> list[str]:
    return [one["name"] for one in (await listed(emulator, key))]


async def listed(emulator: World, key: str = TEST_KEY) -> list[dict[str, Any]]:
    return list((await emulator.shown("/scenarios", key))["data"])


async def test_a_stored_scenario_applies_from_the_next_request(emulator: World) -> None:
    assert await reason(emulator) is None
    response = await put(emulator, "no-luck", FAILS % "limit_exceeded")
    assert response.status_code == 201
    assert response.json() == {
        "name": "no-luck",
        "description": "",
        "enabled": True,
        "origin": "control",
        "rules": {"outcomes": 1, "expiry": 0, "checkout": 0, "faults": 0, "webhooks": 0},
        "limited_rules": [],
        "has_script": False,
    }
    assert await reason(emulator) == "limit_exceeded"


async def test_a_scenario_is_shown_with_all_of_its_rules(emulator: World) -> None:
    text = (
        "description: all of it\n"
        "outcomes: [{when: {phone: '0911 22 33 44'}, then: handset, times: 2}]\n"
        "expiry: [{when: {amount: 500}, then: {after: 90s}}]\n"
        "checkout: [{when: {}, then: {redirect: before_webhook, delay: 1s}}]\n"
        "faults: [{when: {nth: 2}, then: {status: 429}}]\n"
        "webhooks: [{when: {}, then: {copies: 2}}]\n"
        "script: [{create: {as: order}}, {advance: next}]\n"
    )
    put_one = (await put(emulator, "whole", text)).json()
    assert (await emulator.shown("/scenarios/whole")) == {
        **put_one,
        "outcomes": [{"when": {"phone": "+251911223344"}, "then": "handset", "times": 2}],
        "expiry": [{"when": {"amount": 500}, "after": "90s"}],
        "checkout": [{"when": {}, "then": {"redirect": "before_webhook", "delay": "1s"}}],
        "faults": [{"when": {"nth": 2}, "then": {"status": 429}}],
        "webhooks": [{"when": {}, "then": {"copies": 2}}],
        "script": [{"create": {"as": "order"}}, {"advance": "next"}],
    }


async def test_an_enabled_example_scenario_has_precedence_over_the_test_numbers(
    emulator: World,
) -> None:
    await emulator.control("PUT", "/scenarios/stuck-in-processing/enabled", {"enabled": True})
    for method, phone in (("telebirr", "0900000001"), ("mpesa", "0700000001")):
        paid = await emulator.pay(await emulator.create(), phone, method)
        assert paid["status"] == "processing"


async def test_json_is_parsed_as_json_where_yaml_differs(emulator: World) -> None:
    note_text = "a\x85b \u2028 c\x7f\ufeff\\/"
    rule = {
        "when": {"metadata": {"note": note_text}},
        "then": [{"status": "failed", "reason": "wrong_pin"}],
    }
    text = json.dumps({"outcomes": [rule]}, ensure_ascii=False, indent="\t").replace("/", "\\/")
    assert (await put(emulator, "characters", text, kind="application/json")).status_code == 201
    assert (await emulator.shown("/scenarios/characters"))["outcomes"] == [rule]
    assert await reason(emulator, metadata={"note": note_text}) == "wrong_pin"
    assert await reason(emulator, metadata={"note": "a b"}) is None


@pytest.mark.parametrize(
    "character", list("\t\x7f\x80\x84\x85\x86\x9f\xa0\u2028\u2029\ufeff\ufffe\uffff")
)
async def test_json_text_keeps_a_character_that_yaml_reads_in_another_way(
    emulator: World, character: str
) -> None:
    text = f"before {character} after"
    body = json.dumps({"description": text, "outcomes": []}, ensure_ascii=character < " ")
    assert (await put(emulator, "characters", body, kind="application/json")).status_code == 201
    assert (await emulator.shown("/scenarios/characters"))["description"] == text


async def test_concurrent_puts_and_deletions_succeed(emulator: World) -> None:
    for _ in range(20):
        answers = await asyncio.gather(
            put(emulator, "mine", FAILS % "wrong_pin"),
            emulator.control("DELETE", "/scenarios/mine"),
            put(emulator, "mine", FAILS % "timeout"),
        )
        assert {answer.status_code for answer in answers} <= {200, 201, 204}


async def test_a_payment_loses_its_deleted_scenario(emulator: World) -> None:
    payment = await emulator.create()
    await put(emulator, "mine", FAILS % "wrong_pin")
    await emulator.control("PUT", f"/payments/{payment['id']}/scenario", {"name": "mine"})
    await emulator.control("DELETE", "/scenarios/mine")
    assert (await emulator.shown(f"/payments/{payment['id']}"))["scenario"] is None
    assert await reason_of(emulator, payment["id"]) is None


async def test_a_replaced_scenario_gets_the_highest_precedence(emulator: World) -> None:
    await put(emulator, "a", FAILS % "wrong_pin")
    await put(emulator, "b", FAILS % "timeout")
    assert await reason(emulator) == "timeout"
    assert (await put(emulator, "a", FAILS % "bank_declined")).status_code == 200
    assert await reason(emulator) == "bank_declined"
    assert (await names(emulator))[:2] == ["a", "b"]


async def test_posted_scenarios_precede_files_and_files_precede_shipped_scenarios(
    tmp_path: Path,
) -> None:
    first = "outcomes:\n  - when: {phone: '0911223344'}\n    then: [{status: failed, reason: %s}]\n"
    async with scenario_world(tmp_path, old=first % "timeout", new=first % "wrong_pin") as emulator:
        shown = await listed(emulator)
        origins = [(one["name"], one["origin"]) for one in shown[:2]]
        assert origins == [("new", "file"), ("old", "file")]
        assert {one["origin"] for one in shown[2:]} == {"shipped"}
        assert await reason(emulator) == "wrong_pin"
        await put(emulator, "mine", FAILS % "provider_error")
        assert await reason(emulator) == "provider_error"
        await emulator.control("DELETE", "/scenarios/mine")
        await emulator.control("PUT", "/scenarios/new/enabled", {"enabled": False})
        assert await reason(emulator) == "timeout"


async def test_a_scenario_replaces_a_shipped_one_until_it_is_deleted(emulator: World) -> None:
    await put(emulator, "banks", FAILS % "wrong_pin")
    assert await reason(emulator) == "wrong_pin"
    assert (await names(emulator)).count("banks") == 1
    assert (await emulator.control("DELETE", "/scenarios/banks")).status_code == 204
    assert await reason(emulator) is None
    shown = await emulator.shown("/scenarios/banks")
    assert (shown["origin"], shown["enabled"]) == ("shipped", True)


async def test_a_scenario_that_is_disabled_in_its_file_can_be_enabled(emulator: World) -> None:
    await put(emulator, "later", "enabled: false\n" + FAILS % "wrong_pin")
    assert await reason(emulator) is None
    shown = await emulator.control("PUT", "/scenarios/later/enabled", {"enabled": True})
    assert (shown.status_code, shown.json()["enabled"]) == (200, True)
    assert await reason(emulator) == "wrong_pin"
    await emulator.control("PUT", "/scenarios/later/enabled", {"enabled": False})
    assert await reason(emulator) is None
    replaced = await put(emulator, "later", FAILS % "wrong_pin")
    assert replaced.json()["enabled"] is True
    assert await reason(emulator) == "wrong_pin"


async def test_replacing_or_enabling_a_scenario_resets_the_counters_of_its_rules(
    emulator: World,
) -> None:
    twice = FAILS % "wrong_pin" + "    times: 2\n"
    await put(emulator, "twice", twice)
    assert [await reason(emulator) for _ in range(3)] == ["wrong_pin", "wrong_pin", None]
    await put(emulator, "twice", twice)
    assert await reason(emulator) == "wrong_pin"
    for is_on in (False, True):
        await emulator.control("PUT", "/scenarios/twice/enabled", {"enabled": is_on})
    assert [await reason(emulator) for _ in range(3)] == ["wrong_pin", "wrong_pin", None]


async def test_a_scenario_of_a_file_is_unused_after_one_of_its_name_is_deleted(
    tmp_path: Path,
) -> None:
    once = FAILS % "wrong_pin" + "    times: 1\n"
    async with scenario_world(tmp_path, shop=once) as emulator:
        await put(emulator, "shop", once)
        assert [await reason(emulator) for _ in range(2)] == ["wrong_pin", None]
        await emulator.control("DELETE", "/scenarios/shop")
        assert await reason(emulator) == "wrong_pin"


async def test_a_scenario_applies_to_both_modes_of_its_account_only(emulator: World) -> None:
    await put(emulator, "mine", FAILS % "wrong_pin", LIVE_KEY)
    assert await reason(emulator, TEST_KEY) == "wrong_pin"
    assert await reason(emulator, LIVE_KEY) == "wrong_pin"
    assert await reason(emulator, OTHER_TEST_KEY) is None
    assert "mine" not in await names(emulator, OTHER_TEST_KEY)
    switch = ("PUT", "/scenarios/banks/enabled", {"enabled": False})
    await emulator.control(*switch, key=OTHER_TEST_KEY)
    assert (await emulator.shown("/scenarios/banks"))["enabled"] is True


async def test_a_reset_removes_scenarios_and_faults(emulator: World) -> None:
    before = await listed(emulator)
    await put(emulator, "mine", FAILS % "wrong_pin")
    await emulator.control("PUT", "/scenarios/banks/enabled", {"enabled": False})
    await emulator.control("POST", "/faults", {"then": {"status": 500}})
    await emulator.control("POST", "/reset")
    assert await listed(emulator) == before
    assert (await emulator.shown("/faults")) == {"data": []}
    assert await reason(emulator) is None


async def test_scenarios_and_faults_persist_in_a_database(tmp_path: Path) -> None:
    database = str(tmp_path / "state.sqlite")
    async with world(database=database) as emulator:
        payment = await emulator.create()
        await put(emulator, "mine", FAILS % "wrong_pin" + "    times: 2\n")
        await put(emulator, "off", FAILS % "timeout")
        await emulator.control("PUT", "/scenarios/off/enabled", {"enabled": False})
        await emulator.control("PUT", f"/payments/{payment['id']}/scenario", {"name": "off"})
        fault = {"when": {"request": "list_payments"}, "then": {"status": 429}, "times": 1}
        await emulator.control("POST", "/faults", fault)
        assert await reason(emulator) == "wrong_pin"
        shown, faults = await listed(emulator), await emulator.control("GET", "/faults")
    async with world(database=database) as again:
        assert await listed(again) == shown
        assert (await again.shown("/faults")) == faults.json()
        assert await reason_of(again, payment["id"]) == "timeout"
        assert [await reason(again), await reason(again)] == ["wrong_pin", None]
        assert (await again.api.get("/v1/payments", headers=headers())).status_code == 429
        assert (await again.api.get("/v1/payments", headers=headers())).status_code == 200


async def test_a_stored_scenario_or_fault_that_cannot_be_read_leaves_the_others_in_use(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A newer version wrote a key that this version does not know."""
    caplog.set_level(logging.WARNING, logger="emulator")
    database = str(tmp_path / "newer.sqlite")
    async with world(database=database) as emulator:
        await put(emulator, "mine", FAILS % "wrong_pin")
        await put(emulator, "newer", FAILS % "timeout")
        for status in (429, 500):
            fault = {"when": {"request": "list_payments"}, "then": {"status": status}}
            await emulator.control("POST", "/faults", fault)
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE scenarios SET source = 'later: 1' WHERE name = 'newer'")
        connection.execute("UPDATE faults SET source = '{\"later\": 1}' WHERE number = 2")
    async with world(database=database) as again:
        assert "newer" not in await names(again)
        assert await reason(again) == "wrong_pin"
        assert (await again.api.get("/v1/payments", headers=headers())).status_code == 429
    assert "a stored scenario cannot be read: newer:1:1" in caplog.text
    assert "a stored fault cannot be read" in caplog.text


async def test_the_scenario_of_a_payment_has_the_highest_precedence_even_if_disabled(
    emulator: World,
) -> None:
    mine, other = await emulator.create(), await emulator.create()
    await put(emulator, "special", "enabled: false\n" + FAILS % "limit_exceeded")
    await put(emulator, "usual", FAILS % "wrong_pin")
    placed = await emulator.control("PUT", f"/payments/{mine['id']}/scenario", {"name": "special"})
    assert placed.status_code == 200
    assert placed.json() == mine
    assert (await emulator.shown(f"/payments/{mine['id']}"))["scenario"] == "special"
    assert await reason_of(emulator, mine["id"]) == "limit_exceeded"
    assert await reason_of(emulator, other["id"]) == "wrong_pin"


async def test_without_a_match_in_its_own_scenario_a_payment_uses_the_others(
    emulator: World,
) -> None:
    payment = await emulator.create()
    await put(emulator, "usual", FAILS % "wrong_pin")
    await emulator.control("PUT", f"/payments/{payment['id']}/scenario", {"name": "banks"})
    assert await reason_of(emulator, payment["id"]) == "wrong_pin"


async def test_a_new_payment_never_gets_the_scenario_of_one_that_a_reset_removed(
    emulator: World,
) -> None:
    payment = await emulator.create()
    await emulator.control("PUT", f"/payments/{payment['id']}/scenario", {"name": "banks"})
    await emulator.control("POST", "/reset")
    same = await emulator.create()
    assert same["id"] == payment["id"]
    assert (await emulator.shown(f"/payments/{same['id']}"))["scenario"] is None


@pytest.mark.parametrize(
    ("text", "param", "message"),
    [
        ("outcome: []", None, "line 1, column 1: a scenario has no key 'outcome'; did you mean"),
        (
            "outcomes:\n  - when: {fone: 1}\n    then: []\n",
            "outcomes",
            "line 2, column 12: when has no key 'fone'; did you mean 'phone'?",
        ),
        ("version: 2", "version", "line 1, column 10: version must be 1, not 2"),
        ("name: other", "name", "line 1, column 7: name must be 'bad', as in the address"),
        ("a: [", None, "line 1, column 4: this [ is not closed"),
        ("expiry:\n\t- when: {}\n", None, "line 2, column 1: only blanks can indent a line"),
        ("", None, "line 1, column 1: the file must contain a scenario"),
        ("outcomes: []\noutcomes: []\n", None, "line 2, column 1: 'outcomes' must be given once"),
        ("description: !!python/name:os.system x", None, "tags are not supported"),
        ("description: &a [" + "*a, " * 3 + "]", None, "no anchor"),
        ("expiry:\n  - {when: {}, after: 5}\n", "expiry", "line 2, column 23: after must be"),
        ("faults:\n  - {when: {}, then: {status: 200}}\n", "faults", "status must be"),
    ],
)
async def test_a_scenario_with_a_mistake_is_refused_with_line_and_hint_and_changes_nothing(
    emulator: World, text: str, param: str | None, message: str
) -> None:
    await put(emulator, "bad", FAILS % "wrong_pin")
    before = await listed(emulator)
    response = await put(emulator, "bad", text)
    assert refusal(response) == (400, "invalid_scenario", param)
    assert message in response.json()["error"]["message"]
    assert await listed(emulator) == before
    assert await reason(emulator) == "wrong_pin"


async def test_many_mistakes_are_listed_up_to_a_limit(emulator: World) -> None:
    text = "outcomes:\n" + "  - {wen: {}, than: []}\n" * 20
    message = (await put(emulator, "bad", text)).json()["error"]["message"]
    assert message.count("; line ") == 9
    assert "more" in message
    assert len(message) < 4_000


@pytest.mark.parametrize(
    ("kind", "body", "code"),
    [
        ("text/plain", b"outcomes: []", "unsupported_content_type"),
        ("", b"outcomes: []", "unsupported_content_type"),
        ("application/json", b"outcomes: []", "invalid_json"),
        ("application/json", b"[1]", "invalid_request_body"),
        (YAML, b"\xff\xfe", "invalid_request_body"),
        ("application/yaml; charset=iso-8859-1", b"expiry: []", "unsupported_content_type"),
        (YAML, b"#" * 300_000, "request_too_large"),
    ],
)
async def test_a_body_that_is_no_scenario_is_refused(
    emulator: World, kind: str, body: bytes, code: str
) -> None:
    response = await emulator.api.put(
        "/_emulator/scenarios/x", content=body, headers={**headers(), "Content-Type": kind}
    )
    assert refusal(response) == (400, code, None)


async def test_the_number_of_scenarios_is_limited(emulator: World) -> None:
    for number in range(limits.MAX_SCENARIOS):
        assert (await put(emulator, f"s{number}", "outcomes: []")).status_code == 201
    assert refusal(await put(emulator, "over", "outcomes: []")) == (409, "too_many_scenarios", None)
    assert (await put(emulator, "s0", "expiry: []")).status_code == 200
