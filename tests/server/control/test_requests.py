"""The journal of requests over the control API, and the requests without a valid key."""

import asyncio
import json
from typing import Any

import httpx
import pytest
from msgspec.structs import replace

from emulator.domain.errors import UnknownRequest
from emulator.server.engine.state.journal import (
    HEADERS,
    MAX_ENTRIES,
    MAX_HEADER_BYTES,
    MAX_JOURNAL_BYTES,
    MAX_PATH_CHARACTERS,
    MAX_STORED_BODY_BYTES,
    MAX_UNAUTHORIZED,
    Journal,
    JournalEntry,
)
from tests.server.api.calls import PAYMENTS, get, post
from tests.server.control import refusal
from tests.server.dashboard import page
from tests.world import LIVE_KEY, OTHER_TEST_KEY, TEST_KEY, World, order, world


async def journal(emulator: World, query: str = "", key: str = TEST_KEY) -> list[dict[str, Any]]:
    listed = await emulator.shown(f"/requests{query}", key)
    assert listed["overflowed"] is False
    return list(listed["data"])


async def count(emulator: World, query: str = "", key: str = TEST_KEY) -> int:
    counted = await emulator.shown(f"/requests/count{query}", key)
    assert list(counted) == ["count"]
    return int(counted["count"])


async def test_a_request_is_stored_with_its_response(emulator: World) -> None:
    body = order(idempotency_key="k", colour="red")
    answer = await post(emulator, body, query="?a=1")
    (entry,) = await journal(emulator)
    assert entry.pop("duration_ms") >= 0
    assert entry == {
        "id": answer.headers["request-id"],
        "at": "2026-01-01T00:00:00.000Z",
        "method": "POST",
        "path": "/v1/payments",
        "query": "a=1",
        "status": 201,
        "key": "test_de…key",
        "headers": {
            "accept": "*/*",
            "authorization": "Bearer test_de…key",
            "content-type": "application/json",
            "user-agent": f"python-httpx/{httpx.__version__}",
        },
        "request_body": json.dumps(body),
        "response_body": answer.text,
        "cut": False,
        "warnings": ["unknown-parameter:a", "unknown-parameter:colour"],
        "variants": [],
        "error": None,
        "replayed": False,
        "fault": None,
    }


async def test_the_instant_is_that_of_the_account_s_clock(emulator: World) -> None:
    await emulator.advance(90.5)
    await get(emulator, "/v1/payments")
    (entry,) = await journal(emulator)
    assert entry["at"] == "2026-01-01T00:01:30.500Z"


async def test_a_duration_is_wire_time(emulator: World) -> None:
    await emulator.control("POST", "/faults", {"then": {"latency": "2s"}})
    waiting = asyncio.create_task(get(emulator, "/v1/payments"))
    await emulator.wall.waited_for()
    emulator.wall.move(2_000)
    await waiting
    (entry,) = await journal(emulator)
    assert entry["duration_ms"] == 2_000
    assert entry["at"] == "2026-01-01T00:00:00.000Z"


async def test_a_refusal_is_stored_with_its_error(emulator: World) -> None:
    answers = [
        await post(emulator, order(amount=1)),
        await post(emulator, b"{", **{"Content-Type": "text/plain"}),
        await get(emulator, "/v1/payments/pay_unknown"),
        await get(emulator, "/v1/nowhere"),
        await get(emulator, "/v1/payments?limit=0"),
    ]
    entries = await journal(emulator)
    errors = [answer.json()["error"] for answer in answers]
    assert [entry["error"] for entry in entries[::-1]] == errors
    assert [entry["status"] for entry in entries[::-1]] == [400, 400, 404, 404, 400]


async def test_a_replay_is_marked_unlike_a_creation(emulator: World) -> None:
    for _ in range(2):
        await post(emulator, order(idempotency_key="k"))
    assert [entry["replayed"] for entry in await journal(emulator)] == [True, False]


async def test_an_applied_fault_is_shown_with_the_replaced_status(emulator: World) -> None:
    then = {"status": 500, "point": "after_commit"}
    rule = {"when": {"request": "create_payment"}, "then": then, "times": 1}
    fault = await emulator.done("POST", "/faults", rule)
    await post(emulator, order(amount=1))
    await post(emulator, order())
    replaced, refused = await journal(emulator)
    assert refused["fault"] is None
    assert replaced["fault"] == {"source": fault["id"], "rule": 0, **rule, "instead_of": 201}
    assert (replaced["status"], replaced["error"]["code"]) == (500, "internal_error")


async def test_a_request_without_a_response_has_no_status(emulator: World) -> None:
    await emulator.control("POST", "/faults", {"then": {"drop": True, "point": "after_commit"}})
    with pytest.raises(ConnectionResetError):
        await post(emulator, order())
    (entry,) = await journal(emulator, "?status=none")
    assert (entry["status"], entry["response_body"]) == (None, "")
    assert entry["fault"]["instead_of"] == 201


async def test_a_truncated_response_is_stored_truncated(emulator: World) -> None:
    payment = await emulator.create()
    await emulator.control("POST", "/faults", {"then": {"truncate": True}})
    with pytest.raises(ConnectionResetError):
        await get(emulator, f"/v1/payments/{payment['id']}")
    (entry,) = await journal(emulator, "?method=GET")
    assert entry["status"] == 200
    assert 0 < len(entry["response_body"]) < len(json.dumps(payment))


async def test_bodies_are_stored_up_to_16_kib(emulator: World) -> None:
    long = order(metadata={str(n): "ሰ" * 490 for n in range(20)})
    await post(emulator, long)
    for _ in range(3):
        await post(emulator, long)
    await get(emulator, "/v1/payments")
    listed, *created = await journal(emulator)
    assert listed["cut"] is True
    assert len(listed["response_body"].encode()) <= MAX_STORED_BODY_BYTES
    assert all(entry["cut"] for entry in created)
    assert all(len(entry["request_body"].encode()) <= MAX_STORED_BODY_BYTES for entry in created)


async def test_keys_are_masked_wherever_a_client_puts_them(emulator: World) -> None:
    for key in (TEST_KEY, LIVE_KEY, OTHER_TEST_KEY):
        await get(emulator, f"/v1/payments?key={key}")
        await get(emulator, f"/v1/payments?key={key.replace('_', '%5F', 1)}")
        await get(emulator, f"/v1/payments/{key}")
        await post(emulator, order(metadata={"key": key}))
        escaped = key.replace("_", "\\u005f").encode()
        await post(emulator, b'{"amount": "%s"}' % escaped)
    text = (await emulator.control("GET", "/requests")).text
    for rest in ("_demo_key", "_other_key", "demo%5F", "u005f"):
        assert rest not in text
    assert text.count("live_de…key") >= 5


async def test_the_body_of_an_unparsed_request_is_stored(emulator: World) -> None:
    body = order(idempotency_key="k")
    await emulator.control("POST", "/faults", {"then": {"status": 500}, "times": 1})
    await post(emulator, body)
    await post(emulator, body, **{"Content-Type": "text/plain"})
    assert [json.loads(entry["request_body"]) for entry in await journal(emulator)] == [body, body]


async def test_a_replay_with_a_dropped_response_is_marked(emulator: World) -> None:
    body = order(idempotency_key="k")
    await post(emulator, body)
    then = {"status": 500, "point": "after_commit"}
    await emulator.control("POST", "/faults", {"then": then})
    await post(emulator, body)
    lost, _ = await journal(emulator)
    assert (lost["status"], lost["replayed"]) == (500, True)


async def test_a_request_on_its_way_over_a_reset_is_not_in_the_new_journal(emulator: World) -> None:
    first = (await get(emulator, "/v1/payments")).headers["request-id"]
    await emulator.control("POST", "/reset")
    rule = {"when": {"request": "create_payment"}, "then": {"latency": "2s"}}
    await emulator.control("POST", "/faults", rule)
    waiting = asyncio.create_task(post(emulator, order()))
    await emulator.wall.waited_for()
    await emulator.control("POST", "/reset")
    emulator.wall.move(2_000)
    with pytest.raises(ConnectionResetError):
        await waiting
    assert await journal(emulator) == []
    listed = await get(emulator, "/v1/payments")
    assert listed.json()["data"] == []
    assert listed.headers["request-id"] == first


async def test_unauthenticated_requests_are_in_no_journal(emulator: World) -> None:
    await get(emulator, "/v1/payments", "test_unknown")
    await emulator.api.get("/v1/payments")
    for key in (TEST_KEY, LIVE_KEY, OTHER_TEST_KEY):
        assert await journal(emulator, key=key) == []


async def test_control_calls_are_not_in_the_journal(emulator: World) -> None:
    await emulator.advance(5)
    assert await journal(emulator) == []


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        *(("", 5), ("?method=POST", 2), ("?method=post", 2), ("?path=/v1/payments", 3)),
        *(("?path=/v1/payments*", 4), ("?path=/v1/payments/*", 1), ("?path=/v1/payment", 0)),
        *(("?status=201", 1), ("?status=4xx", 3), ("?status=404", 2)),
        *(("?method=GET&status=404", 2), ("?method=POST&path=/v1/payments&status=201", 1)),
    ],
)
async def test_requests_are_filtered_and_counted(
    emulator: World, query: str, expected: int
) -> None:
    await post(emulator, order())
    await post(emulator, order(amount=1))
    await get(emulator, "/v1/payments?limit=5")
    await get(emulator, "/v1/payments/pay_1")
    await get(emulator, "/v1/nowhere")
    assert await count(emulator, query) == expected
    assert len(await journal(emulator, query)) == expected


async def test_a_page_goes_on_before_a_request_that_the_filter_leaves_out(emulator: World) -> None:
    await get(emulator, "/v1/payments")
    cursor = (await post(emulator, order())).headers["request-id"]
    found = await journal(emulator, f"?method=GET&before={cursor}")
    assert [entry["method"] for entry in found] == ["GET"]


async def test_a_path_matches_decoded_and_as_received(emulator: World) -> None:
    await get(emulator, "/v1/payments/a%20b")
    for path in ("/v1/payments/a%20b", "/v1/payments/a%2520b", "/v1/payments/a%20*"):
        assert await count(emulator, f"?path={path}") == 1


async def test_a_reset_clears_the_journal(emulator: World) -> None:
    await get(emulator, "/v1/payments")
    await emulator.control("POST", "/reset")
    assert await journal(emulator) == []


def entry(body: bytes = b"") -> JournalEntry:
    return JournalEntry(
        id=b"req_1",
        at=0,
        method="POST",
        path=b"/v1/payments",
        query=b"",
        status=201,
        request_body=body,
        response_body=b"",
        warnings=(),
        variants=(),
        error=b"",
        is_replay=False,
        fault=None,
        instead_of=None,
        duration_ms=0.0,
        ended_ms=0.0,
        retry_after=b"",
        headers=(),
        is_cut=False,
        size_bytes=400 + len(body),
    )


async def test_long_addresses_are_cut_and_counted(emulator: World) -> None:
    for _ in range(30):
        await get(emulator, "/v1/payments/" + "a" * 40_000)
    entries = list(emulator.app.engine.accounts.first.test.journal.newest_first())
    held = sum(len(one.path) + len(one.error) + len(one.response_body) for one in entries)
    assert held <= sum(one.size_bytes for one in entries)
    assert max(len(one.path) for one in entries) == MAX_STORED_BODY_BYTES
    assert (await journal(emulator, "?limit=1"))[0]["error"] is None


def test_the_journal_has_a_limit_in_bytes() -> None:
    journal = Journal()
    body = b"x" * MAX_STORED_BODY_BYTES
    for _ in range(2 * MAX_JOURNAL_BYTES // MAX_STORED_BODY_BYTES):
        journal.add(entry(body))
    size = sum(len(entry.request_body) for entry in journal.newest_first())
    assert 0.9 * MAX_JOURNAL_BYTES < size <= MAX_JOURNAL_BYTES
    assert journal.has_overflowed


async def test_five_headers_are_stored_cut_and_counted(emulator: World) -> None:
    names = ("accept", "content-type", "idempotency-key", "user-agent", "x-other")
    long = {name: name[0] * 10_000 for name in names}
    for length in (0, 1, MAX_HEADER_BYTES, 2 * MAX_HEADER_BYTES):
        cut = {name: value[:length] for name, value in long.items()}
        await get(emulator, "/v1/payments", LIVE_KEY, **cut)
        (entry, *_) = await journal(emulator, "?limit=1", LIVE_KEY)
        authorization = {"authorization": "Bearer live_de…key"}
        expected = {
            name: value[:MAX_HEADER_BYTES] for name, value in cut.items() if name in HEADERS
        }
        assert entry["headers"] == {**expected, **authorization}
    await get(emulator, "/v1/payments", LIVE_KEY, **long)
    newest = [*emulator.app.engine.accounts.first.live.journal.newest_first()]
    after, before, *_ = newest
    assert after.size_bytes == before.size_bytes > 4 * MAX_HEADER_BYTES
    assert after.headers is before.headers


async def test_a_key_with_a_quote_is_masked_in_its_header(emulator: World) -> None:
    key = 'test_a"rest_of_the_key'
    await emulator.done("POST", "/accounts", {"test_key": key})
    await get(emulator, "/v1/payments", key)
    text = (await emulator.control("GET", "/requests", key=key)).text
    assert "rest_of" not in text
    assert "Bearer test_a" in text


async def test_a_key_in_a_header_is_masked(emulator: World) -> None:
    spaced = {"Authorization": f"bearer   {TEST_KEY}", "Idempotency-Key": f"for-{LIVE_KEY}"}
    await get(emulator, "/v1/payments", **spaced)
    [entry] = await journal(emulator)
    assert entry["headers"]["authorization"] == "bearer test_de…key"
    assert entry["headers"]["idempotency-key"] == "for-live_de…key"


async def test_the_journal_drops_the_oldest_entries_and_shows_that() -> None:
    async with world() as emulator:
        owner = emulator.app.engine.accounts.first.test
        for number in range(MAX_ENTRIES + 1):
            assert not owner.journal.has_overflowed
            owner.journal.add(replace(entry(), at=number))
        kept = [each.at for each in owner.journal.newest_first()]
        assert kept == list(range(MAX_ENTRIES, 0, -1))
        assert (await emulator.shown("/requests?limit=1"))["overflowed"] is True
        assert await count(emulator) == MAX_ENTRIES


def test_entries_are_found_by_their_path_and_id_and_counted_by_their_kind() -> None:
    journal = Journal()
    error = b'{"error": {"code": "gone"}}'
    paths = (b"/v1/payments", b"/v1/p%61", b"/v1/pa")
    entries = [
        replace(entry(), id=b"req_%d" % number, path=path, status=410, error=error * (number > 0))
        for number, path in enumerate(paths)
    ]
    entries[2] = replace(entries[2], warnings=("unknown-parameter:a", "duplicate-method"))
    for each in entries:
        journal.add(each)
    assert list(journal.newest_first(path=b"/v1/pa")) == entries[:0:-1]
    assert list(journal.newest_first(before="req_1")) == entries[:1]
    assert journal.entry("req_1") == entries[1]
    assert journal.kinds() == [(410, "gone", 2), (410, "", 1)]
    assert journal.warnings() == [("duplicate-method", 1), ("unknown-parameter", 1)]
    assert journal.latest_id() == "req_2"
    with pytest.raises(UnknownRequest):
        journal.entry("req_3")


async def unauthorized(emulator: World, query: str = "") -> Any:
    return (await emulator.api.get(f"/_emulator/unauthorized{query}")).raise_for_status().json()


async def test_they_are_listed_with_what_was_wrong(emulator: World) -> None:
    assert await unauthorized(emulator) == {"data": [], "count": 0}
    await post(emulator, order(), "test_my_own_key")
    emulator.wall.move(1_500)
    await emulator.api.get(f"{PAYMENTS}/pay_x?limit=1")
    await emulator.control("GET", "/clock", key="live_unknown_key")
    await get(emulator, PAYMENTS)
    listed = await unauthorized(emulator)
    assert listed["count"] == 3
    instants = [each.pop("at")[-13:] for each in listed["data"]]
    assert instants == ["00:00:01.500Z", "00:00:01.500Z", "00:00:00.000Z"]
    members = ("method", "path", "code", "key")
    assert [tuple(each[name] for name in members) for each in listed["data"]] == [
        ("GET", "/_emulator/clock", "invalid_api_key", "live_un…key"),
        ("GET", "/v1/payments/pay_x", "missing_api_key", None),
        ("POST", "/v1/payments", "invalid_api_key", "test_my…key"),
    ]
    assert await unauthorized(emulator, "?account=acct_other&mode=live") != {"data": [], "count": 0}


async def test_they_are_limited_and_count_on(emulator: World) -> None:
    for number in range(2 * MAX_UNAUTHORIZED):
        await get(emulator, f"{PAYMENTS}/{number}", "test_unknown")
    listed = await unauthorized(emulator)
    assert listed["count"] == 2 * MAX_UNAUTHORIZED
    paths = [each["path"] for each in listed["data"]]
    assert paths == [
        f"{PAYMENTS}/{2 * MAX_UNAUTHORIZED - 1 - index}" for index in range(MAX_UNAUTHORIZED)
    ]


@pytest.mark.parametrize(
    ("authorization", "shown"),
    [
        ("Basic dXNlcjpwYXNzd29yZA==", None),
        ("Bearer", None),
        ("bearer  sk_live_of_another", "sk_live…her"),
        ("Bearer hunter2", "…"),
        ("Bearer test_x", "test_…"),
        ("Bearer test_" + "k" * 60_000, "test_kk…kkk"),
    ],
)
async def test_no_secret_is_shown(emulator: World, authorization: str, shown: str | None) -> None:
    path = f"{PAYMENTS}/{LIVE_KEY}{TEST_KEY}/" + "p" * 10_000
    await emulator.api.get(path, headers={"Authorization": authorization})
    [entry] = (await unauthorized(emulator))["data"]
    assert entry["key"] == shown
    assert len(entry["path"]) <= MAX_PATH_CHARACTERS
    assert LIVE_KEY not in entry["path"]
    assert TEST_KEY not in entry["path"]


async def test_a_reset_of_all_removes_them(emulator: World) -> None:
    await emulator.api.get(PAYMENTS)
    await emulator.control("POST", "/reset")
    assert (await unauthorized(emulator))["count"] == 1
    await emulator.control("POST", "/reset", {"all": True})
    assert await unauthorized(emulator) == {"data": [], "count": 0}


async def test_a_scripted_401_is_not_one(emulator: World) -> None:
    await emulator.control("POST", "/faults", {"when": {}, "then": {"status": 401}})
    assert refusal(await get(emulator, PAYMENTS)) == (401, "invalid_api_key", None)
    assert (await unauthorized(emulator))["count"] == 0


@pytest.mark.parametrize("name", ["payments", "requests"])
async def test_the_first_pages_of_the_dashboard_show_them(emulator: World, name: str) -> None:
    assert "without a valid key" not in await page(emulator, name)
    await get(emulator, f"{PAYMENTS}/<b>", "test_my_own_key")
    text = await page(emulator, name)
    assert "1 request without a valid key" in text
    assert "test_my…key" in text
    assert "invalid_api_key" in text
    assert "<b>" not in text
