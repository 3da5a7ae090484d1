"""Request warnings: deviations that the contract does not mention are accepted with a warning."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from emulator.domain.clauses import tolerance_of
from tests.server.api.calls import PAYMENTS, WARNING, get, ids, post, refusal
from tests.world import METHODS, World, headers, order, world

HEADER = {"Idempotency-Key": "x"}


@dataclass(frozen=True, kw_only=True)
class Deviation:
    """A request with one deviation: its slug, and its code and param under `--strict`."""

    slug: str
    code: str
    param: str | None
    body: Any = None
    path: str = PAYMENTS
    headers: dict[str, str] = field(default_factory=dict)

    async def send(self, emulator: World) -> httpx.Response:
        if self.body is not None:
            query = self.path.removeprefix(PAYMENTS)
            return await post(emulator, self.body, query=query, **self.headers)
        return await get(emulator, self.path, **self.headers)


def tail(text: str) -> bytes:
    """A valid body with more members, as they are."""
    return json.dumps(order())[:-1].encode() + b"," + text.encode() + b"}"


def unknown(shown: str, **request: Any) -> Deviation:
    return Deviation(
        slug=f"unknown-parameter:{shown}", code="unknown_parameter", param=shown, **request
    )


def duplicate(shown: str, **request: Any) -> Deviation:
    return Deviation(
        slug=f"duplicate-parameter:{shown}", code="duplicate_parameter", param=shown, **request
    )


DEVIATIONS = [
    unknown("ammount", body=order(ammount=1)),
    unknown("description", body=order(description=None)),
    unknown("", body=tail('"":1')),
    unknown("limit", body=order(), path=f"{PAYMENTS}?limit=5"),
    unknown("amount", body=order(), path=f"{PAYMENTS}?amount=5"),
    unknown("page", path=f"{PAYMENTS}?page=2"),
    unknown("page", path=f"{PAYMENTS}?page"),
    unknown("Limit", path=f"{PAYMENTS}?Limit=5"),
    unknown("a%26b%20c", path=f"{PAYMENTS}?a%26b%20c=1"),
    unknown("expand%5B%5D", path=f"{PAYMENTS}?expand[]=x"),
    unknown("%E1%89%A5%E1%88%AD", body=tail('"ብር":1')),
    unknown("a%2C%20b%0D%0A%3A", body=tail(r'"a, b\r\n:":1')),
    unknown("x" * 64, body=tail(f'"{"x" * 100}":1')),
    unknown("%E1%88%B0" * 7, body=tail(f'"{"ሰ" * 100}":1')),
    unknown("x" * 63, body=tail(f'"{"x" * 63}ሰ":1')),
    duplicate("metadata", body=tail('"metadata":{},"metadata":{"a":"1"}')),
    duplicate("metadata", body=tail('"metadata":{"a":"1","a":"2"}')),
    duplicate("status", path=f"{PAYMENTS}?status=x&status=failed"),
    *(
        Deviation(
            slug="idempotency-key-header",
            code="idempotency_key_header",
            param=None,
            body=body,
            headers={"Idempotency-Key": key},
        )
        for body, key in ((order(), "x"), (None, ""))
    ),
]


@pytest.fixture
async def strict() -> AsyncIterator[World]:
    async with world(strict=True) as emulator:
        yield emulator


@pytest.mark.clause("4.1.5", "4.1.14", "4.3.14")
@pytest.mark.parametrize("deviation", DEVIATIONS, ids=lambda deviation: deviation.slug[:40])
async def test_each_deviation_gets_its_warning_and_is_refused_by_strict(
    emulator: World, strict: World, deviation: Deviation
) -> None:
    response = await deviation.send(emulator)
    assert response.status_code == (200 if deviation.body is None else 201), response.text
    assert response.headers[WARNING] == deviation.slug
    assert len(await ids(emulator)) == (deviation.body is not None)
    assert refusal(await deviation.send(strict)) == (400, deviation.code, deviation.param)
    assert await ids(strict) == []


@pytest.mark.parametrize(
    "response_of",
    [
        lambda emulator: post(emulator, order(metadata={"a": "1"}, idempotency_key="k")),
        lambda emulator: get(emulator, PAYMENTS),
        lambda emulator: get(
            emulator,
            f"{PAYMENTS}?limit=1&status=failed&method=mpesa"
            "&created_gte=2026-01-01T03:00:00%2B03:00&created_lte=2026-01-01T00:00:00.000Z",
        ),
    ],
)
async def test_a_usual_request_gets_no_warning(strict: World, response_of: Any) -> None:
    response = await response_of(strict)
    assert response.status_code in (200, 201)
    assert WARNING not in response.headers


async def test_a_retrieve_knows_no_parameter(emulator: World, strict: World) -> None:
    payment = await emulator.create()
    response = await get(emulator, f"{PAYMENTS}/{payment['id']}?expand=x&expand=y")
    slugs = {"unknown-parameter:expand", "duplicate-parameter:expand"}
    assert set(response.headers[WARNING].split(", ")) == slugs
    payment = await strict.create()
    response = await get(strict, f"{PAYMENTS}/{payment['id']}?expand=x")
    assert refusal(response) == (400, "unknown_parameter", "expand")


@pytest.mark.clause("4.3.7", "4.3.8", "4.3.18")
async def test_a_tolerated_value_has_its_usual_meaning(emulator: World) -> None:
    payment = await emulator.create()
    # An unescaped plus is a blank.
    for text, found in (("00:00:00", [payment["id"]]), ("03:00:00.001+03:00", [])):
        assert await ids_of(emulator, f"created_gte=2026-01-01T{text}") == found
    assert await ids_of(emulator, "status=x&status=pending") == [payment["id"]]
    paid = await emulator.create(methods=["mpesa", "mpesa"])
    await emulator.transition(paid, "processing")
    assert (await emulator.retrieve(paid["id"]))["method"] == "mpesa"


async def ids_of(emulator: World, query: str) -> list[str]:
    response = await emulator.api.get(f"{PAYMENTS}?{query}", headers=headers())
    return [payment["id"] for payment in response.json()["data"]]


@pytest.mark.parametrize(
    ("body", "more", "expected"),
    [
        (order(ammount=1, expires_in="x"), {}, "invalid_expires_in"),
        (order(methods=["mpesa", "mpesa"], cancel_url="x"), {}, "invalid_cancel_url"),
        (order(), {**HEADER, "Content-Type": "text/plain"}, "unsupported_content_type"),
        (b"{", HEADER, "invalid_json"),
        (b"[]", HEADER, "invalid_request_body"),
        (tail('"amount":1,"amount":2'), {}, "invalid_amount"),
        (order(idempotency_key="used", amount=200, x=1), {}, "idempotency_key_reused"),
    ],
)
async def test_strict_is_the_last_check_of_a_create(
    strict: World, body: Any, more: dict[str, str], expected: str
) -> None:
    await post(strict, order(idempotency_key="used"))
    assert refusal(await post(strict, body, **more))[1] == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/v1/payments/pay_unknown?x=1", "payment_not_found"),
        ("/v1/nothing?x=1", "route_not_found"),
        ("/v1/payments?x=1&limit=0", "invalid_limit"),
        ("/v1/payments?created_gte=2026-01-01&created_lte=x", "invalid_created_lte"),
        ("/v1/payments?x=1&after=pay_unknown", "invalid_cursor"),
        ("/v1/payments?created_gte=2026-01-01&after=pay_unknown", "invalid_cursor"),
    ],
)
async def test_strict_is_the_last_check_of_a_read(strict: World, path: str, expected: str) -> None:
    assert refusal(await get(strict, path, **HEADER))[1] == expected


async def test_an_unusual_retry_is_replayed_with_its_own_warning_or_refused(
    emulator: World, strict: World
) -> None:
    first, _ = [await post(each, order(idempotency_key="k")) for each in (emulator, strict)]
    replay, refused = [
        await post(each, order(idempotency_key="k", methods=[*METHODS, "mpesa"]))
        for each in (emulator, strict)
    ]
    assert replay.content == first.content
    assert WARNING not in first.headers
    assert replay.headers[WARNING] == "duplicate-method"
    assert refusal(refused) == (400, "invalid_methods", "methods")


async def test_the_message_suggests_the_nearest_name(strict: World) -> None:
    near = await post(strict, order(sucess_url="x"))
    assert "success_url" in near.json()["error"]["message"]
    near = await get(strict, f"{PAYMENTS}?create_gte=x")
    assert "created_gte" in near.json()["error"]["message"]
    far = await post(strict, order(zzzzzzzz="x"))
    assert "Did you mean" not in far.json()["error"]["message"]


@pytest.mark.parametrize(("count", "more"), [(16, []), (17, ["more"]), (5_000, ["more"])])
async def test_a_response_has_at_most_sixteen_slugs(
    emulator: World, count: int, more: list[str]
) -> None:
    extra = {f"x{number}": 1 for number in range(count)}
    slugs = [f"unknown-parameter:x{number}" for number in range(min(count, 16))] + more
    created = await post(emulator, order(**extra))
    assert created.status_code == 201
    listed = await get(emulator, f"{PAYMENTS}?{'&'.join(extra)}")
    for response in (created, listed):
        assert response.headers[WARNING].split(", ") == slugs


async def test_each_warning_is_listed_once(emulator: World) -> None:
    body = order(
        methods=["mpesa", "mpesa", "telebirr", "telebirr"],
        success_url="https://u@shop.example/",
        cancel_url="https://u@shop.example/",
        metadata={"k" * 41: "", "l" * 41: "v" * 501},
        idempotency_key="k" * 256,
        expires_in=1,
        x=1,
    )
    response = await post(emulator, body, query="?y=1", **HEADER)
    slugs = response.headers[WARNING].split(", ")
    assert len(slugs) == len(set(slugs))
    assert set(slugs) == {
        *("duplicate-method", "unusual-success-url", "unusual-cancel-url", "long-metadata"),
        *("long-idempotency-key", "unusual-expires-in", "unknown-parameter:x"),
        *("unknown-parameter:y", "idempotency-key-header"),
    }


def test_the_table_of_warnings_has_each_deviation_with_its_code() -> None:
    for deviation in DEVIATIONS:
        assert tolerance_of(deviation.slug).strict_code == deviation.code, deviation.slug
