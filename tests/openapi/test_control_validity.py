"""The document of the control API and the program agree on what is valid."""

import json
from base64 import b64encode
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from jsonschema_rs import Draft202012Validator

from tests.openapi.conftest import printed
from tests.openapi.navigation import Json, Operation, operations, resolved, self_contained
from tests.world import World

LONG_URL = "http://127.0.0.1/"


def secret(size: int) -> str:
    return f"whsec_{b64encode(bytes(size)).decode()}"


BODIES: list[tuple[str, Any, bool]] = [
    ("create_account", {}, True),
    ("create_account", dict.fromkeys(("name", "test_key", "live_key", "clock", "seed")), True),
    ("create_account", {"name": "x" * 100}, True),
    ("create_account", {"name": "አዲስ መጽሐፍ"}, True),
    ("create_account", {"name": "x" * 101}, False),
    ("create_account", {"name": ""}, False),
    ("create_account", {"name": "two\nlines"}, False),
    ("create_account", {"name": "late\x9fcontrol"}, False),
    ("create_account", {"test_key": "test_" + "x" * 128}, True),
    ("create_account", {"test_key": "test_" + "x" * 129}, False),
    ("create_account", {"test_key": "test_xyz"}, False),
    ("create_account", {"test_key": "live_wxyz"}, False),
    ("create_account", {"test_key": "test_wxyz\n"}, False),
    ("create_account", {"live_key": "live_wxyz"}, True),
    ("create_account", {"live_key": 5}, False),
    ("create_account", {"clock": "real"}, True),
    ("create_account", {"clock": "frozen"}, True),
    ("create_account", {"clock": "frozen@2026-01-01T00:00:00Z"}, True),
    ("create_account", {"clock": "frozen@2026-01-01T00:00:00.25+03:00"}, True),
    ("create_account", {"clock": "frozen@"}, False),
    ("create_account", {"clock": "real@2026-01-01T00:00:00Z"}, False),
    ("create_account", {"clock": "frozen@now"}, False),
    ("create_account", {"seed": 2**63 - 1}, True),
    ("create_account", {"seed": -(2**63)}, True),
    ("create_account", {"seed": 2**63}, False),
    ("create_account", {"seed": "1"}, False),
    ("create_account", {"seed": True}, False),
    ("reset", {"all": False}, True),
    ("reset", {"all": 0}, False),
    ("set_clock", {"now": "2026-01-02T00:00:00Z", "frozen": True}, True),
    ("set_clock", {"now": "tomorrow"}, False),
    ("set_clock", {"frozen": "yes"}, False),
    ("advance_clock", {"seconds": 0}, True),
    ("advance_clock", {"seconds": 1.005, "webhooks": "background"}, True),
    ("advance_clock", {"seconds": -1}, False),
    ("advance_clock", {"seconds": "1"}, False),
    ("advance_clock", {"seconds": None}, False),
    ("advance_clock", {"seconds": 1, "to": "next"}, False),
    ("advance_clock", {"seconds": 300_000_000_000}, False),
    ("advance_clock", {"until": "2026-01-02T00:00:00.000Z", "webhooks": None}, True),
    ("advance_clock", {"until": 1}, False),
    ("advance_clock", {"to": "next"}, True),
    ("advance_clock", {"to": "last"}, False),
    ("advance_clock", {"to": "next", "webhooks": "foreground"}, False),
    ("advance_clock", {}, False),
    ("pay_payment", {"method": "telebirr", "phone": "0900 00-00 01", "bank": None}, True),
    ("pay_payment", {"method": "mpesa", "phone": "+251700000001"}, True),
    ("pay_payment", {"method": "bank_transfer", "bank": "walia_test"}, True),
    ("pay_payment", {"method": "telebirr"}, False),
    ("pay_payment", {"method": "telebirr", "phone": None}, False),
    ("pay_payment", {"method": "telebirr", "phone": "0900000001", "bank": "walia_test"}, False),
    ("pay_payment", {"method": "telebirr", "phone": "12345"}, False),
    ("pay_payment", {"method": "telebirr", "phone": "- 0 02-51 9 00000001 -"}, True),
    ("pay_payment", {"method": "telebirr", "phone": "00900000001"}, False),
    ("pay_payment", {"method": "telebirr", "phone": "9 -70 --0-1 1 3 -4- -- -1 -8 --"}, False),
    ("pay_payment", {"method": "telebirr", "phone": "++251900000001"}, False),
    ("pay_payment", {"method": "bank_transfer"}, False),
    ("pay_payment", {"method": "bank_transfer", "bank": "national_bank"}, False),
    (
        "pay_payment",
        {"method": "bank_transfer", "bank": "walia_test", "phone": "0900000001"},
        False,
    ),
    ("pay_payment", {"phone": "0900000001"}, False),
    ("transition_payment", {"status": "processing", "method": "mpesa", "reason": None}, True),
    ("transition_payment", {"status": "expired", "unusual": False}, True),
    ("transition_payment", {"status": "processing", "reason": "timeout"}, False),
    ("transition_payment", {"status": "paid"}, False),
    ("transition_payment", {"status": "expired", "unusual": 1}, False),
    ("answer_payment", {"answer": "yes"}, False),
    ("answer_payment", {"answer": None}, False),
    ("place_scenario", {"name": "banks"}, True),
    ("place_scenario", {"name": "x" * 201}, False),
    ("create_webhook_endpoint", {"url": "http://127.0.0.1:9/hook?a=b#c"}, True),
    ("create_webhook_endpoint", {"url": "https://ሱቅ.example/ቡና"}, True),
    ("create_webhook_endpoint", {"url": f"{LONG_URL:x<2048}"}, True),
    ("create_webhook_endpoint", {"url": f"{LONG_URL:x<2049}"}, False),
    ("create_webhook_endpoint", {"url": "ftp://127.0.0.1/"}, False),
    ("create_webhook_endpoint", {"url": "//127.0.0.1/"}, False),
    ("create_webhook_endpoint", {"url": "http:///hook"}, False),
    ("create_webhook_endpoint", {"url": "http://a b/"}, False),
    ("create_webhook_endpoint", {}, False),
    ("create_webhook_endpoint", {"url": LONG_URL, "events": ["payment.failed"] * 2}, True),
    ("create_webhook_endpoint", {"url": LONG_URL, "events": []}, False),
    ("create_webhook_endpoint", {"url": LONG_URL, "events": ["ping"]}, False),
    ("create_webhook_endpoint", {"url": LONG_URL, "events": "payment.failed"}, False),
    ("create_webhook_endpoint", {"url": LONG_URL, "profile": "standard"}, True),
    ("create_webhook_endpoint", {"url": LONG_URL, "profile": "patient"}, False),
    ("create_webhook_endpoint", {"url": LONG_URL, "enabled": True}, False),
    *[
        ("rotate_webhook_secret", {"secret": secret(size)}, True)
        for size in (24, 25, 26, 62, 63, 64)
    ],
    *[("rotate_webhook_secret", {"secret": secret(size)}, False) for size in (0, 22, 23, 65, 66)],
    ("rotate_webhook_secret", {"secret": secret(24).removeprefix("whsec_")}, False),
    ("rotate_webhook_secret", {"secret": secret(25).removesuffix("=")}, False),
    ("rotate_webhook_secret", {"secret": secret(24) + "\n"}, False),
    ("rotate_webhook_secret", {}, True),
    ("update_webhook_endpoint", {"enabled": False, "url": None}, True),
    ("update_webhook_endpoint", {"enabled": None, "secret": "secret"}, False),
    ("switch_scenario", {"enabled": True}, True),
    ("switch_scenario", {"enabled": None}, False),
    ("put_scenario", {}, True),
    ("put_scenario", {"version": 1, "name": "banks", "enabled": False, "outcomes": []}, True),
    ("put_scenario", {"version": 2}, False),
    ("put_scenario", {"expiry": [{"when": {}}]}, False),
    ("put_scenario", {"faults": [{"when": {}, "then": {"status": 200}}]}, False),
    ("put_scenario", {"webhooks": [{"when": {}, "then": {"drop": True, "copies": 2}}]}, False),
    ("add_fault", {"then": {"status": 429}, "when": None, "times": None}, True),
    ("add_fault", {"then": {"latency": "1ms", "drop": True}, "when": {"nth": 2}}, True),
    *[
        ("add_fault", {"then": {"status": 429, "retry_after": value}}, True)
        for value in (1, 86_400, "1s", "030s", "1.0s", "86400s", "1000ms", "86400000ms", "1.5m")
    ],
    *[
        ("add_fault", {"then": {"status": 429, "retry_after": value}}, True)
        for value in ("1440m", "24h", "0.5h", "1d")
    ],
    *[
        ("add_fault", {"then": {"status": 429, "retry_after": value}}, False)
        for value in (0, 86_401, 0.5, "30", "0s", "1.5s", "86401s", "500ms", "1500ms", "1441m")
    ],
    *[
        ("add_fault", {"then": {"status": 429, "retry_after": value}}, False)
        for value in ("100000s", "86401000ms", "25h", "2d", "1.1d", "s", "1 s", True)
    ],
    *[
        ("add_fault", {"then": {"latency": value}}, True)
        for value in ("1ms", "1.0ms", "0.5s", "300s", "5m", "0.05h")
    ],
    *[
        ("add_fault", {"then": {"latency": value}}, False)
        for value in ("0ms", "0s", "0.0m", "0.5ms", "300001ms", "301s", "6m", "1h", "1d", 5)
    ],
    ("add_fault", {"when": {}}, False),
    ("add_fault", {"then": {}}, False),
    ("add_fault", {"then": {"point": "after_commit"}}, False),
    ("add_fault", {"then": {"truncate": True, "point": "before_commit"}}, False),
    ("add_fault", {"then": {"status": 500}, "when": {"nth": 1, "every": 2}}, False),
    ("add_fault", {"then": {"status": 500}, "times": 0}, False),
    ("set_checkout_url", {"url": "http://localhost:49153/shop/"}, True),
    ("set_checkout_url", {"url": "http://localhost/?a=b"}, False),
    ("set_checkout_url", {"url": "http://localhost/#a"}, False),
    ("set_checkout_url", {"url": None}, False),
]
QUERIES: list[tuple[str, str, str, bool]] = [
    *[("list_events", "limit", value, True) for value in ("1", "1000")],
    *[("list_events", "limit", value, False) for value in ("0", "1001", "-1", "1.5", "x", "")],
    *[("get_clock", "mode", value, True) for value in ("test", "live")],
    *[("get_clock", "mode", value, False) for value in ("TEST", "sandbox", "")],
    *[("count_requests", "status", value, True) for value in ("201", "4xx", "599", "none")],
    *[("count_requests", "status", value, False) for value in ("600", "4x", "40x", "any", "")],
    *[
        (call, "event", value, value != "ping")
        for call in ("list_deliveries", "wait_for_delivery")
        for value in ("payment.created", "ping")
    ],
    ("list_payments", "limit", "100", True),
    ("list_payments", "limit", "101", False),
    ("list_payments", "method", "telebirr", True),
    ("list_payments", "method", "cash", False),
    ("list_deliveries", "status", "dropped", True),
    ("list_deliveries", "status", "late", False),
    *[
        ("wait_for_payment", "timeout", value, True)
        for value in ("0", "0.0005", "1e-3", "0.1E-2", "1e-05", "-0", "0e9", "1e-400")
    ],
    *[
        ("wait_for_payment", "timeout", value, False)
        for value in ("-1", "300.001", "3.1e2", "1e400", "-1e-9", "1e", "e1", ".5", "NaN", "x", "")
    ],
]
NEEDED = {
    "wait_for_payment": {"status": "pending"},
    "wait_for_delivery": {"event": "payment.failed", "timeout": "0"},
}
NAMES: list[tuple[str, str, bool]] = [
    *[("save_snapshot", name, True) for name in ("a", "Z", "0", "A-1_2.3", "x" * 64)],
    *[
        ("save_snapshot", name, False)
        for name in ("-", "_a", ".a", "a b", "a:b", "ሀ", "x" * 65, "a\n", "\0")
    ],
    *[("put_scenario", name, True) for name in ("a", "1-a_b", "x" * 64)],
    *[("put_scenario", name, False) for name in ("A", "-a", "a.b", "x" * 65, "a\n")],
]


@pytest.fixture(scope="module")
def control() -> Json:
    return dict(json.loads(printed("control")))


def operation_named(document: Json, name: str) -> Operation:
    [found] = [operation for operation in operations(document) if operation.name == name]
    return found


def is_valid(document: Json, schema: Json, value: Any) -> bool:
    whole = self_contained(document, schema)
    return bool(Draft202012Validator(whole, validate_formats=True).is_valid(value))


async def path_of(emulator: World, template: str) -> str:
    payment = await emulator.create() if "{payment_id}" in template else {"id": ""}
    endpoint = {"id": ""}
    if "{endpoint_id}" in template:
        made = await emulator.control("POST", "/webhook_endpoints", {"url": LONG_URL})
        endpoint = made.json()
    path = template.removeprefix("/_emulator")
    return path.format(payment_id=payment["id"], endpoint_id=endpoint["id"], name="banks")


@pytest.mark.parametrize("call", dict.fromkeys(call for call, *_ in BODIES))
async def test_a_body_is(emulator: World, control: Json, call: str) -> None:
    operation = operation_named(control, call)
    schema = operation.definition["requestBody"]["content"]["application/json"]["schema"]
    for body, is_right in [row[1:] for row in BODIES if row[0] == call]:
        path = await path_of(emulator, operation.path)
        response = await emulator.control(operation.method.upper(), path, body)
        assert response.is_success or response.status_code == 400, response.text
        assert (is_valid(control, schema, body), response.is_success) == (is_right, is_right), body


@pytest.mark.parametrize("call", dict.fromkeys(call for call, *_ in QUERIES))
async def test_a_query_is(emulator: World, control: Json, call: str) -> None:
    operation = operation_named(control, call)
    found = [resolved(control, one) for one in operation.definition["parameters"]]
    path = await path_of(emulator, operation.path)
    needed = NEEDED.get(call, {})
    for name, value, is_right in [row[1:] for row in QUERIES if row[0] == call]:
        [schema] = [one["schema"] for one in found if one["name"] == name]
        query = urlencode({**needed, name: value})
        response = await emulator.control("GET", f"{path}?{query}")
        assert response.status_code == (200 if is_right else 400), value
        assert is_valid(control, schema, read(schema, value)) is is_right, value


def read(schema: Json, text: str) -> Any:
    """The value of a query parameter as its schema describes it."""
    if schema.get("type") in ("integer", "number"):
        try:
            return json.loads(text)
        except ValueError:
            return text
    return text


@pytest.mark.parametrize("call", dict.fromkeys(call for call, *_ in NAMES))
async def test_a_name_in_a_path_is(emulator: World, control: Json, call: str) -> None:
    operation = operation_named(control, call)
    found = [resolved(control, one) for one in operation.definition["parameters"]]
    [schema] = [one["schema"] for one in found if one["in"] == "path"]
    body = {} if "requestBody" in operation.definition else None
    for name, is_right in [row[1:] for row in NAMES if row[0] == call]:
        path = operation.path.removeprefix("/_emulator").replace("{name}", quote(name))
        response = await emulator.control("PUT", path, body)
        assert response.status_code == (201 if is_right else 400), name
        assert is_valid(control, schema, name) is is_right, name
