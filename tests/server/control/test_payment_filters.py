"""The filters of `GET /_emulator/payments` that the contract does not have."""

import pytest

from tests.server.control import refusal
from tests.server.engine.webhook_world import pay
from tests.world import World

FILTERS = {
    "amount_gte=300": ["large"],
    "amount_lte=200": ["small"],
    "amount_gte=200&amount_lte=300": ["middle"],
    "phone=0900000001": ["middle"],
    "phone=%2B251900000001&amount_lte=100": [],
    "metadata=order%3Dsm": ["small"],
    "metadata=%E1%88%B5%E1%88%9D": ["large"],
    "metadata=%25": [],
    "metadata=order&status=pending&limit=1": ["large"],
}


@pytest.mark.parametrize(("query", "found"), FILTERS.items())
async def test_payments_are_filtered(emulator: World, query: str, found: list[str]) -> None:
    await emulator.create(amount=100, metadata={"order": "small"})
    await pay(emulator, await emulator.create(amount=250, metadata={"order": "middle"}))
    await emulator.create(amount=400, metadata={"order": "large", "ስም": "አበበ"})
    response = await emulator.control("GET", f"/payments?{query}")
    assert [each["metadata"]["order"] for each in response.json()["data"]] == found


async def test_filtered_pages_have_each_payment_once(emulator: World) -> None:
    created = [(await emulator.create(amount=100 + n % 2))["id"] for n in range(30)]
    found, cursor = [], ""
    while True:
        response = await emulator.control("GET", f"/payments?amount_gte=101&limit=4{cursor}")
        page = response.json()
        found += [each["id"] for each in page["data"]]
        if not page["has_more"]:
            break
        cursor = f"&after={page['next_cursor']}"
    assert found == created[1::2][::-1]


@pytest.mark.parametrize("query", ["amount_gte=1.5", "amount_lte=", "phone=12"])
async def test_a_wrong_filter_is_refused(emulator: World, query: str) -> None:
    name = query.partition("=")[0]
    response = await emulator.control("GET", f"/payments?{query}")
    assert refusal(response) == (400, f"invalid_{name}", name)


async def test_the_contract_has_no_such_filters(emulator: World) -> None:
    await emulator.create(amount=100)
    assert len(await emulator.payments()) == 1
    response = await emulator.api.get(
        "/v1/payments?amount_gte=500", headers={"Authorization": "Bearer test_demo_key"}
    )
    assert len(response.json()["data"]) == 1
