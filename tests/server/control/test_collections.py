"""Collections: payments and their filters, events, pages by `before`, and the item `latest`."""

import pytest

from tests.server.control import refusal
from tests.server.engine.webhook_world import webhook_world
from tests.world import LIVE_KEY, World, headers, world

# A query of the list of payments; the payments are failed, pending and completed, oldest first.
LISTS = (
    *("", "limit=2", "limit=1&status=pending", "method=telebirr"),
    *("created_gte=2026-01-01T00:00:01Z&created_lte=2026-01-01T00:00:01Z", "after={}&limit=1"),
    *("limit=0", "limit=101&after=pay_unknown", "after=pay_unknown&status=paid", "after=latest"),
    *("status=paid&method=cash", "status=", "method=cash", "created_gte=yesterday"),
    "created_lte=2026-01-01",
)


@pytest.mark.parametrize("query", LISTS)
async def test_a_list_of_payments_is_that_of_v1(emulator: World, query: str) -> None:
    for status in ("failed", "pending", "completed"):
        payment = await emulator.create()
        await emulator.transition(payment, *(("processing", status) if status != "pending" else ()))
        await emulator.advance(1)
    query = query.format(payment["id"])
    of_v1 = await emulator.api.get(f"/v1/payments?{query}", headers=headers())
    of_control = await emulator.control("GET", f"/payments?{query}")
    assert (of_control.status_code, of_control.content) == (of_v1.status_code, of_v1.content)


async def test_a_list_of_payments_takes_the_account_and_mode_of_its_query(emulator: World) -> None:
    payment = await emulator.create(key=LIVE_KEY)
    response = await emulator.api.get("/_emulator/payments?account=acct_demo&mode=live&limit=1")
    assert response.json() == {"data": [payment], "has_more": False, "next_cursor": None}


@pytest.mark.parametrize("path", ["/events", "/deliveries", "/requests"])
async def test_pages_have_each_entry_once_while_new_ones_are_added(path: str) -> None:
    async with webhook_world() as hooks:
        for _ in range(4):
            await hooks.create()
        everything = (await hooks.emulator.shown(path))["data"]
        ids: list[str] = []
        query, has_more = "limit=2", True
        while has_more:
            page = await hooks.emulator.shown(f"{path}?{query}")
            await hooks.create()
            assert len(page["data"]) == 2
            ids += [entry["id"] for entry in page["data"]]
            query, has_more = f"limit=2&before={ids[-1]}", page["has_more"]
        assert ids == [entry["id"] for entry in everything]
        last = await hooks.emulator.shown(f"{path}?before={ids[-1]}")
        assert (last["data"], last["has_more"]) == ([], False)


async def test_a_page_combines_before_with_filters() -> None:
    async with webhook_world() as hooks:
        first, second = await hooks.create(), await hooks.create()
        await hooks.pay(first)
        await hooks.settle()
        newest = (await hooks.deliveries())[-1]
        query = f"/deliveries?payment={first['id']}&limit=1&before={newest['id']}"
        page = await hooks.emulator.shown(query)
        assert [entry["type"] for entry in page["data"]] == ["payment.processing"]
        assert page["has_more"] is True
        page = await hooks.emulator.shown("/deliveries?event=payment.created")
        assert [entry["payment"] for entry in page["data"]] == [second["id"], first["id"]]


async def test_latest_is_the_newest_payment_delivery_or_request() -> None:
    async with webhook_world() as hooks:
        emulator = hooks.emulator
        await hooks.create()
        payment = await hooks.create()
        await emulator.create(key=LIVE_KEY)
        assert (await emulator.shown("/payments/latest"))["payment"] == payment
        changed = await emulator.pay({"id": "latest"}, "0911223344")
        assert (changed["id"], changed["status"]) == (payment["id"], "processing")
        await hooks.settle()
        for path in (
            "/deliveries/latest",
            "/deliveries/wait?event=payment.processing&payment=latest",
        ):
            found = await emulator.shown(path)
            delivery = found.get("delivery", found)
            assert (delivery["payment"], delivery["type"]) == (payment["id"], "payment.processing")
        assert (await hooks.resend({"id": "latest"}))["attempts"][-1]["trigger"] == "resend"
        [newest] = (await emulator.shown("/requests?limit=1"))["data"]
        assert newest == await emulator.shown("/requests/latest")
        assert newest == await emulator.shown(f"/requests/{newest['id']}")


@pytest.mark.parametrize(
    ("method", "path", "noun"),
    [
        ("GET", "/payments/latest", "payment"),
        ("POST", "/payments/latest/cancel", "payment"),
        ("GET", "/payments/latest/wait?status=failed", "payment"),
        ("GET", "/deliveries/latest", "delivery"),
        ("POST", "/deliveries/latest/resend", "delivery"),
        ("GET", "/deliveries?payment=latest", "payment"),
        ("GET", "/requests/latest", "request"),
    ],
)
async def test_without_any_there_is_no_latest(method: str, path: str, noun: str) -> None:
    async with world() as emulator:
        response = await emulator.control(method, path)
        assert refusal(response) == (404, f"{noun}_not_found", None)
        assert "account and mode has none" in response.json()["error"]["message"]


async def test_the_contract_has_no_latest_payment(emulator: World) -> None:
    await emulator.create()
    response = await emulator.api.get("/v1/payments/latest", headers=headers())
    assert refusal(response) == (404, "payment_not_found", None)


async def test_payments_are_filtered_by_their_reason(emulator: World) -> None:
    failed = [await emulator.create() for _ in range(5)]
    for payment in failed:
        await emulator.pay(payment, "0900000002" if payment is not failed[1] else "0900000004")
        await emulator.create()
    found, cursor = [], ""
    while True:
        query = f"reason=insufficient_balance&status=failed&limit=2{cursor}"
        page = await emulator.shown(f"/payments?{query}")
        found += [each["id"] for each in page["data"]]
        if not page["has_more"]:
            break
        cursor = f"&after={page['next_cursor']}"
    assert found == [each["id"] for each in failed[::-1] if each is not failed[1]]
    [newest] = (await emulator.shown("/payments?reason=insufficient_balance&limit=1"))["data"]
    assert newest["id"] == found[0]
    of_contract = await emulator.api.get("/v1/payments?reason=timeout", headers=headers())
    assert len(of_contract.json()["data"]) == 10


async def test_events_are_the_bodies_as_sent_newest_first(emulator: World) -> None:
    payment = await emulator.create()
    paid = await emulator.pay(payment, "0900000001")
    events = (await emulator.shown("/events"))["data"]
    types = ["payment.completed", "payment.processing", "payment.created"]
    assert [event["type"] for event in events] == types
    assert events[0]["data"] == paid
    assert events[2] == {
        "id": events[2]["id"],
        "object": "event",
        "type": "payment.created",
        "timestamp": "2026-01-01T00:00:00.000Z",
        "mode": "test",
        "data": payment,
    }
    timeline = (await emulator.shown(f"/payments/{payment['id']}"))["timeline"]
    assert [event["id"] for event in timeline] == [event["id"] for event in reversed(events)]


async def test_events_are_a_hundred_unless_another_limit_is_named(emulator: World) -> None:
    ids = [(await emulator.create())["id"] for _ in range(101)]
    pages = {"": ids[:0:-1], "?limit=1": ids[:-2:-1], "?limit=1000": ids[::-1]}
    for query, expected in pages.items():
        events = (await emulator.shown(f"/events{query}"))["data"]
        assert [event["data"]["id"] for event in events] == expected
