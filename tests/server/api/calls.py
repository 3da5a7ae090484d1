"""Calls of `/v1`, and checks that every response must pass."""

import json
import re
from collections.abc import AsyncIterator
from typing import Any

import httpx

from emulator.tools.verify.contract import PARAMETERS
from tests.world import TEST_KEY, World, headers, order

PAYMENTS = "/v1/payments"
JSON = "application/json"

CREATE_PARAMS = tuple(PARAMETERS)
QUERY_PARAMS = ("limit", "after", "status", "method", "created_gte", "created_lte")
PARAMS = {*CREATE_PARAMS, *QUERY_PARAMS}
# The codes of `/v1`, and the status of each.
CODES = {
    **{f"invalid_{param}": 400 for param in CREATE_PARAMS},
    **{f"invalid_{param}": 400 for param in QUERY_PARAMS if param != "after"},
    "invalid_cursor": 400,
    "invalid_json": 400,
    "invalid_request_body": 400,
    "unsupported_content_type": 400,
    "request_too_large": 400,
    "missing_parameter": 400,
    "unknown_parameter": 400,
    "duplicate_parameter": 400,
    "idempotency_key_header": 400,
    "missing_api_key": 401,
    "invalid_api_key": 401,
    "payment_not_found": 404,
    "route_not_found": 404,
    "idempotency_key_reused": 409,
    "idempotency_key_in_use": 409,
    "rate_limit_exceeded": 429,
    "internal_error": 500,
}
WARNING = "emulator-warning"
REPLAYED = "idempotent-replayed"

_REQUEST_ID = re.compile(r"req_[A-Za-z0-9]+")


async def post(
    emulator: World, body: Any, key: str = TEST_KEY, *, query: str = "", **more: str
) -> httpx.Response:
    """A create call with this body: bytes or chunks as they are, anything else as JSON."""
    content = body if isinstance(body, bytes | AsyncIterator) else json.dumps(body).encode()
    sent = {**headers(key), "Content-Type": JSON, **more}
    return await emulator.api.post(PAYMENTS + query, content=content, headers=sent)


async def get(emulator: World, path: str, key: str = TEST_KEY, **more: str) -> httpx.Response:
    return await emulator.api.get(path, headers={**headers(key), **more})


async def page(emulator: World, key: str = TEST_KEY, **parameters: str | int) -> dict[str, Any]:
    """A list call that succeeds."""
    response = await emulator.api.get(PAYMENTS, params=parameters, headers=headers(key))
    assert_common_headers(response)
    assert response.status_code == 200, response.text
    assert list(response.json()) == ["data", "has_more", "next_cursor"]
    return dict(response.json())


async def ids(emulator: World, key: str = TEST_KEY, **parameters: str | int) -> list[str]:
    return [payment["id"] for payment in (await page(emulator, key, **parameters))["data"]]


async def event_types(emulator: World, key: str = TEST_KEY) -> list[str]:
    return [event["type"] for event in (await emulator.shown("/events", key))["data"]]


def assert_common_headers(response: httpx.Response) -> None:
    """Check what every response must have."""
    assert _REQUEST_ID.fullmatch(response.headers["request-id"])
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["content-type"] == JSON
    assert int(response.headers["content-length"]) == len(response.content)
    assert not [name for name in response.headers if name.startswith("access-control-")]


def refusal(response: httpx.Response) -> tuple[int, str, str | None]:
    """The status, code and param of an error, which must have the contract's shape."""
    assert_common_headers(response)
    assert list(response.json()) == ["error"]
    error = response.json()["error"]
    assert set(error) - {"param"} == {"code", "message"}
    assert isinstance(error["message"], str)
    assert error["message"]
    assert CODES[error["code"]] == response.status_code
    if response.status_code not in (400, 409):
        assert "param" not in error
    return response.status_code, error["code"], error.get("param")


async def refused(emulator: World, body: Any, **more: Any) -> tuple[str, str | None]:
    """The code and param with which a create call is refused; it must leave no trace."""
    before = await page(emulator, limit=100)
    status, code, param = refusal(await post(emulator, body, **more))
    assert status == 400
    assert await page(emulator, limit=100) == before
    return code, param


def order_with(param: str, token: str) -> bytes:
    """A create body in which one member is this JSON token, as it is."""
    members = {name: json.dumps(value) for name, value in order().items()} | {param: token}
    return ("{" + ",".join(f'"{name}":{text}' for name, text in members.items()) + "}").encode()
