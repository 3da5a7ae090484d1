"""Lists of payments (contract, sections 2.2 and 4.3)."""

from typing import Any

import pytest

from tests.server.api.calls import PAYMENTS, ids, page, refusal
from tests.world import LIVE_KEY, METHODS, OTHER_TEST_KEY, World, headers


async def created(emulator: World, count: int, **changes: Any) -> list[str]:
    """The ids of new payments, the newest first."""
    return [(await emulator.create(**changes))["id"] for _ in range(count)][::-1]


async def transition(emulator: World, payment_id: str, *statuses: str) -> None:
    await emulator.transition({"id": payment_id}, *statuses)


async def walk(emulator: World, limit: int, **parameters: str) -> list[list[str]]:
    """The ids of all pages, one after the other."""
    pages: list[list[str]] = []
    cursor: dict[str, str] = {}
    for _ in range(50):
        found = await page(emulator, limit=limit, **parameters, **cursor)
        pages.append([payment["id"] for payment in found["data"]])
        assert found["has_more"] is (found["next_cursor"] is not None)
        if not found["has_more"]:
            return pages
        assert found["next_cursor"] == pages[-1][-1]
        cursor = {"after": found["next_cursor"]}
    raise AssertionError("the pages have no end")


async def at(emulator: World, offset_ms: int) -> str:
    now = f"2026-01-01T00:00:{offset_ms // 1000:02}.{offset_ms % 1000:03}Z"
    await emulator.control("PUT", "/clock", {"now": now})
    return str((await emulator.create())["id"])


@pytest.mark.clause("2.2.4", "4.3.9", "7.5")
async def test_without_payments_there_is_an_empty_page(emulator: World) -> None:
    assert await page(emulator) == {"data": [], "has_more": False, "next_cursor": None}


@pytest.mark.clause("4.3.11")
async def test_the_newest_payment_comes_first(emulator: World) -> None:
    together = await created(emulator, 5)
    await emulator.advance(0.001)
    later = await created(emulator, 5)
    assert await ids(emulator) == later + together


class TestPages:
    """4.3: pagination is cursor-based."""

    @pytest.mark.clause("2.2.2", "2.2.3", "4.3.4", "4.3.10")
    @pytest.mark.parametrize("limit", [1, 2, 3, 7, 11, 12, 100])
    async def test_pages_together_are_the_whole_list(self, emulator: World, limit: int) -> None:
        expected = await created(emulator, 12)
        pages = await walk(emulator, limit)
        assert [payment for ids_of_page in pages for payment in ids_of_page] == expected
        assert all(len(found) == limit for found in pages[:-1])
        assert pages[-1]

    @pytest.mark.clause("4.3.10", "4.3.16")
    async def test_a_page_never_shifts_because_new_payments_arrive(self, emulator: World) -> None:
        expected = await created(emulator, 6)
        first = await page(emulator, limit=3)
        await created(emulator, 4)
        second = await page(emulator, limit=3, after=first["next_cursor"])
        assert [payment["id"] for payment in second["data"]] == expected[3:]
        assert second["has_more"] is False

    async def test_a_cursor_stays_valid_when_its_payment_no_longer_matches(
        self, emulator: World
    ) -> None:
        expected = await created(emulator, 6)
        first = await page(emulator, limit=3, status="pending")
        await transition(emulator, first["next_cursor"], "expired")
        second = await page(emulator, limit=3, status="pending", after=first["next_cursor"])
        assert [payment["id"] for payment in second["data"]] == expected[3:]

    @pytest.mark.clause("4.3.4")
    async def test_a_payment_that_never_matched_is_a_cursor_too(self, emulator: World) -> None:
        oldest, middle, newest = (await created(emulator, 3))[::-1]
        await transition(emulator, oldest, "expired")
        await transition(emulator, newest, "expired")
        assert await ids(emulator, status="expired", after=middle) == [oldest]

    @pytest.mark.clause("2.2.4")
    async def test_after_the_last_there_is_an_empty_page(self, emulator: World) -> None:
        oldest = (await created(emulator, 2))[-1]
        expected = {"data": [], "has_more": False, "next_cursor": None}
        assert await page(emulator, after=oldest) == expected

    async def test_a_cursor_outside_of_the_bounds_is_a_cursor(self, emulator: World) -> None:
        early, late = await at(emulator, 1000), await at(emulator, 2000)
        assert await ids(emulator, after=late, created_gte="2026-01-01T00:00:02Z") == []
        assert await ids(emulator, after=late, created_lte="2026-01-01T00:00:01Z") == [early]

    @pytest.mark.clause("4.3.13", "5.5")
    async def test_every_invalid_cursor_gets_the_same_response(self, emulator: World) -> None:
        await emulator.create()
        theirs = (await emulator.create(OTHER_TEST_KEY))["id"]
        live = (await emulator.create(LIVE_KEY))["id"]
        cursors = [theirs, live, "pay_unknown", "pay_", "", " ", "x", "\0", "'", "ብር", "9" * 5000]
        responses = [
            await emulator.api.get(PAYMENTS, params={"after": cursor}, headers=headers())
            for cursor in (*cursors, "live_0123456789")
        ]
        assert len({response.content for response in responses}) == 1
        assert refusal(responses[0]) == (400, "invalid_cursor", "after")
        assert "next_cursor" in responses[0].json()["error"]["message"]


class TestLimit:
    """4.3 and 8: 1 to 100, default 10."""

    @pytest.mark.clause("4.3.3", "8.5")
    async def test_the_default_is_ten(self, emulator: World) -> None:
        expected = await created(emulator, 11)
        assert await ids(emulator) == expected[:10]

    @pytest.mark.clause("4.3.2", "4.3.15", "8.5")
    @pytest.mark.parametrize(
        ("text", "count"), [("1", 1), ("9", 9), ("010", 10), ("00000000003", 3), ("100", 12)]
    )
    async def test_plain_digits_are_a_number(self, emulator: World, text: str, count: int) -> None:
        expected = await created(emulator, 12)
        assert await ids(emulator, limit=text) == expected[:count]


class TestFilters:
    """4.3: `status` and `method`."""

    @pytest.mark.clause("2.1.5", "3.1", "4.3.5")
    async def test_a_status_finds_only_payments_in_it(self, emulator: World) -> None:
        of_status = {
            status: (await created(emulator, 1))[0]
            for status in ("pending", "processing", "completed", "failed", "expired", "refunded")
        }
        for way in ("processing", "expired", "processing completed", "processing failed"):
            await transition(emulator, of_status[way.split()[-1]], *way.split())
        await transition(emulator, of_status["refunded"], "processing", "completed", "refunded")
        for status, payment_id in of_status.items():
            assert await ids(emulator, status=status) == [payment_id]

    @pytest.mark.clause("2.1.16", "4.3.6")
    async def test_a_method_finds_only_payments_with_it(self, emulator: World) -> None:
        await created(emulator, 2)
        for method in METHODS:
            payment = await emulator.create(methods=[method])
            await transition(emulator, payment["id"], "processing")
            assert await ids(emulator, method=method) == [payment["id"]]

    @pytest.mark.clause("4.3.17")
    async def test_filters_hold_together(self, emulator: World) -> None:
        expected = await created(emulator, 4, methods=["mpesa"])
        others = await created(emulator, 4, methods=["telebirr"])
        for payment_id in expected + others:
            await transition(emulator, payment_id, "processing")
        await transition(emulator, expected[0], "completed")
        both = {"status": "processing", "method": "mpesa"}
        assert await walk(emulator, 2, **both) == [expected[1:3], expected[3:]]


# The bounds, and the payments between them.
BOUNDS = [
    ("2026-01-01T00:00:02.000Z", None, "cba"),
    ("2026-01-01T00:00:02.001Z", None, "c"),
    (None, "2026-01-01T00:00:02.000Z", "ba0"),
    (None, "2026-01-01T00:00:01.999Z", "0"),
    ("2026-01-01T00:00:02.000Z", "2026-01-01T00:00:02.000Z", "ba"),
    ("2026-01-01T00:00:03.000Z", "2026-01-01T00:00:01.000Z", ""),
    # Finer than a millisecond.
    ("2026-01-01T00:00:01.9999Z", None, "cba"),
    ("2026-01-01T00:00:02.0001Z", None, "c"),
    ("2026-01-01T00:00:02.0000001Z", None, "c"),
    ("2026-01-01T00:00:02.0000000000000000Z", None, "cba"),
    (None, "2026-01-01T00:00:01.9999999Z", "0"),
    (None, "2026-01-01T00:00:02.0000001Z", "ba0"),
    # Bounds of the calendar.
    ("0001-01-01T00:00:00+23:59", None, "cba0"),
    (None, "9999-12-31T23:59:59.999999-23:59", "cba0"),
    # A loose form, and a leap second, which lies before the next day.
    ("2026-W01-4T00:00:02Z", None, "cba"),
    (None, "2026-W01-4T00:00:01Z", "0"),
    ("2025-12-31T23:59:60Z", None, "cba0"),
    (None, "2025-12-31T23:59:60Z", ""),
]


class TestBounds:
    """4.3 does not state whether the bounds of creation are inclusive: they are."""

    @pytest.mark.clause("4.3.7", "4.3.8", "4.3.12", "4.3.14")
    async def test_bounds_are_inclusive_to_the_millisecond(self, emulator: World) -> None:
        names = {
            await at(emulator, 1000): "0",
            await at(emulator, 2000): "a",
            await at(emulator, 2000): "b",
            await at(emulator, 3000): "c",
        }
        for created_gte, created_lte, expected in BOUNDS:
            bounds = {"created_gte": created_gte, "created_lte": created_lte}
            given = {name: text for name, text in bounds.items() if text is not None}
            found = [names[payment] for [payment] in filter(None, await walk(emulator, 1, **given))]
            assert "".join(found) == expected, bounds


@pytest.mark.clause("4.3.1")
async def test_every_account_and_mode_has_a_list_of_its_own(emulator: World) -> None:
    keys = ["test_demo_key", "live_demo_key", "test_other_key", "live_other_key"]
    expected = {key: await created(emulator, 3, key=key) for key in keys}
    for key in keys:
        assert await ids(emulator, key) == expected[key]
        assert await ids(emulator, key, status="pending") == expected[key]
        assert await ids(emulator, key, created_gte="2026-01-01T00:00:00Z") == expected[key]
        assert await ids(emulator, key, created_lte="2026-01-01T00:00:00Z") == expected[key]
        assert await ids(emulator, key, after=expected[key][0]) == expected[key][1:]


async def test_the_page_from_memory_is_that_from_the_database(emulator: World) -> None:
    """A page without a filter may need no query; one with a bound always does."""

    async def check(count: int) -> None:
        for limit in range(1, 5):
            twice = [await page(emulator, limit=limit) for _ in range(2)]
            queried = await page(emulator, limit=limit, created_gte="2000-01-01T00:00:00Z")
            assert twice == [queried, queried]
        assert len((await page(emulator))["data"]) == count

    await check(0)
    first, *_ = await created(emulator, 2)
    await check(2)
    await emulator.control("PUT", "/snapshots/two")
    await created(emulator, 2, key=OTHER_TEST_KEY)
    await created(emulator, 1)
    await transition(emulator, first, "processing", "completed")
    await check(3)
    await emulator.control("POST", "/snapshots/two/restore")
    await check(2)
    await emulator.advance(24 * 3600)
    await check(2)
    await emulator.control("POST", "/reset")
    await check(0)
    await created(emulator, 1)
    await check(1)
