"""The document of the control API and the program agree on what is valid."""

import json
from base64 import b64encode
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from tests.server.control import refusal
from tests.server.openapi.navigation import Json, Operation, operations, resolved, validator
from tests.server.openapi.test_control_document import validate
from tests.world import World

LONG_URL = "http://127.0.0.1/"


def secret(size: int) -> str:
    return f"whsec_{b64encode(bytes(size)).decode()}"


FORM = {
    "version": 1,
    "name": "mine",
    "body": {"reference": "{payment.id}", "rate": 0.5},
    "signature": {"algorithm": "none"},
}
RETRY_AFTERS = {
    True: (1, 86_400, "1s", "30s", "9999s", "999m", "24h", "1d"),
    False: (
        *(0, 86_401, 0.5, "30", "0s", "s", "1 s", True),
        *("1.5s", "86401s", "500ms", "1500ms", "1441m"),
        *("100000s", "86401000ms", "25h", "2d", "1.1d"),
    ),
}
LATENCIES = {
    True: ("1ms", "0.5s", "300s", "5m", "0.05h"),
    False: ("0ms", "0s", "0.0m", "0.5ms", 5, "300001ms", "301s", "6m", "1h", "1d"),
}


def faults(is_valid: bool) -> list[Any]:
    """Fault rules with valid or invalid durations."""
    return [
        *({"then": {"status": 429, "retry_after": value}} for value in RETRY_AFTERS[is_valid]),
        *({"then": {"latency": value}} for value in LATENCIES[is_valid]),
    ]


# Of each call the valid and the invalid bodies.
BODIES: dict[str, tuple[list[Any], list[Any]]] = {
    "create_account": (
        [
            *({}, dict.fromkeys(("name", "test_key", "live_key", "clock", "seed"))),
            *({"name": "x" * 100}, {"name": "አዲስ መጽሐፍ"}),
            *({"test_key": "test_" + "x" * 128}, {"live_key": "live_wxyz"}),
            *({"clock": "real"}, {"clock": "frozen"}, {"clock": "frozen@2026-01-01T00:00:00Z"}),
            {"clock": "frozen@2026-01-01T00:00:00.25+03:00"},
            *({"seed": 2**63 - 1}, {"seed": -(2**63)}),
            *({"vary": "off"}, {"vary": "-7"}, {"vary": 2**63 - 1}, {"vary": "charset, long-ids"}),
        ],
        [
            *({"name": "x" * 101}, {"name": ""}, {"name": "two\nlines"}),
            *({"name": "late\x9fcontrol"}, {"name": 1}, {"name": "a\0b"}, {"test_key": ""}),
            *({"test_key": "test_a\0b"}, {"live_key": "test_abcd"}, {"clock": "frozen@9999-01-01"}),
            *({"seed": -(2**63) - 1}, {"seed": 10**4000}, {"clock": 1}, {"clock": "stopped"}),
            *({"test_key": "test_" + "x" * 129}, {"test_key": "test_xyz"}),
            *({"test_key": "live_wxyz"}, {"test_key": "test_wxyz\n"}, {"live_key": 5}),
            *({"clock": "frozen@"}, {"clock": "real@2026-01-01T00:00:00Z"}),
            {"clock": "frozen@now"},
            *({"seed": 2**63}, {"seed": "1"}, {"seed": True}),
            *({"vary": 2**63}, {"vary": "017"}, {"vary": True}, {"vary": ""}, {"vary": "off,off"}),
        ],
    ),
    "reset": ([{"all": False}], [{"all": 0}, {"all": "true"}]),
    "set_clock": (
        [
            {"now": "2026-01-02T00:00:00Z", "frozen": True},
            *({"rate": rate} for rate in (0.001, 0.5, 1.005, 60, 100_000)),
        ],
        [
            *({"now": "tomorrow"}, {"now": 1}, {"now": ""}, {"frozen": "yes"}, {"frozen": 0}),
            *({"rate": rate} for rate in (0, 0.0005, 1.0005, 100_000.001, "60")),
        ],
    ),
    "advance_clock": (
        [
            *({"seconds": 0}, {"seconds": 1.005, "webhooks": "background"}, {"to": "next"}),
            {"until": "2026-01-02T00:00:00.000Z", "webhooks": None},
        ],
        [
            *({"seconds": -1}, {"seconds": "1"}, {"seconds": None}, {"seconds": 1, "to": "next"}),
            *({"seconds": 300_000_000_000}, {"until": 1}, {"to": "last"}),
            *({"to": "next", "webhooks": each} for each in ("foreground", "", 1, True)),
            {},
        ],
    ),
    "pay_payment": (
        [
            {"method": "telebirr", "phone": "0900 00-00 01", "bank": None},
            {"method": "mpesa", "phone": "+251700000001"},
            {"method": "bank_transfer", "bank": "walia_test"},
            {"method": "telebirr", "phone": "- 0 02-51 9 00000001 -"},
            {"method": "telebirr", "phone": "+251-9-77-77-77-77", "bank": None},
            *({}, {"method": "telebirr"}, {"method": "telebirr", "phone": None}),
            *({"method": "bank_transfer"}, {"phone": "0700000001"}, {"bank": "walia_test"}),
        ],
        [
            {"method": "telebirr", "phone": "0900000001", "bank": "walia_test"},
            *(
                {"method": "telebirr", "phone": phone}
                for phone in (
                    *("12345", "00900000001", "9 -70 --0-1 1 3 -4- -- -1 -8 --", ""),
                    *("++251900000001", "0900000001\0", "٠٩٠٠٠٠٠٠٠١", "0" * 201),
                )
            ),
            *({"method": "telebirr", "phone": each} for each in ("0700000001", "+251 7 9999 9999")),
            {"method": "mpesa", "phone": "00251900000001"},
            {"method": "bank_transfer", "bank": "national_bank"},
            {"method": "bank_transfer", "bank": "walia_test", "phone": "0900000001"},
            *({"phone": "0900000001", "bank": "walia_test"}, {"phone": "1"}, {"phone": 900000001}),
            *({"method": 1}, {"method": "x" * 201}, {"method": "telebirr", "bank": ["walia_test"]}),
        ],
    ),
    "transition_payment": (
        [
            {"status": "processing", "method": "mpesa", "reason": None},
            {"status": "expired", "unusual": False},
        ],
        [
            {"status": "processing", "reason": "timeout"},
            *({"status": "paid"}, {"status": 1}, {"status": "expired", "unusual": 1}),
            *({"status": "failed", "reason": "bad_luck"}, {"status": "failed", "method": {}}),
        ],
    ),
    "answer_payment": ([], [{"answer": "yes"}, {"answer": True}, {"answer": None}]),
    "place_scenario": ([{"name": "banks"}], [{"name": "x" * 201}]),
    "create_webhook_endpoint": (
        [
            *({"url": "http://127.0.0.1:9/hook?a=b#c"}, {"url": "https://ሱቅ.example/ቡና"}),
            {"url": f"{LONG_URL:x<2048}"},
            {"url": LONG_URL, "events": ["payment.failed"] * 2},
            {"url": LONG_URL, "profile": "standard"},
            *({"url": LONG_URL, "format": name} for name in ("hex-header", FORM, None)),
            *({"url": LONG_URL, "format": form, "secret": "x"} for form in ("unsigned", FORM)),
        ],
        [
            *({"url": f"{LONG_URL:x<2049}"}, {"url": "ftp://127.0.0.1/"}, {"url": "//127.0.0.1/"}),
            *({"url": "http:///hook"}, {"url": "http://a b/"}, {}),
            *({"url": "shop.example"}, {"url": 7}),
            *({"url": LONG_URL, "events": events} for events in ([], ["ping"], "payment.failed")),
            {"url": LONG_URL, "events": [["payment.failed"]]},
            *({"url": LONG_URL, "profile": "patient"}, {"url": LONG_URL, "enabled": True}),
            *({"url": LONG_URL, "format": form} for form in ("hex", 1, {}, {**FORM, "body_": 1})),
        ],
    ),
    "rotate_webhook_secret": (
        [{}, *({"secret": secret(size)} for size in (24, 25, 26, 62, 63, 64))],
        [
            *({"secret": ""}, {"secret": "x" * 257}, {"secret": 1}),
        ],
    ),
    "update_webhook_endpoint": (
        [{"enabled": False, "url": None}],
        [{"enabled": None, "secret": ""}, {"format": "standard"}],
    ),
    "set_delivery_pause": ([{"paused": True}, {"paused": False}], [{"paused": "yes"}, {}]),
    "switch_scenario": ([{"enabled": True}], [{"enabled": None}, {"enabled": 1}]),
    "put_scenario": (
        [
            *({}, {"version": 1, "name": "banks", "enabled": False, "outcomes": []}),
            {"outcomes": [{"when": {"from": "1h", "until": "3h"}, "then": []}]},
        ],
        [
            *({"version": 2}, {"expiry": [{}]}, {"expiry": [{"when": {}}]}),
            {"expiry": [{"when": {"from": "1h"}, "after": "5s"}]},
            {"outcomes": [{"when": {"method": "mpesa", "phone": "0900000001"}, "then": []}]},
            {"outcomes": [{"when": {}, "then": [{"status": "refunded"}]}]},
            {"checkout": [{"when": {}, "then": {"attempts": 2, "delay": "1s"}}]},
            {"script": [{"create": {"as": "order"}}, {"pay": {"payment": "order"}}]},
            *({"script": [{"expect": {}}]}, {"script": [{"retrieve": {}}]}),
            {"faults": [{"when": {}, "then": {"status": 200}}]},
            {"webhooks": [{"when": {}, "then": {"drop": True, "copies": 2}}]},
        ],
    ),
    "add_fault": (
        [
            {"then": {"status": 429}, "when": None, "times": None},
            {"then": {"latency": "1ms", "drop": True}, "when": {"nth": 2}},
            *faults(True),
        ],
        [
            *({"when": {}}, {"then": {"point": "later"}}, {"then": {"status": 500}, "times": 0}),
            *faults(False),
        ],
    ),
    "set_checkout_url": (
        [{"url": "http://localhost:49153/shop/"}],
        [
            *({"url": "http://localhost/?a=b"}, {"url": "http://localhost/#a"}, {"url": None}),
            *({"url": 5}, {"url": ""}, {"url": "localhost:8081"}, {"url": "http://local host/"}),
            {"url": f"http://localhost/{'a' * 2048}"},
        ],
    ),
}
# Of a call and a parameter the valid and the invalid values.
QUERIES: dict[tuple[str, str], tuple[Sequence[str], Sequence[str]]] = {
    ("list_events", "limit"): (("1", "1000"), ("0", "1001", "-1", "1.5", "x", "", "\u0661")),
    ("get_clock", "mode"): (("test", "live"), ("TEST", "sandbox", "")),
    ("count_requests", "status"): (
        ("201", "4xx", "599", "none"),
        ("2", "600", "4x", "40x", "any", ""),
    ),
    ("list_deliveries", "event"): (["payment.created"], ["ping"]),
    ("wait_for_delivery", "event"): (["payment.created"], ["ping"]),
    ("list_payments", "limit"): (["100"], ["101"]),
    ("list_payments", "method"): (["telebirr"], ["cash"]),
    ("list_deliveries", "status"): (["dropped"], ["late"]),
    ("wait_for_payment", "timeout"): (
        ("0", "0.0005", "1e-3", "0.1E-2", "1e-05", "-0", "0e9", "1e-400"),
        ("-1", "300.001", "3.1e2", "1e400", "-1e-9", "1e", "e1", ".5", "NaN", "x", "", "\u0661"),
    ),
    ("wait_for_payment", "status"): (["pending"], ["paid", ""]),
    ("wait_for_delivery", "timeout"): (["0"], ["301"]),
    ("list_deliveries", "failing"): (["true"], ["1", "yes"]),
    ("list_payments", "reason"): (["timeout"], ["bad_luck", ""]),
    ("list_payments", "created_gte"): (["2026-01-01T00:00:00Z"], ["today"]),
    ("list_payments", "created_lte"): (["2026-01-01T00:00:00Z"], ["today"]),
}
NEEDED = {
    "wait_for_payment": {"status": "pending"},
    "wait_for_delivery": {"event": "payment.failed", "timeout": "0"},
}
# Of a call the valid and the invalid names in its path.
NAMES = {
    "save_snapshot": (
        ("a", "Z", "0", "A-1_2.3", "x" * 64),
        ("-", "_a", ".a", "a b", "a:b", "ሀ", "x" * 65, "a\n", "\0"),
    ),
    "put_scenario": (("a", "1-a_b", "x" * 64), ("A", "-a", "a.b", "x" * 65, "a\n")),
}


# The required member of a call, which may be missing.
REQUIRED = {
    "advance_clock": ["seconds"],
    "create_webhook_endpoint": ["url"],
    "add_fault": ["then"],
    "set_delivery_pause": ["paused"],
}
# Their wrong members have a code in common.
OWN_CODES = {
    **dict.fromkeys(("set_clock", "advance_clock"), "invalid_clock"),
    "put_scenario": "invalid_scenario",
    "add_fault": "invalid_fault",
}


def codes_of_member(call: str, name: str | None) -> tuple[str, ...]:
    """The codes of a wrong member or parameter."""
    return (OWN_CODES.get(call, f"invalid_{name}"), f"invalid_{name}")


def judged(valid: Iterable[Any], invalid: Iterable[Any]) -> list[tuple[Any, bool]]:
    """Each value, and whether it is valid."""
    return [*((value, True) for value in valid), *((value, False) for value in invalid)]


def operation_named(document: Json, name: str) -> Operation:
    [found] = [operation for operation in operations(document) if operation.name == name]
    return found


async def path_of(emulator: World, template: str) -> str:
    payment = await emulator.create() if "{payment_id}" in template else {"id": ""}
    endpoint = {"id": ""}
    if "{endpoint_id}" in template:
        made = await emulator.control("POST", "/webhook_endpoints", {"url": LONG_URL})
        endpoint = made.json()
    path = template.removeprefix("/_emulator")
    return path.format(payment_id=payment["id"], endpoint_id=endpoint["id"], name="banks")


@pytest.mark.parametrize("call", BODIES)
async def test_a_body_is(emulator: World, control: Json, call: str) -> None:
    operation = operation_named(control, call)
    schema = operation.definition["requestBody"]["content"]["application/json"]["schema"]
    judge = validator(control, schema)
    for body, is_right in judged(*BODIES[call]):
        path = await path_of(emulator, operation.path)
        response = await emulator.control(operation.method.upper(), path, body)
        assert (judge.is_valid(body), response.is_success) == (is_right, is_right), body
        if not is_right:
            _, code, param = refusal(response)
            # The last member is the wrong one.
            assert param in (*[*body][-1:], *REQUIRED.get(call, ())), body
            assert code in (
                "missing_parameter",
                "unknown_parameter",
                *codes_of_member(call, param),
            ), body
            validate(control, operation, response)


async def test_only_the_format_of_an_endpoint_decides_about_its_secret(
    emulator: World, control: Json
) -> None:
    schema = operation_named(control, "create_webhook_endpoint").definition["requestBody"]
    unfit = [secret(size) for size in (0, 22, 23, 65, 66)]
    unfit += [secret(24).removeprefix("whsec_"), secret(25).removesuffix("="), secret(24) + "\n"]
    bodies = [{"url": LONG_URL, "secret": each} for each in unfit]
    judge = validator(control, schema["content"]["application/json"]["schema"])
    for body in [*bodies, {"url": LONG_URL, "secret": secret(24), "format": "form-fields"}]:
        assert judge.is_valid(body), body
        response = await emulator.control("POST", "/webhook_endpoints", body)
        assert response.json()["error"]["code"] == "invalid_secret", body


@pytest.mark.parametrize(("call", "name"), QUERIES)
async def test_a_query_is(emulator: World, control: Json, call: str, name: str) -> None:
    operation = operation_named(control, call)
    found = [resolved(control, one) for one in operation.definition["parameters"]]
    path = await path_of(emulator, operation.path)
    [schema] = [one["schema"] for one in found if one["name"] == name]
    judge = validator(control, schema)
    for value, is_right in judged(*QUERIES[call, name]):
        query = urlencode({**NEEDED.get(call, {}), name: value})
        response = await emulator.control("GET", f"{path}?{query}")
        assert response.status_code == (200 if is_right else 400), value
        assert judge.is_valid(read(schema, value)) is is_right, value
        if not is_right:
            assert refusal(response) == (400, f"invalid_{name}", name), value
            validate(control, operation, response)


def read(schema: Json, text: str) -> Any:
    """The value of a query parameter as its schema describes it."""
    if schema.get("type") in ("integer", "number", "boolean"):
        try:
            return json.loads(text)
        except ValueError:
            return text
    return text


@pytest.mark.parametrize("call", NAMES)
async def test_a_name_in_a_path_is(emulator: World, control: Json, call: str) -> None:
    operation = operation_named(control, call)
    found = [resolved(control, one) for one in operation.definition["parameters"]]
    [schema] = [one["schema"] for one in found if one["in"] == "path"]
    body = {} if "requestBody" in operation.definition else None
    judge = validator(control, schema)
    for name, is_right in judged(*NAMES[call]):
        path = operation.path.removeprefix("/_emulator").replace("{name}", quote(name))
        response = await emulator.control("PUT", path, body)
        assert response.status_code == (201 if is_right else 400), name
        assert judge.is_valid(name) is is_right, name
