"""Arbitrary requests get valid responses, and a refusal changes nothing."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.domain.accounts import RateLimit
from tests.depth import usually
from tests.server.api.calls import (
    CREATE_PARAMS,
    PAYMENTS,
    QUERY_PARAMS,
    ids,
    page,
    post,
)
from tests.server.api.raw_requests import KEY, TYPE, Headers, RawRequest, assert_sound, send_raw
from tests.world import METHODS, ORDER, World, order, world

TEXT = st.text(st.characters(exclude_categories=())) | st.sampled_from(
    ["", "ETB", "telebirr", "\0", "\ud800", "https://shop.example", "\ufeff", "ብር", "a" * 600]
)
NUMBERS = (
    st.integers()
    | st.floats()
    | st.integers(-3, 110)
    | st.sampled_from([10**30, -(10**400), 2**53, 2**63, 2**64, 10**4000, 1e308])
)
SCALARS = st.none() | st.booleans() | NUMBERS | TEXT
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
OFFERED = st.lists(st.sampled_from([*METHODS, "paypal"]), max_size=4)
USUAL = {
    "amount": st.integers(98, 10**6),
    "currency": st.just("ETB"),
    "methods": OFFERED,
    "success_url": st.sampled_from(["https://shop.example/ok", "http://localhost", "https://u@s"]),
    "cancel_url": st.sampled_from(["https://shop.example/no", "https://", "https://[::1]"]),
    "metadata": st.dictionaries(TEXT, TEXT, max_size=22),
    "idempotency_key": st.sampled_from(["a", "b"]) | TEXT,
    "expires_in": st.integers(-1, 90_000),
}


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    """Mostly right orders, with anything in the place of some members, written in any way."""
    changed = draw(st.lists(st.sampled_from(CREATE_PARAMS), max_size=3))
    members = [*ORDER.items(), *((name, draw(USUAL.get(name, TEXT) | VALUES)) for name in changed)]
    if draw(st.booleans()):
        members.append((draw(TEXT), draw(VALUES)))
    members = draw(st.permutations(members))
    is_ascii = draw(st.booleans())

    def written(value: Any) -> bytes:
        return json.dumps(value, ensure_ascii=is_ascii).encode(errors="surrogatepass")

    return b"{" + b",".join(written(name) + b":" + written(one) for name, one in members) + b"}"


@st.composite
def broken(draw: st.DrawFn) -> bytes:
    """A body with some bytes put in, taken out or doubled."""
    body = draw(bodies() | VALUES.map(lambda value: json.dumps(value).encode()))
    start = draw(st.integers(0, len(body)))
    end = draw(st.integers(start, min(start + 8, len(body))))
    put = draw(
        st.binary(max_size=6)
        | st.sampled_from([b"[" * 40, b'"', b"\\ud800", b"1e999", b"9" * 5000])
    )
    return body[:start] + put + body[end:]


QUERIES = st.lists(
    st.tuples(
        st.sampled_from(QUERY_PARAMS) | TEXT.filter(str.isascii),
        st.sampled_from(["", "1", "100", "pending", "mpesa", "2026-01-01", "2026-01-01T00:00:00Z"])
        | st.integers().map(str)
        | st.datetimes().map(str)
        | st.datetimes(timezones=st.timezones()).map(lambda moment: moment.isoformat())
        | TEXT.filter(str.isascii),
    ).map("=".join),
    max_size=6,
).map(lambda pairs: "&".join(pairs).encode()) | st.binary(max_size=60)
HEADERS: st.SearchStrategy[Headers] = st.lists(
    st.tuples(
        st.sampled_from(
            [b"authorization", b"content-type", b"content-length", b"idempotency-key", b"host"]
        )
        | st.binary(max_size=20).map(bytes.lower),
        st.sampled_from(
            [b"", b"Bearer test_demo_key", b"bearer live_demo_key", b"application/json"]
        )
        | st.binary(max_size=40)
        | st.integers().map(lambda number: str(number).encode()),
    ),
    max_size=5,
)
PATHS = (
    st.sampled_from([PAYMENTS, f"{PAYMENTS}/", f"{PAYMENTS}/pay_x", "/v1", "/v1/"])
    | st.text(st.characters(codec="utf-8"), max_size=12).map(lambda text: f"{PAYMENTS}/{text}")
    | st.text(st.characters(codec="utf-8"), max_size=12).map(lambda text: f"/v1/{text}")
)
VERBS = st.sampled_from(["GET", "POST", "PATCH", "PUT", "DELETE", "OPTIONS", "HEAD"]) | st.text(
    st.characters(codec="ascii"), min_size=1, max_size=8
)

Check = Callable[[World], Coroutine[Any, Any, None]]


def in_a_world(check: Check, **changes: Any) -> None:
    """Run a check in a new world, which takes two milliseconds to start."""

    async def run() -> None:
        async with world(**changes) as emulator:
            await check(emulator)

    asyncio.run(run())


async def create_soundly(emulator: World, body: bytes) -> None:
    """A create call, after which there is one payment more, or nothing has changed."""
    before = await page(emulator, limit=100)
    response = await send_raw(emulator, RawRequest(method="POST", chunks=(body,)))
    assert_sound(response)
    after = await page(emulator, limit=100)
    if response.status == 201 and (b"idempotent-replayed", b"true") not in response.headers:
        assert after["data"] == [json.loads(response.body), *before["data"]]
    else:
        assert response.status in (201, 400, 409)
        assert after == before


@settings(max_examples=usually(10, deep=100))
@given(sent=st.lists(bodies() | broken(), min_size=1, max_size=4), is_strict=st.booleans())
def test_any_json_is_a_payment_or_a_refusal(sent: list[bytes], is_strict: bool) -> None:

    async def check(emulator: World) -> None:
        for body in sent:
            await create_soundly(emulator, body)

    in_a_world(check, strict=is_strict)


@settings(max_examples=usually(10, deep=100))
@given(queries=st.lists(QUERIES, min_size=1, max_size=4), is_strict=st.booleans())
def test_any_query_is_a_page_or_a_refusal(queries: list[bytes], is_strict: bool) -> None:

    async def check(emulator: World) -> None:
        payment = await emulator.create()
        for query in queries:
            for path in (PAYMENTS, f"{PAYMENTS}/{payment['id']}"):
                response = await send_raw(emulator, RawRequest(path=path, query=query))
                assert_sound(response)
                if response.status == 200 and path == PAYMENTS:
                    assert json.loads(response.body)["data"] in ([], [payment])
        assert (await page(emulator))["data"] == [payment]

    in_a_world(check, strict=is_strict)


@pytest.mark.clause("1.2", "7.1")
@settings(max_examples=usually(10, deep=100))
@given(
    method=VERBS,
    path=PATHS,
    query=QUERIES,
    headers=HEADERS,
    has_key=st.booleans(),
    body=bodies() | st.binary(max_size=50),
)
def test_any_request_gets_a_response_of_the_contract(
    method: str, path: str, query: bytes, headers: Headers, has_key: bool, body: bytes
) -> None:

    async def check(emulator: World) -> None:
        sent = KEY + TYPE + headers if has_key else headers
        request = RawRequest(method=method, path=path, query=query, headers=sent, chunks=(body,))
        response = await send_raw(emulator, request)
        assert_sound(response)
        keys = ("test_demo_key", "live_demo_key")
        payments = [payment for key in keys for payment in await ids(emulator, key)]
        assert len(payments) == (response.status == 201)

    in_a_world(check, auto_provision=False, rate_limit=None)


@pytest.mark.parametrize("chunks", [(), (json.dumps(order()).encode(),)])
async def test_a_disconnected_client_creates_no_payment(
    emulator: World, chunks: tuple[bytes, ...]
) -> None:
    request = RawRequest(method="POST", chunks=chunks, is_whole=False)
    assert (await send_raw(emulator, request)).status == 0
    assert await ids(emulator) == []


class TestManyAtOnce:
    """Concurrent clients do not affect each other (section 8)."""

    async def test_16_clients_that_create_and_read(self, emulator: World) -> None:
        async def client(number: int) -> list[str]:
            created = []
            for count in range(5):
                amount = 1000 + number * 10 + count
                payment = await emulator.create(amount=amount)
                assert (await emulator.retrieve(payment["id"])) == payment
                assert payment["amount"] == amount
                created.append(payment["id"])
            return created

        made = await asyncio.gather(*(client(number) for number in range(16)))
        expected = {payment_id for created in made for payment_id in created}
        assert len(expected) == 80
        listed: list[str] = []
        cursor: dict[str, str] = {}
        while len(listed) < 80:
            found = await page(emulator, limit=30, **cursor)
            listed += [payment["id"] for payment in found["data"]]
            cursor = {"after": found["next_cursor"]}
        assert set(listed) == expected
        for created in made:
            assert sorted(created, key=listed.index) == created[::-1]

    async def test_a_rate_limit_lets_exactly_its_number_through(self) -> None:
        async with world(rate_limit=RateLimit(requests=20, period_ms=1000)) as emulator:
            answers = await asyncio.gather(*(post(emulator, order()) for _ in range(64)))
            assert Counter(answer.status_code for answer in answers) == {201: 20, 429: 44}
