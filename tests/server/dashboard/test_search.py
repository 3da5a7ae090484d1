"""The search: ids in every account, and what payments, requests and endpoints contain."""

from html import unescape
from urllib.parse import quote

import pytest

from emulator.server.engine.accounts.search import MAX_MATCHES
from tests.server.dashboard import VIEW, get, page, texts
from tests.server.engine.webhook_world import register
from tests.world import LIVE_KEY, World, headers, order


async def matches(emulator: World, text: str) -> list[str]:
    """The id, and the words about it, of each match."""
    return texts(await page(emulator, f"search?list=1&q={quote(text)}"), "match")


async def address(emulator: World, text: str) -> str:
    """Where the search of a text with one match leads."""
    response = await get(emulator, f"search?q={quote(text)}")
    assert response.status_code == 303, response.text
    return unescape(response.headers["location"]).removeprefix(f"{VIEW}/")


async def test_each_kind_of_id_is_found_by_its_beginning(emulator: World) -> None:
    endpoint = await register(emulator, "http://127.0.0.1:9/")
    payment = await emulator.create()
    delivery = (await emulator.shown("/deliveries"))["data"][0]
    request = (await emulator.shown("/requests"))["data"][0]["id"]
    at = "account=acct_demo&mode=test"
    for name, leads in {
        payment["id"]: f"payments/{payment['id']}?{at}",
        delivery["id"]: f"webhooks/{delivery['id']}?{at}",
        delivery["event"]: f"webhooks/{delivery['event']}?{at}",
        request: f"requests/{request}?{at}",
        endpoint["id"]: f"webhooks?{at}&endpoint={endpoint['id']}",
    }.items():
        assert await address(emulator, name) == leads
        assert await address(emulator, f" {name[:12]} ") == leads
    assert await address(emulator, "acct_oth") == "payments?account=acct_other&mode=test"


async def test_an_id_of_another_account_or_mode_is_found(emulator: World) -> None:
    live = await emulator.create(LIVE_KEY)
    account = await emulator.done("POST", "/accounts", {"name": "Addis Books"})
    other = await emulator.create(account["test_key"])
    assert await matches(emulator, live["id"]) == [
        f"{live['id'][-8:]} ETB 150.00 pending now {live['id']} Demo Merchant, live mode"
    ]
    for name in (
        other["id"],
        (await emulator.shown("/requests", account["test_key"]))["data"][0]["id"],
    ):
        assert "Addis Books, test mode" in (await matches(emulator, name[:14]))[0]


async def test_an_id_of_every_account_is_found_by_its_end_in_any_case(emulator: World) -> None:
    account = await emulator.done("POST", "/accounts", {"name": "Addis Books"})
    await register(emulator, "http://127.0.0.1:9/", account["test_key"])
    live, other = await emulator.create(LIVE_KEY), await emulator.create(account["test_key"])
    delivery = (await emulator.shown("/deliveries", account["test_key"]))["data"][0]
    request = (await emulator.shown("/requests", account["test_key"]))["data"][0]
    for name in (live["id"], other["id"], delivery["id"], delivery["event"], request["id"]):
        for end in (name[-6:], name[-8:].swapcase()):
            assert name in (await matches(emulator, end))[0]


@pytest.mark.parametrize(
    "text",
    [
        *("0911 223344", "+251911223344", "22334", "1,234.50", "ETB 1234.50", "123450"),
        *("order=77", "lam_T"),
    ],
)
async def test_a_payment_is_found_by_what_it_contains(emulator: World, text: str) -> None:
    await emulator.create()
    payment = await emulator.create(amount=123450, metadata={"order": "77", "name": "Selam_T"})
    await emulator.pay(payment, "0911223344")
    assert await matches(emulator, text) == [f"77 ETB 1,234.50 processing now {payment['id']}"]


@pytest.mark.parametrize("text", ["45", "ETB 45", "45.00", "12", "ቡና", "7"])
async def test_a_short_text_is_an_exact_amount_or_a_whole_value_of_metadata(
    emulator: World, text: str
) -> None:
    await emulator.create(amount=4512, metadata={"order": "123", "item": "ቡናማ", "phone": "1745"})
    payment = await emulator.create(amount=4500, metadata={"order": "12", "item": "ቡና", "n": "7"})
    assert await matches(emulator, text) == [f"12 ETB 45.00 pending now {payment['id']}"]


async def test_a_payment_is_found_by_its_reference_and_its_checkout(emulator: World) -> None:
    payment, _ = await emulator.create(), await emulator.create()
    for text in (payment["id"][-8:], payment["checkout_url"], f"{payment['checkout_url']}?lang=am"):
        assert (await matches(emulator, text))[0].split()[-1] == payment["id"], text


async def test_an_error_code_leads_to_its_requests(emulator: World) -> None:
    for _ in range(2):
        await emulator.api.post("/v1/payments", json=order(amount=1), headers=headers())
    assert await matches(emulator, "invalid_am") == ["invalid_amount 2 requests"]
    assert await address(emulator, "invalid_amount") == "requests?code=invalid_amount"


@pytest.mark.parametrize("text", ["ab", "pay_%", "evt_0", "'; --", "x" * 5_000, "\u202e<b>", "50"])
async def test_a_text_without_a_match_explains_what_is_found(emulator: World, text: str) -> None:
    await emulator.create()
    html = await page(emulator, f"search?q={quote(text)}")
    assert "the address of a checkout" in texts(html, "no-match")[0]
    assert "three characters" in texts(html, "no-match")[0]
    assert "<b>" not in html


async def test_an_old_id_that_was_not_compared_leads_to_its_page(emulator: World) -> None:
    for prefix, section in (("pay", "payments"), ("evt", "webhooks"), ("req", "requests")):
        name = f"{prefix}_{'0' * 24}"
        assert await address(emulator, name) == f"{section}/{name}"


async def test_a_list_of_matches_is_bounded(emulator: World) -> None:
    for _ in range(2 * MAX_MATCHES + 1):
        await emulator.create()
    for text in ("pay_", "150.00", "PENDING"):
        html = await page(emulator, f"search?q={text}")
        assert len(texts(html, "match")) == MAX_MATCHES
        assert texts(html, "more-matches")[0].startswith(f"{MAX_MATCHES + 1} more matches")


@pytest.mark.parametrize("text", ["lb-7", "LB-7", "Failed", "Insufficient_Bal", "invalid_AMOUNT"])
async def test_a_search_ignores_case(emulator: World, text: str) -> None:
    await emulator.create(metadata={"invoice": "6"})
    payment = await emulator.create(metadata={"invoice": "LB-7"})
    await emulator.pay(payment, "0900000002")
    await emulator.api.post("/v1/payments", json=order(amount=1), headers=headers())
    [match] = await matches(emulator, text)
    failed = f"LB-7 ETB 150.00 failed insufficient_balance now {payment['id']}"
    assert match == ("invalid_amount 1 request" if "AMOUNT" in text else failed)


async def test_an_endpoint_is_found_by_a_part_of_its_url(emulator: World) -> None:
    endpoint = await register(emulator, "http://127.0.0.1:9/warehouse/Hooks")
    assert await matches(emulator, "/hooks") == [f"{endpoint['id']} {endpoint['url']}"]
