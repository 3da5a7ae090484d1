"""What is taken as a body, and what is refused before any verb is called."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.control import refusal
from tests.world import World

ADVANCE = "/_emulator/clock/advance"
JSON = "application/json"


async def post(emulator: World, content: bytes, content_type: str | None = JSON) -> Any:
    headers = {} if content_type is None else {"Content-Type": content_type}
    return await emulator.api.post(ADVANCE, content=content, headers=headers)


@pytest.mark.parametrize(
    "content_type",
    [JSON, "Application/JSON", f"{JSON}; charset=utf-8", f'{JSON};charset="UTF-8"', f"{JSON}; x=y"],
)
async def test_a_body_is_json_in_utf8(emulator: World, content_type: str) -> None:
    response = await post(emulator, b'{"seconds": 0}', content_type)
    assert response.status_code == 200


@pytest.mark.parametrize(
    "content_type",
    [
        None,
        "",
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/jsonx",
        "application/yaml",
        f"{JSON}; charset=latin-1",
        f"{JSON}; charset=utf-16",
        f"{JSON}, text/plain",
    ],
)
async def test_a_body_of_another_type_is_refused(emulator: World, content_type: str | None) -> None:
    response = await post(emulator, b'{"seconds": 0}', content_type)
    assert refusal(response) == (400, "unsupported_content_type", None)


@pytest.mark.parametrize("content_type", [None, "text/plain", JSON])
async def test_a_write_without_a_body_needs_no_type(
    emulator: World, content_type: str | None
) -> None:
    headers = {} if content_type is None else {"Content-Type": content_type}
    assert (await emulator.api.post("/_emulator/reset", headers=headers)).status_code == 204
    assert (await emulator.api.put("/_emulator/clock", headers=headers)).status_code == 200
    assert (await emulator.api.post("/_emulator/accounts", headers=headers)).status_code == 201


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b" ",
        b"nonsense",
        b'{"seconds": 1,}',
        b"{'seconds': 1}",
        b'{"seconds": 01}',
        b'{"seconds": NaN}',
        b'{"seconds": Infinity}',
        b'{"seconds": -Infinity}',
        b'{"seconds": 1} {}',
        b'\xef\xbb\xbf{"seconds": 1}',
        b'{"seconds": "\xff"}',
        b'{"to": "\\ud800"}',
        b'{"\\udfff": 1}',
        b'{"\\udfff": 1, "\\udfff": 1}',
        b'{"to": "\x00"}',
        pytest.param(b"[" * 100_000, id="deep array"),
        pytest.param(b'{"a":' * 40_000, id="deep object"),
    ],
)
async def test_what_is_not_json_is_refused(emulator: World, content: bytes) -> None:
    assert refusal(await post(emulator, content)) == (400, "invalid_json", None)


@pytest.mark.parametrize("content", [b"[]", b"null", b"1", b'"seconds"', b"true", b"1e999999999"])
async def test_what_is_no_object_is_refused(emulator: World, content: bytes) -> None:
    assert refusal(await post(emulator, content)) == (400, "invalid_request_body", None)


@pytest.mark.parametrize(
    ("content", "param", "hint"),
    [
        (b'{"second": 1}', "second", "'seconds'"),
        (b'{"seconds": 1, "untill": null}', "untill", "'until'"),
        (b'{"\\u0000": 1}', "\0", ""),
        pytest.param(b'{"' + b"x" * 1000 + b'": 1}', "x" * 64, "", id="a long name"),
    ],
)
async def test_an_unknown_member_is_refused_with_the_nearest_known_one(
    emulator: World, content: bytes, param: str, hint: str
) -> None:
    response = await post(emulator, content)
    assert refusal(response) == (400, "unknown_parameter", param)
    assert hint in response.json()["error"]["message"]


async def test_a_member_given_twice_is_refused(emulator: World) -> None:
    response = await post(emulator, b'{"seconds": 1, "seconds": 1}')
    assert refusal(response) == (400, "duplicate_parameter", "seconds")


async def test_a_body_over_the_limit_is_refused(emulator: World) -> None:
    largest = b'{"seconds": 0' + b" " * (256 * 1024 - 14) + b"}"
    assert (await post(emulator, largest)).status_code == 200
    assert refusal(await post(emulator, largest + b" ")) == (400, "request_too_large", None)


async def test_a_body_that_says_it_is_too_large_is_not_read(emulator: World) -> None:
    for length in ("300000", "9" * 5000):
        response = await emulator.api.post(
            ADVANCE, content=b"{}", headers={"Content-Type": JSON, "Content-Length": length}
        )
        assert refusal(response) == (400, "request_too_large", None)


async def test_a_body_without_a_length_is_counted_while_it_is_read(emulator: World) -> None:
    read = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal read
        while True:
            read += 1
            yield b" " * 65_536

    response = await emulator.api.post(ADVANCE, content=endless(), headers={"Content-Type": JSON})
    assert refusal(response) == (400, "request_too_large", None)
    assert read < 10


async def test_null_counts_as_absent(emulator: World) -> None:
    response = await post(emulator, b'{"seconds": 0, "until": null, "to": null, "webhooks": null}')
    assert response.status_code == 200


LONG = "x" * 201


@pytest.mark.parametrize(
    ("method", "path", "body", "expected"),
    [
        ("POST", "/accounts", {"name": 1}, (400, "invalid_name", "name")),
        ("POST", "/accounts", {"name": ""}, (400, "invalid_name", "name")),
        ("POST", "/accounts", {"name": "x" * 101}, (400, "invalid_name", "name")),
        ("POST", "/accounts", {"name": "a\nb"}, (400, "invalid_name", "name")),
        ("POST", "/accounts", {"name": "a\0b"}, (400, "invalid_name", "name")),
        ("POST", "/accounts", {"name": "a\x85b"}, (400, "invalid_name", "name")),
        ("POST", "/accounts", {"test_key": 1}, (400, "invalid_test_key", "test_key")),
        ("POST", "/accounts", {"test_key": ""}, (400, "invalid_test_key", "test_key")),
        ("POST", "/accounts", {"test_key": "live_abcd"}, (400, "invalid_test_key", "test_key")),
        ("POST", "/accounts", {"test_key": "test_a\0b"}, (400, "invalid_test_key", "test_key")),
        ("POST", "/accounts", {"test_key": "test_abcd\n"}, (400, "invalid_test_key", "test_key")),
        ("POST", "/accounts", {"test_key": LONG}, (400, "invalid_test_key", "test_key")),
        ("POST", "/accounts", {"live_key": "test_abcd"}, (400, "invalid_live_key", "live_key")),
        ("POST", "/accounts", {"live_key": []}, (400, "invalid_live_key", "live_key")),
        ("POST", "/accounts", {"clock": 1}, (400, "invalid_clock", "clock")),
        ("POST", "/accounts", {"clock": "stopped"}, (400, "invalid_clock", "clock")),
        ("POST", "/accounts", {"clock": "frozen@"}, (400, "invalid_clock", "clock")),
        ("POST", "/accounts", {"clock": "frozen@\0"}, (400, "invalid_clock", "clock")),
        ("POST", "/accounts", {"clock": f"frozen@{LONG}"}, (400, "invalid_clock", "clock")),
        ("POST", "/accounts", {"clock": "frozen@9999-01-01"}, (400, "invalid_clock", "clock")),
        ("POST", "/accounts", {"seed": "1"}, (400, "invalid_seed", "seed")),
        ("POST", "/accounts", {"seed": True}, (400, "invalid_seed", "seed")),
        ("POST", "/accounts", {"seed": 1.0}, (400, "invalid_seed", "seed")),
        ("POST", "/accounts", {"seed": 2**63}, (400, "invalid_seed", "seed")),
        ("POST", "/accounts", {"seed": -(2**63) - 1}, (400, "invalid_seed", "seed")),
        pytest.param(
            *("POST", "/accounts", {"seed": 10**4000}, (400, "invalid_seed", "seed")),
            id="a seed of many digits",
        ),
        ("POST", "/accounts", {"keys": {}}, (400, "unknown_parameter", "keys")),
        ("DELETE", "/accounts/acct_other", {"all": True}, (400, "unknown_parameter", "all")),
        ("POST", "/reset", {"all": 1}, (400, "invalid_all", "all")),
        ("POST", "/reset", {"all": "true"}, (400, "invalid_all", "all")),
        ("PUT", "/clock", {"now": 1}, (400, "invalid_clock", "now")),
        ("PUT", "/clock", {"now": ""}, (400, "invalid_clock", "now")),
        ("PUT", "/clock", {"now": "tomorrow"}, (400, "invalid_clock", "now")),
        ("PUT", "/clock", {"now": "2025-12-31T23:59:59.999Z"}, (400, "invalid_clock", "now")),
        ("PUT", "/clock", {"now": "9999-01-01T00:00:00Z"}, (400, "invalid_clock", "now")),
        ("PUT", "/clock", {"frozen": "yes"}, (400, "invalid_clock", "frozen")),
        ("PUT", "/clock", {"frozen": 0}, (400, "invalid_clock", "frozen")),
        ("PUT", "/clock", {"seconds": 0}, (400, "unknown_parameter", "seconds")),
        ("POST", "/payments/pay_1/pay", {}, (400, "missing_parameter", "method")),
        ("POST", "/payments/pay_1/pay", {"method": 1}, (400, "invalid_method", "method")),
        ("POST", "/payments/pay_1/pay", {"method": LONG}, (400, "invalid_method", "method")),
        (
            "POST",
            "/payments/pay_1/pay",
            {"method": "telebirr", "phone": 900000001},
            (400, "invalid_phone", "phone"),
        ),
        (
            "POST",
            "/payments/pay_1/pay",
            {"method": "bank_transfer", "bank": ["walia_test"]},
            (400, "invalid_bank", "bank"),
        ),
        ("POST", "/payments/pay_1/answer", {}, (400, "missing_parameter", "answer")),
        ("POST", "/payments/pay_1/answer", {"answer": "yes"}, (400, "invalid_answer", "answer")),
        ("POST", "/payments/pay_1/answer", {"answer": True}, (400, "invalid_answer", "answer")),
        ("POST", "/payments/pay_1/cancel", {"reason": "x"}, (400, "unknown_parameter", "reason")),
        ("POST", "/payments/pay_1/transition", {}, (400, "missing_parameter", "status")),
        (
            "POST",
            "/payments/pay_1/transition",
            {"status": "paid"},
            (400, "invalid_status", "status"),
        ),
        ("POST", "/payments/pay_1/transition", {"status": 1}, (400, "invalid_status", "status")),
        (
            "POST",
            "/payments/pay_1/transition",
            {"status": "failed", "reason": "bad_luck"},
            (400, "invalid_reason", "reason"),
        ),
        (
            "POST",
            "/payments/pay_1/transition",
            {"status": "failed", "method": {}},
            (400, "invalid_method", "method"),
        ),
        (
            "POST",
            "/payments/pay_1/transition",
            {"status": "failed", "unusual": 1},
            (400, "invalid_unusual", "unusual"),
        ),
    ],
)
async def test_a_wrong_member_is_refused_by_its_name(
    emulator: World, method: str, path: str, body: Any, expected: tuple[int, str, str]
) -> None:
    assert refusal(await emulator.control(method, path, body)) == expected


@pytest.mark.parametrize(
    ("content", "param"),
    [
        (b"{}", "seconds"),
        (b'{"seconds": null}', "seconds"),
        (b'{"webhooks": "background"}', "seconds"),
        (b'{"seconds": 1, "to": "next"}', "to"),
        (b'{"seconds": 0, "until": "2026-01-02T00:00:00Z"}', "until"),
        (b'{"until": "2026-01-02T00:00:00Z", "to": "next"}', "to"),
        (b'{"seconds": true}', "seconds"),
        (b'{"seconds": "1"}', "seconds"),
        (b'{"seconds": [1]}', "seconds"),
        (b'{"seconds": -1}', "seconds"),
        (b'{"seconds": -0.001}', "seconds"),
        (b'{"seconds": 1.0005}', "seconds"),
        (b'{"seconds": 0.0001}', "seconds"),
        (b'{"seconds": 1.0010000000000000000000000000000000000000000000001}', "seconds"),
        (b'{"seconds": 1e-4}', "seconds"),
        (b'{"seconds": 1e-999999999}', "seconds"),
        (b'{"seconds": 1e-99999999999999999999}', "seconds"),
        (b'{"seconds": 1e999999999}', "seconds"),
        (b'{"seconds": 1e99999999999999999999}', "seconds"),
        pytest.param(b'{"seconds": ' + b"9" * 5000 + b"}", "seconds", id="many digits"),
        pytest.param(b'{"seconds": 0.' + b"0" * 200_000 + b"1}", "seconds", id="many zeros"),
        (b'{"seconds": 253402300800}', "seconds"),
        (b'{"seconds": 251700000000}', "seconds"),
        (b'{"until": 1767225600}', "until"),
        (b'{"until": "later"}', "until"),
        (b'{"until": "2025-12-31T23:59:59.999Z"}', "until"),
        (b'{"until": "9999-01-01T00:00:00Z"}', "until"),
        (b'{"until": "1969-12-31T23:59:59Z"}', "until"),
        (b'{"until": "2026-02-30T00:00:00Z"}', "until"),
        (b'{"until": "0001-01-01T00:00:00+23:59"}', "until"),
        (b'{"until": "\\u0000"}', "until"),
        (b'{"to": "end"}', "to"),
        (b'{"to": 1}', "to"),
        (b'{"to": ""}', "to"),
    ],
)
async def test_whatever_is_wrong_about_a_clock_is_an_invalid_clock(
    emulator: World, content: bytes, param: str
) -> None:
    assert refusal(await post(emulator, content)) == (400, "invalid_clock", param)


@pytest.mark.parametrize("webhooks", ["later", "", 1, True])
async def test_webhooks_are_waited_for_or_left_in_the_background(
    emulator: World, webhooks: Any
) -> None:
    body = {"seconds": 0, "webhooks": webhooks}
    response = await emulator.control("POST", "/clock/advance", body)
    assert refusal(response) == (400, "invalid_webhooks", "webhooks")


@pytest.mark.parametrize(
    ("query", "code", "param"),
    [
        ("", "missing_parameter", "status"),
        ("?status=", "invalid_status", "status"),
        ("?status=paid", "invalid_status", "status"),
        ("?status=failed&timeout=", "invalid_timeout", "timeout"),
        ("?status=failed&timeout=-1", "invalid_timeout", "timeout"),
        ("?status=failed&timeout=300.001", "invalid_timeout", "timeout"),
        ("?status=failed&timeout=3.1e2", "invalid_timeout", "timeout"),
        ("?status=failed&timeout=NaN", "invalid_timeout", "timeout"),
        ("?status=failed&timeout=%D9%A1", "invalid_timeout", "timeout"),
        pytest.param(
            "?status=failed&timeout=" + "9" * 5000, "invalid_timeout", "timeout", id="many digits"
        ),
        ("?status=failed&limit=1", "unknown_parameter", "limit"),
    ],
)
async def test_a_wait_names_a_status_and_a_bounded_time(
    emulator: World, query: str, code: str, param: str
) -> None:
    response = await emulator.control("GET", f"/payments/pay_1/wait{query}")
    assert refusal(response) == (400, code, param)


@pytest.mark.parametrize(
    "limit",
    [
        *("0", "1001", "-1", "1.5", "", "ten", "%D9%A1"),
        pytest.param("0" * 5000 + "1", id="many zeros"),
    ],
)
async def test_events_are_limited_to_a_thousand(emulator: World, limit: str) -> None:
    response = await emulator.control("GET", f"/events?limit={limit}")
    assert refusal(response) == (400, "invalid_limit", "limit")


async def test_a_client_that_hangs_up_in_its_body_is_no_failure_of_ours(
    emulator: World, caplog: pytest.LogCaptureFixture
) -> None:
    parts = iter(
        [
            {"type": "http.request", "body": b'{"seconds": 6', "more_body": True},
            {"type": "http.disconnect"},
        ]
    )
    sent: list[Any] = []

    async def receive() -> Any:
        return next(parts)

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": ADVANCE,
        "raw_path": ADVANCE.encode(),
        "query_string": b"",
        "server": ("127.0.0.1", 8080),
        "headers": [(b"host", b"127.0.0.1:8080"), (b"content-type", JSON.encode())],
    }
    await emulator.running.gateway(scope, receive, send)
    assert sent == []
    assert not caplog.records
    assert (await emulator.advance(0))["now"] == "2026-01-01T00:00:00.000Z"
