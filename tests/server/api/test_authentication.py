"""Authentication (contract, section 5)."""

import asyncio
from urllib.parse import quote

import pytest

from emulator.domain.accounts import RateLimit
from tests.server.api.calls import JSON, PAYMENTS, get, ids, page, post, refusal
from tests.world import LIVE_KEY, TEST_KEY, World, headers, order, world

MISSING = (401, "missing_api_key", None)
INVALID = (401, "invalid_api_key", None)
# Every visible character of ASCII.
VISIBLE = "test_" + "".join(map(chr, range(0x21, 0x7F)))


HEADERS: list[tuple[bytes | None, tuple[int, str, None]]] = [
    (None, MISSING),
    *(
        (value, MISSING)
        for value in (
            *(b"", b"Bearer", b"Bearer ", b"bearer    ", b"Bearertest_demo_key"),
            *(b"Basic dGVzdF9kZW1vX2tleTo=", b"Token test_demo_key", b"test_demo_key"),
        )
    ),
    *(
        (b"Bearer " + key, INVALID)
        for key in (
            *(b"demo_key", b"TEST_demo_key", b"Test_Demo_Key", b"sk_demo_key"),
            *(b"test_", b"test_abc", b"test_" + b"a" * 129, b"test_" + b"a" * 100_000),
            *(b"test_demo-key", b"test_demo_key extra", b'"test_demo_key"', b"test_demo_key,"),
            *(b"test_d\xc3\xa9mo_key", b"\xff\xfe", b"\x00", b"test_unknown", b"live_unknown"),
        )
    ),
]


@pytest.mark.clause("5.1", "5.4", "7.8")
async def test_a_missing_or_invalid_key_yields_401(emulator: World) -> None:
    for authorization, expected in HEADERS:
        sent = [] if authorization is None else [(b"Authorization", authorization)]
        response = await emulator.api.get(PAYMENTS, headers=sent)
        assert refusal(response) == expected, authorization
        assert response.headers["www-authenticate"] == "Bearer"


@pytest.mark.clause("5.1", "5.4")
async def test_two_authorization_headers_yield_401(emulator: World) -> None:
    key, wrong = f"Bearer {TEST_KEY}", "Bearer test_unknown"
    for two in ((key, key), (key, wrong), (wrong, key), (key, "Basic dDo=")):
        sent = [("Authorization", value) for value in two]
        for method, path in (("GET", PAYMENTS), ("POST", PAYMENTS), ("GET", "/v1/no")):
            response = await emulator.api.request(method, path, headers=sent)
            assert refusal(response) == INVALID, two
        assert (await emulator.api.get("/_emulator/clock", headers=sent)).status_code == 401


@pytest.mark.clause("5.1")
@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", "bEaReR"])
async def test_the_scheme_may_be_written_in_any_case(emulator: World, scheme: str) -> None:
    sent = {"Authorization": f"{scheme} {TEST_KEY}"}
    assert (await emulator.api.get(PAYMENTS, headers=sent)).status_code == 200


async def test_a_refusal_does_not_repeat_the_key(emulator: World) -> None:
    response = await get(emulator, PAYMENTS, "test_very_secret_word")
    assert "very_secret_word" not in response.text


@pytest.mark.clause("4.0.5")
@pytest.mark.parametrize(
    ("method", "path", "body", "content_type"),
    [
        *(("GET", f"/v1{path}", b"", JSON) for path in ("", "/", "/nothing")),
        *(("GET", f"/v1/payments{rest}", b"", JSON) for rest in ("/pay_unknown", "?limit=0")),
        *((method, "/v1/payments", b"{}", JSON) for method in ("PATCH", "OPTIONS")),
        ("DELETE", "/v1/payments/pay_x", b"", JSON),
        ("POST", "/v1/payments", b"{", JSON),
        ("POST", "/v1/payments", b"{}", "text/plain"),
        ("POST", "/v1/payments", b" " * 300_000, JSON),
    ],
)
async def test_authentication_is_the_first_check(
    emulator: World, method: str, path: str, body: bytes, content_type: str
) -> None:
    response = await emulator.api.request(
        method, path, content=body, headers={"Content-Type": content_type}
    )
    assert refusal(response) == MISSING


@pytest.mark.parametrize("key", ["test_unknown_key", "sk_of_another_service"])
async def test_an_unknown_key_leads_to_the_one_that_is_printed(emulator: World, key: str) -> None:
    message = (await get(emulator, PAYMENTS, key)).json()["error"]["message"]
    assert "The emulator prints its test key at start" in message
    assert key not in message
    assert TEST_KEY not in message


async def test_an_unauthenticated_request_does_not_count_towards_a_rate_limit() -> None:
    async with world(rate_limit=RateLimit(requests=1, period_ms=1000)) as emulator:
        for _ in range(5):
            assert refusal(await get(emulator, PAYMENTS, "test_unknown")) == INVALID
        assert (await get(emulator, PAYMENTS)).status_code == 200


@pytest.mark.clause("1.11", "5.2", "5.3")
async def test_the_prefix_of_the_key_chooses_sandbox_or_live(emulator: World) -> None:
    sandbox = await emulator.create()
    live = await emulator.create(LIVE_KEY)
    assert await ids(emulator) == [sandbox["id"]]
    assert await ids(emulator, LIVE_KEY) == [live["id"]]
    for payment, key in ((sandbox, LIVE_KEY), (live, TEST_KEY)):
        response = await get(emulator, f"{PAYMENTS}/{payment['id']}", key)
        assert refusal(response) == (404, "payment_not_found", None)


class TestAutoProvision:
    """Section 5 does not state where keys come from; `--auto-provision` creates accounts."""

    async def test_an_unknown_test_key_becomes_a_new_empty_account(self) -> None:
        async with world(auto_provision=True) as emulator:
            ours = await emulator.create()
            assert await ids(emulator, "test_new_merchant") == []
            theirs = await emulator.create("test_new_merchant")
            assert await ids(emulator, "test_new_merchant") == [theirs["id"]]
            assert await ids(emulator) == [ours["id"]]

    async def test_only_well_formed_test_keys_become_accounts(self) -> None:
        async with world(auto_provision=True) as emulator:
            for key in ("live_new_merchant", "test_abc", "test_new merchant", "other_merchant"):
                assert refusal(await get(emulator, PAYMENTS, key)) == INVALID, key
            for key in ("test_abcd", "test_" + "Z9_" * 42 + "zz", VISIBLE, "test_" + "~" * 128):
                assert (await page(emulator, key))["data"] == [], key

    async def test_first_requests_that_arrive_together_make_one_account(self) -> None:
        async with world(auto_provision=True) as emulator:
            answers = await asyncio.gather(
                *(post(emulator, order(), "test_new_merchant") for _ in range(16))
            )
            assert {answer.status_code for answer in answers} == {201}
            created = {answer.json()["id"] for answer in answers}
            assert len(created) == 16
            assert set(await ids(emulator, "test_new_merchant", limit=100)) == created


@pytest.mark.clause("5.6")
async def test_a_key_of_any_visible_characters_is_masked_where_it_appears(
    emulator: World,
) -> None:
    await emulator.done("POST", "/accounts", {"test_key": VISIBLE})
    payment = await emulator.create(VISIBLE)
    assert await ids(emulator, VISIBLE) == [payment["id"]]
    # In a text, a quote or a backslash ends a key.
    key = VISIBLE.replace('"', "").replace("\\", "")
    await emulator.done("POST", "/accounts", {"test_key": key})
    await emulator.api.get(f"{PAYMENTS}/{quote(key, safe='')}", headers=headers(key))
    await post(emulator, order(metadata={"key": key}), key)
    shown = (await emulator.control("GET", "/requests", key=key)).text
    shown += (await emulator.control("GET", "/accounts")).text + "".join(emulator.log)
    assert quote(key[:12]) not in shown
    assert key[:12] not in shown


async def test_a_given_key_replaces_the_demo_key() -> None:
    async with world(test_key="test_of_our_own") as emulator:
        response = await emulator.api.get(PAYMENTS, headers=headers("test_of_our_own"))
        assert response.status_code == 200
        assert refusal(await get(emulator, PAYMENTS, TEST_KEY)) == INVALID
