"""Accounts are created, deleted and reset."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from emulator.domain.accounts import is_well_formed_key
from emulator.domain.user_error import UserError
from tests.server.control import refusal
from tests.world import OTHER_TEST_KEY, START, TEST_KEY, World, headers, world


async def created(emulator: World, **properties: Any) -> dict[str, Any]:
    return dict(await emulator.done("POST", "/accounts", properties))


async def account_ids(emulator: World) -> list[str]:
    return [account["id"] for account in (await emulator.shown("/accounts"))["data"]]


async def test_the_response_of_a_creation_has_the_complete_keys(emulator: World) -> None:
    account = await created(emulator)
    assert list(account) == ["id", "name", "test_key", "live_key", "clock", "vary"]
    assert account["id"].startswith("acct_")
    assert is_well_formed_key(account["test_key"])
    assert is_well_formed_key(account["live_key"])
    assert account["clock"] == f"frozen@{START}"


async def test_a_new_account_has_the_requested_properties(emulator: World) -> None:
    properties = {
        "name": "ልብስ ቤት",
        "test_key": "test_" + "k" * 128,
        "live_key": "live_mine",
        "clock": "frozen@2030-06-01T12:00:00.500Z",
    }
    account = await created(emulator, **properties, seed=-(2**63))
    assert {name: account[name] for name in properties} == properties
    assert (await emulator.shown("/clock", key="live_mine")) == {
        "now": "2030-06-01T12:00:00.500Z",
        "frozen": True,
        "rate": None,
        "next": None,
    }


async def test_a_new_account_can_have_a_flowing_clock(emulator: World) -> None:
    account = await created(emulator, clock="real")
    assert account["clock"] == "real"
    response = await emulator.control("GET", "/clock", key=account["test_key"])
    assert response.json()["frozen"] is False


async def test_a_new_account_is_empty_and_ready(emulator: World) -> None:
    await emulator.create()
    key = (await created(emulator))["test_key"]
    assert (await emulator.api.get("/v1/payments", headers=headers(key))).json()["data"] == []
    payment = await emulator.create(key)
    assert (await emulator.retrieve(payment["id"], key)) == payment


async def test_the_same_seed_and_key_give_the_same_ids(emulator: World) -> None:
    first = await created(emulator, test_key="test_twin", live_key="live_twin", seed=7)
    payment = await emulator.create("test_twin")
    await emulator.control("DELETE", f"/accounts/{first['id']}")
    await created(emulator, test_key="test_twin", live_key="live_twin", seed=7)
    assert await emulator.create("test_twin") == payment


async def test_two_accounts_cannot_share_a_key(emulator: World) -> None:
    response = await emulator.control("POST", "/accounts", {"test_key": OTHER_TEST_KEY})
    assert refusal(response) == (400, "invalid_test_key", "test_key")
    response = await emulator.control("POST", "/accounts", {"live_key": "live_demo_key"})
    assert refusal(response) == (400, "invalid_live_key", "live_key")
    assert await account_ids(emulator) == ["acct_other", "acct_demo"]


async def test_the_first_account_cannot_take_the_key_of_a_stored_account(tmp_path: Path) -> None:
    database = str(tmp_path / "state.sqlite")
    async with world(database=database) as emulator:
        await created(emulator, test_key="test_taken")
    with pytest.raises(UserError, match="another account of the database already has the key"):
        async with world(database=database, test_key="test_taken"):
            pass


async def test_of_concurrent_requests_for_one_key_one_gets_it(emulator: World) -> None:
    responses = await asyncio.gather(
        *(emulator.control("POST", "/accounts", {"test_key": "test_same"}) for _ in range(8))
    )
    assert sorted(response.status_code for response in responses) == [201] + [400] * 7


async def test_an_account_can_take_over_the_key_of_the_first_account(emulator: World) -> None:
    earlier = await emulator.create()
    account = await created(emulator, takes_over=TEST_KEY)
    assert account["test_key"] != TEST_KEY
    payment = await emulator.create()
    assert await emulator.retrieve(payment["id"], account["test_key"]) == payment
    listed = await emulator.api.get("/v1/payments", headers=headers(TEST_KEY))
    assert [each["id"] for each in listed.json()["data"]] == [payment["id"]]
    refused = await emulator.control("POST", "/accounts", {"takes_over": TEST_KEY})
    assert refusal(refused) == (400, "invalid_takes_over", "takes_over")
    await emulator.control("DELETE", f"/accounts/{account['id']}")
    assert await emulator.retrieve(earlier["id"]) == earlier
    await created(emulator, takes_over=TEST_KEY)
    await emulator.control("POST", "/reset", {"all": True})
    await created(emulator, takes_over=TEST_KEY)


async def test_of_concurrent_requests_one_takes_over_the_key(emulator: World) -> None:
    responses = await asyncio.gather(
        *(emulator.control("POST", "/accounts", {"takes_over": TEST_KEY}) for _ in range(8))
    )
    assert sorted(response.status_code for response in responses) == [201] + [400] * 7


async def test_accounts_are_listed_newest_first_with_masked_keys(emulator: World) -> None:
    newest = await created(emulator, name="Newest", live_key="live_1234")
    listed = (await emulator.shown("/accounts"))["data"]
    assert listed == [await emulator.shown(f"/accounts/{each['id']}") for each in listed]
    assert listed == [
        {
            "id": newest["id"],
            "name": "Newest",
            "test_key": f"{newest['test_key'][:7]}…{newest['test_key'][-3:]}",
            "live_key": "live_…",
            "clock": f"frozen@{START}",
            "vary": "off",
        },
        *(
            {
                "id": f"acct_{name.lower()}",
                "name": f"{name} Merchant",
                "test_key": f"test_{name[:2].lower()}…key",
                "live_key": f"live_{name[:2].lower()}…key",
                "clock": f"frozen@{START}",
                "vary": "off",
            }
            for name in ("Other", "Demo")
        ),
    ]


async def test_an_account_is_deleted_with_its_data(emulator: World) -> None:
    account = await created(emulator)
    await emulator.create(account["test_key"])
    response = await emulator.control("DELETE", f"/accounts/{account['id']}")
    assert (response.status_code, response.content) == (204, b"")
    assert account["id"] not in await account_ids(emulator)
    for key in (account["test_key"], account["live_key"]):
        response = await emulator.control("GET", "/clock", key=key)
        assert refusal(response) == (401, "invalid_api_key", None)


async def test_an_account_can_delete_itself(emulator: World) -> None:
    account = await created(emulator)
    path = f"/accounts/{account['id']}"
    assert (await emulator.control("DELETE", path, key=account["test_key"])).status_code == 204
    response = await emulator.control("DELETE", path, key=account["test_key"])
    assert refusal(response) == (401, "invalid_api_key", None)


async def test_of_concurrent_deletions_one_finds_the_account(emulator: World) -> None:
    account = await created(emulator)
    path = f"/accounts/{account['id']}"
    responses = await asyncio.gather(*(emulator.control("DELETE", path) for _ in range(4)))
    assert sorted(response.status_code for response in responses) == [204, 404, 404, 404]


async def test_a_waiting_reset_does_not_restore_a_deleted_account(emulator: World) -> None:
    account = await created(emulator)
    key = account["test_key"]
    responses = await asyncio.gather(
        emulator.control("DELETE", f"/accounts/{account['id']}"),
        emulator.control("POST", "/reset", key=key),
        emulator.control("POST", "/clock/advance", {"seconds": 1}, key),
        emulator.control("PUT", "/clock", {"frozen": False}, key),
    )
    assert [response.status_code for response in responses] == [204, 401, 401, 401]
    again = await created(emulator, test_key=key, live_key=account["live_key"])
    assert again["id"] != account["id"]


async def test_a_reset_restores_the_initial_state(emulator: World) -> None:
    payment = await emulator.create(idempotency_key="once")
    other = await emulator.create(OTHER_TEST_KEY)
    await emulator.advance(90)
    await emulator.control("PUT", "/clock", {"frozen": False})
    response = await emulator.control("POST", "/reset")
    assert (response.status_code, response.content) == (204, b"")
    assert (await emulator.shown("/clock")) == {
        "now": "2026-01-01T00:00:00.000Z",
        "frozen": True,
        "rate": None,
        "next": None,
    }
    assert (await emulator.shown("/events"))["data"] == []
    response = await emulator.control("GET", f"/payments/{payment['id']}")
    assert refusal(response) == (404, "payment_not_found", None)
    assert await emulator.retrieve(other["id"], OTHER_TEST_KEY) == other
    # With a seed all begins again, and the idempotency key has not been used.
    assert await emulator.create(idempotency_key="once") == payment


async def test_resetting_all_leaves_the_first_two_accounts(emulator: World) -> None:
    first = await created(emulator)
    payment = await emulator.create()
    other = await emulator.create(OTHER_TEST_KEY)
    await emulator.advance(60, OTHER_TEST_KEY)
    response = await emulator.control("POST", "/reset", {"all": True}, first["test_key"])
    assert response.status_code == 204
    assert await account_ids(emulator) == ["acct_other", "acct_demo"]
    assert await emulator.create() == payment
    assert await emulator.create(OTHER_TEST_KEY) == other
    assert await created(emulator) == first


async def test_resetting_all_brings_the_second_account_back(emulator: World) -> None:
    other = await emulator.create(OTHER_TEST_KEY)
    await emulator.control("DELETE", "/accounts/acct_other")
    responses = await asyncio.gather(
        *(emulator.control("POST", "/reset", {"all": True}) for _ in range(3))
    )
    assert [response.status_code for response in responses] == [204] * 3
    assert await account_ids(emulator) == ["acct_other", "acct_demo"]
    assert await emulator.create(OTHER_TEST_KEY) == other


async def test_resetting_all_restores_no_account_whose_key_another_has(emulator: World) -> None:
    await emulator.control("DELETE", "/accounts/acct_other")
    responses = await asyncio.gather(
        emulator.control("POST", "/reset", {"all": True}),
        emulator.control("POST", "/accounts", {"test_key": OTHER_TEST_KEY}),
    )
    assert [response.status_code for response in responses] == [204, 201]
    assert "acct_other" not in await account_ids(emulator)


async def test_all_false_resets_the_account_alone(emulator: World) -> None:
    await created(emulator)
    await emulator.control("POST", "/reset", {"all": False})
    assert len(await account_ids(emulator)) == 3


async def test_concurrent_resets_of_all_succeed(emulator: World) -> None:
    for _ in range(5):
        await created(emulator)
    responses = await asyncio.gather(
        *(emulator.control("POST", "/reset", {"all": True}) for _ in range(4)),
        *(emulator.control("POST", "/accounts") for _ in range(4)),
    )
    assert [response.status_code for response in responses] == [204] * 4 + [201] * 4
    await created(emulator)
