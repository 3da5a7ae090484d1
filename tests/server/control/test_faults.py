"""Fault rules without a scenario: added, listed and deleted."""

import json
from typing import Any

import httpx
import pytest

from emulator.server.engine.accounts import scenarios as limits
from emulator.server.storage.batch import Transaction
from tests.server.control import refusal
from tests.world import OTHER_TEST_KEY, TEST_KEY, World, headers

JSON = {"Content-Type": "application/json"}
DROP: Any = {"then": {"drop": True}}


async def add(emulator: World, rule: Any, key: str = TEST_KEY) -> httpx.Response:
    return await emulator.control("POST", "/faults", rule, key)


async def faults(emulator: World, key: str = TEST_KEY) -> list[dict[str, Any]]:
    return list((await emulator.shown("/faults", key=key))["data"])


async def status_of_a_list(emulator: World, key: str = TEST_KEY) -> int:
    return (await emulator.api.get("/v1/payments", headers=headers(key))).status_code


async def test_a_fault_is_returned_as_in_a_file(emulator: World) -> None:
    rule = {
        "when": {"mode": "test", "request": "create_payment", "nth": 2},
        "then": {"status": 500, "point": "after_commit"},
        "times": 3,
    }
    response = await add(emulator, rule)
    assert response.status_code == 201
    shown = response.json()
    assert {**rule, "id": shown["id"], "used": 0} == shown
    assert shown["id"].startswith("flt_")
    assert await faults(emulator) == [shown]


async def test_without_when_a_fault_applies_to_every_request(emulator: World) -> None:
    shown = (await add(emulator, {"then": {"status": 503, "retry_after": "2m"}})).json()
    assert (shown["when"], shown["then"]) == ({}, {"status": 503, "retry_after": 120})
    response = await emulator.api.get("/v1/payments/pay_1", headers=headers())
    assert (response.status_code, response.headers["retry-after"]) == (503, "120")


async def test_the_newest_fault_has_the_highest_precedence_and_is_first(emulator: World) -> None:
    await add(emulator, {"then": {"status": 500}})
    await add(emulator, {"then": {"status": 429}, "times": 1})
    assert [fault["then"]["status"] for fault in await faults(emulator)] == [429, 500]
    assert [await status_of_a_list(emulator) for _ in range(2)] == [429, 500]


async def test_a_fault_with_times_shows_its_uses(emulator: World) -> None:
    await add(emulator, {"then": {"status": 500}, "times": 2})
    await add(emulator, {"when": {"mode": "live"}, "then": {"status": 500}})
    for used in (0, 1, 2, 2):
        other, counted = await faults(emulator)
        assert ("used" in other, counted["used"]) == (False, used)
        await status_of_a_list(emulator)


async def test_one_fault_or_all_can_be_deleted(emulator: World) -> None:
    first, second, third = [
        (await add(emulator, {"then": {"status": status}})).json() for status in (500, 501, 502)
    ]
    assert (await emulator.control("DELETE", f"/faults/{second['id']}")).status_code == 204
    assert await faults(emulator) == [third, first]
    assert (await emulator.control("DELETE", "/faults")).status_code == 204
    assert await faults(emulator) == []
    assert await status_of_a_list(emulator) == 200


async def test_a_fault_applies_to_its_account_only(emulator: World) -> None:
    await add(emulator, {"then": {"status": 500}}, OTHER_TEST_KEY)
    assert await faults(emulator) == []
    assert await status_of_a_list(emulator) == 200
    assert await status_of_a_list(emulator, OTHER_TEST_KEY) == 500


@pytest.mark.parametrize(
    ("rule", "code", "param", "words"),
    [
        ({}, "missing_parameter", "then", "required"),
        ({"then": None}, "missing_parameter", "then", "required"),
        ({"then": {"status": 500}, "wen": {}}, "unknown_parameter", "wen", "mean 'when'?"),
        ({"then": {"status": 200}}, "invalid_fault", "then", "status must be"),
        ({"then": {"statu": 500}}, "invalid_fault", "then", "did you mean 'status'?"),
        ({"then": {}}, "invalid_fault", "then", "status, body, latency, drop, truncate or hold"),
        ({"then": {"drop": True, "status": 500}}, "invalid_fault", "then", "is not allowed"),
        ({"then": {"latency": 5}}, "invalid_fault", "then", "duration"),
        ({"then": {"retry_after": 5}}, "invalid_fault", "then", "status"),
        ({"when": {"nth": 0}, **DROP}, "invalid_fault", "when", "nth must be"),
        ({"when": {"chance": 2}, **DROP}, "invalid_fault", "when", "chance must"),
        ({"when": {"nth": 1, "every": 2}, **DROP}, "invalid_fault", "when", "every"),
        ({"when": {"request": "pay"}, **DROP}, "invalid_fault", "when", "list_p"),
        ({"times": 0, **DROP}, "invalid_fault", "times", "times must be"),
        ({"then": "drop"}, "invalid_fault", "then", "then must be a mapping"),
        ([1], "invalid_request_body", None, "object"),
        ('{"then":{"status":500},"then":{"status":429}}', "duplicate_parameter", "then", ""),
        ('{"then":{"status":500,"status":429}}', "duplicate_parameter", "then", ""),
        ('{"then":{"drop":true},"when":{"nth":%s}}' % ("9" * 5_000), "invalid_fault", "when", ""),
        ('{"then":{"drop":true},"when":{"nth":1e2}}', "invalid_fault", "when", ""),
        ('{"then":{"drop":true},"when":{"chance":1e99999999}}', "invalid_fault", "when", ""),
        ('{"then":{"drop":true},"when":{"ch\\ud83d\\ude00":1}}', "invalid_fault", "when", ""),
        ('{"then":{"drop":true}', "invalid_json", None, ""),
    ],
)
async def test_a_wrong_fault_is_refused_with_a_message(
    emulator: World, rule: Any, code: str, param: str | None, words: str
) -> None:
    content = rule if isinstance(rule, str) else json.dumps(rule)
    response = await emulator.api.post(
        "/_emulator/faults", content=content, headers={**headers(), **JSON}
    )
    assert refusal(response) == (400, code, param)
    assert words in response.json()["error"]["message"]
    assert await faults(emulator) == []


async def test_each_fault_has_a_new_id(emulator: World) -> None:
    given = []
    for _ in range(3):
        fault = (await add(emulator, {"then": {"status": 500}})).json()
        given.append(fault["id"])
        await emulator.control("DELETE", f"/faults/{fault['id']}")
    assert len(set(given)) == 3


async def test_a_deleted_fault_leaves_no_counts(emulator: World) -> None:
    rule = {"when": {"nth": 1}, "then": {"status": 500}, "times": 1}
    await add(emulator, rule)
    await status_of_a_list(emulator)
    await emulator.control("DELETE", "/faults")
    tables = ("request_counts", "rule_uses", "faults")

    def counted(tx: Transaction) -> list[int]:
        counts = (f"SELECT count(*) FROM {table}" for table in tables)  # noqa: S608
        return [tx.execute(count).fetchone()[0] for count in counts]

    assert await emulator.app.engine.scenarios._database.read(counted) == [0, 0, 0]


async def test_a_fault_must_be_json(emulator: World) -> None:
    response = await emulator.api.post(
        "/_emulator/faults",
        content=b"then: {drop: true}",
        headers={**headers(), "Content-Type": "application/yaml"},
    )
    assert refusal(response) == (400, "unsupported_content_type", None)


async def test_used_up_faults_do_not_count(emulator: World) -> None:
    await add(emulator, {"when": {"mode": "live"}, "then": {"drop": True}})
    for _ in range(limits.MAX_FAULTS - 1):
        assert (await add(emulator, {"then": {"status": 500}, "times": 1})).status_code == 201
    for _ in range(5):
        assert await status_of_a_list(emulator) == 500
    assert (await add(emulator, {"then": {"status": 429}, "times": 1})).status_code == 201
    assert len(await faults(emulator)) == limits.MAX_FAULTS - 4
    assert await status_of_a_list(emulator) == 429
