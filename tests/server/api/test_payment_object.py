"""The payment object and its retrieval (contract, sections 2.1 and 4.2)."""

import json
import re
from itertools import pairwise
from typing import Any

import pytest

from emulator.domain.payment import OPTIONAL_TERMS
from emulator.settings import Settings
from emulator.tools.verify.contract import FIELDS
from tests.server.api.calls import PAYMENTS, WARNING, event_types, get, page, post, refusal
from tests.world import LIVE_KEY, OTHER_TEST_KEY, TEST_KEY, World, order, world

ID = re.compile(r"pay_[A-Za-z0-9]{24}")
TIMESTAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")
CHECKOUT_URL = re.compile(r"http://127\.0\.0\.1:8081/c/[A-Za-z0-9_-]{22,}")

UNKNOWN = (404, "payment_not_found", None)


@pytest.mark.clause("2.1.15", "2.2.1", "4.1.15")
async def test_a_payment_has_exactly_the_stated_fields_in_their_order(
    emulator: World,
) -> None:
    created = await post(emulator, order(metadata={"b": "1", "a": "2"}, idempotency_key="k"))
    payment = created.json()
    assert tuple(payment) == FIELDS
    retrieved = await get(emulator, f"{PAYMENTS}/{payment['id']}")
    assert retrieved.content == created.content
    assert (await page(emulator))["data"] == [payment]


@pytest.mark.clause("2.1.1", "2.1.2", "2.1.3", "2.1.4", "2.1.5", "2.1.6", "2.1.7", "2.1.9")
@pytest.mark.clause("2.1.10", "2.1.14", "4.1.1", "9.2")
async def test_a_new_payment_has_the_values_of_the_contract(emulator: World) -> None:
    payment = await emulator.create()
    assert ID.fullmatch(payment.pop("id"))
    assert CHECKOUT_URL.fullmatch(payment.pop("checkout_url"))
    absent = {name: payment.pop(name) for name in OPTIONAL_TERMS}
    assert absent == {"metadata": {}, **dict.fromkeys(absent.keys() - {"metadata"})}
    assert payment == {
        "object": "payment",
        "amount": 15_000,
        "currency": "ETB",
        "status": "pending",
        "method": None,
        "success_url": "https://shop.example/ok?order=1",
        "cancel_url": "https://shop.example/no",
        "created_at": "2026-01-01T00:00:00.000Z",
        "expires_at": "2026-01-01T00:30:00.000Z",
        "completed_at": None,
    }


@pytest.mark.clause("2.1.12", "2.1.13")
async def test_timestamps_are_utc_with_milliseconds(emulator: World) -> None:
    await emulator.advance(0.007)
    payment = await emulator.create(expires_in=61)
    assert payment["created_at"] == "2026-01-01T00:00:00.007Z"
    assert payment["expires_at"] == "2026-01-01T00:01:01.007Z"
    assert TIMESTAMP.fullmatch(payment["created_at"])


@pytest.mark.clause("1.2", "4.1.16", "7.6")
async def test_a_created_payment_is_compact_json_and_has_its_location(emulator: World) -> None:
    created = await post(emulator, order(metadata={"ቁልፍ": "ዋጋ\u2028"}))
    compact = json.dumps(created.json(), ensure_ascii=False, separators=(",", ":"))
    assert created.content == compact.encode()
    assert created.headers["location"] == f"/v1/payments/{created.json()['id']}"
    assert (await get(emulator, created.headers["location"])).content == created.content


@pytest.mark.clause("1.4", "2.1.1")
async def test_ids_and_checkout_tokens_are_unique_and_independent(emulator: World) -> None:
    payments = [await emulator.create() for _ in range(100)]
    ids = {payment["id"] for payment in payments}
    tokens = {payment["checkout_url"].rpartition("/")[2] for payment in payments}
    assert len(ids) == len(tokens) == 100
    for payment, next_payment in pairwise(payments):
        for name, prefix in (("id", 10), ("checkout_url", 40)):
            assert payment[name][prefix:] != next_payment[name][prefix:]


@pytest.mark.clause("1.10")
async def test_the_checkout_has_the_configured_address() -> None:
    async with world(checkout_url="https://pay.staging.example/base") as emulator:
        payment = await emulator.create()
        assert payment["checkout_url"].startswith("https://pay.staging.example/base/c/")


class TestRetrieve:
    """4.2: the payment object of an id; 404 when it does not exist or is another account's."""

    @pytest.mark.clause("4.2.1", "4.2.6")
    async def test_an_unknown_payment_is_not_found(self, emulator: World) -> None:
        known = (await emulator.create())["id"]
        for payment_id in (
            *("pay_unknown", "pay_", "x", "pay_000000000000000000000000", "0", "a" * 10000),
            *("%00", "%20", "%F0%9F", "'%20OR%201=1--", "pay_%25", "%E1%89%A5"),
            *(known.swapcase(), known[:-1], f"{known}0"),
        ):
            response = await get(emulator, f"{PAYMENTS}/{payment_id}")
            assert refusal(response) == UNKNOWN, payment_id[:20]

    @pytest.mark.clause("4.2.7", "5.5")
    @pytest.mark.parametrize("key", [OTHER_TEST_KEY, LIVE_KEY, "live_other_key"])
    async def test_a_foreign_payment_is_reported_as_unknown(
        self, emulator: World, key: str
    ) -> None:
        payment = await emulator.create()
        await emulator.retrieve(payment["id"])
        theirs = await get(emulator, f"{PAYMENTS}/{payment['id']}", key)
        assert refusal(theirs) == UNKNOWN
        nobodys = await get(emulator, f"{PAYMENTS}/pay_unknown", key)
        assert theirs.text.replace(payment["id"], "pay_unknown") == nobodys.text

    @pytest.mark.parametrize(("key", "mode"), [(LIVE_KEY, "live"), (OTHER_TEST_KEY, "test")])
    async def test_the_message_names_the_mode_of_the_key(
        self, emulator: World, key: str, mode: str
    ) -> None:
        payment = await emulator.create()
        response = await get(emulator, f"{PAYMENTS}/{payment['id']}", key)
        assert response.json()["error"]["message"] == (
            f"There is no payment '{payment['id']}'. This is {mode} mode; a payment is in the mode"
            " of the key that created it."
        )

    @pytest.mark.clause("4.2.3", "7.5")
    async def test_reading_changes_nothing(self, emulator: World) -> None:
        payment = await emulator.create()
        bodies = {(await get(emulator, f"{PAYMENTS}/{payment['id']}")).content for _ in range(5)}
        assert len(bodies) == 1
        assert await event_types(emulator) == ["payment.created"]


class TestPolling:
    """4.2: polling is meant for use before going live."""

    async def read(self, emulator: World, payment: dict[str, Any], key: str) -> str | None:
        response = await get(emulator, f"{PAYMENTS}/{payment['id']}", key)
        assert response.status_code == 200
        return response.headers.get(WARNING)

    @pytest.mark.clause("4.2.4")
    @pytest.mark.parametrize("is_strict", [False, True])
    async def test_more_than_thirty_reads_of_a_live_payment_get_a_warning(
        self, is_strict: bool
    ) -> None:
        async with world(strict=is_strict) as emulator:
            payment, other = await emulator.create(LIVE_KEY), await emulator.create(LIVE_KEY)
            for _ in range(40):
                # Neither lists nor payments that are not found count.
                await page(emulator, LIVE_KEY)
                await get(emulator, f"{PAYMENTS}/{payment['id']}")
            warnings = [await self.read(emulator, payment, LIVE_KEY) for _ in range(32)]
            assert warnings == [None] * 30 + ["frequent-polling"] * 2
            assert await self.read(emulator, other, LIVE_KEY) is None

    @pytest.mark.clause("4.2.4")
    async def test_polling_in_the_sandbox_gets_no_warning(self, emulator: World) -> None:
        payment = await emulator.create()
        assert {await self.read(emulator, payment, TEST_KEY) for _ in range(40)} == {None}


@pytest.mark.clause("2.1.12")
async def test_a_clock_that_flows_stamps_with_its_own_milliseconds() -> None:
    async with world(Settings(seed=1)) as emulator:
        emulator.wall.move(1_234)
        assert (await emulator.create())["created_at"] == "2026-01-01T00:00:01.234Z"
