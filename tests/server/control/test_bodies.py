"""The bodies and parameters that the control API accepts, and the refusals of all others."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.server.api.raw_requests import RawRequest, send_raw
from tests.server.control import refusal
from tests.world import World

ADVANCE = "/_emulator/clock/advance"
JSON = "application/json"


STATE = (
    *("/accounts", "/checkout_url", "/clock", "/deliveries", "/events", "/faults", "/scenarios"),
    *("/snapshots", "/webhook_endpoints"),
)


@pytest.fixture
async def unchanged(emulator: World) -> AsyncIterator[None]:
    """The test must change nothing that the control API shows."""
    before = [(await emulator.control("GET", path)).content for path in STATE]
    yield
    assert [(await emulator.control("GET", path)).content for path in STATE] == before


async def post(emulator: World, content: bytes, content_type: str | None = JSON) -> Any:
    headers = {} if content_type is None else {"Content-Type": content_type}
    return await emulator.api.post(ADVANCE, content=content, headers=headers)


@pytest.mark.parametrize("content_type", [None, f"{JSON}; charset=utf-8", JSON])
async def test_a_write_without_a_body_needs_no_type(
    emulator: World, content_type: str | None
) -> None:
    headers = {} if content_type is None else {"Content-Type": content_type}
    assert (await emulator.api.post("/_emulator/reset", headers=headers)).status_code == 204
    assert (await emulator.api.put("/_emulator/clock", headers=headers)).status_code == 200
    assert (await emulator.api.post("/_emulator/accounts", headers=headers)).status_code == 201


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("content_type", ["", "text/plain", f"{JSON}; charset=latin-1"])
async def test_a_write_without_a_body_needs_no_other_type(
    emulator: World, content_type: str
) -> None:
    for method, path in (("POST", "/reset"), ("DELETE", "/accounts/acct_other"), ("PUT", "/clock")):
        response = await emulator.api.request(
            method, f"/_emulator{path}", headers={"Content-Type": content_type}
        )
        assert refusal(response) == (400, "unsupported_content_type", None)


@pytest.mark.usefixtures("unchanged")
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


async def test_null_counts_as_absent(emulator: World) -> None:
    response = await post(emulator, b'{"seconds": 0, "until": null, "to": null, "webhooks": null}')
    assert response.status_code == 200


LONG = "x" * 201
LONG_URL = f"http://localhost/{'a' * 2048}"
ENDPOINT = "POST /webhook_endpoints"
PAY, TRANSITION = "POST /payments/pay_1/pay", "POST /payments/pay_1/transition"
# By call and member: the wrong values. Their code is `invalid_` and the name of the member, or
# `invalid_clock`.
WRONG_VALUES: dict[str, dict[str, list[Any]]] = {
    "POST /accounts": {
        "name": [1, "", "x" * 101, "a\nb", "a\0b", "a\x85b"],
        "test_key": [1, "", "live_abcd", "test_a\0b", "test_abcd\n", LONG],
        "live_key": ["test_abcd", []],
        "seed": ["1", True, 1.0, 2**63, -(2**63) - 1, 10**4000],
        "clock": [1, "stopped", "frozen@", "frozen@\0", f"frozen@{LONG}", "frozen@9999-01-01"],
    },
    "PUT /clock": {
        "now": [1, "", "tomorrow", "2025-12-31T23:59:59.999Z", "9999-01-01T00:00:00Z"],
        "frozen": ["yes", 0],
    },
    "POST /reset": {"all": [1, "true"]},
    PAY: {"method": [1, LONG], "phone": [900000001], "bank": [["walia_test"]]},
    "POST /payments/pay_1/answer": {"answer": ["yes", True]},
    TRANSITION: {"status": ["paid", 1], "reason": ["bad_luck"], "method": [{}], "unusual": [1]},
    "POST /clock/advance": {"webhooks": ["later", "", 1, True]},
    ENDPOINT: {
        "url": ["ftp://shop.example/", "shop.example", 7, "http://a/" + "x" * 2_048],
        "events": [[], "payment.created", ["completed"], [["payment.created"]]],
        "secret": ["whsec_short", ""],
        "profile": ["fast"],
    },
    "PUT /checkout_url": {
        "url": [5, "", "localhost:8081", "http://local host/", "http://localhost:0", LONG_URL]
    },
    "PUT /scenarios/banks/enabled": {"enabled": [1]},
}
# What must be right for the other members to be checked.
NEEDED = {
    PAY: {"method": "telebirr"},
    TRANSITION: {"status": "failed"},
    ENDPOINT: {"url": "http://localhost/"},
}


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize(
    ("line", "member", "values"),
    [
        (line, member, values)
        for line, members in WRONG_VALUES.items()
        for member, values in members.items()
    ],
    ids=str,
)
async def test_a_wrong_value_is_refused_by_the_name_of_its_member(
    emulator: World, line: str, member: str, values: list[Any]
) -> None:
    method, path = line.split(" ")
    code = "invalid_clock" if line == "PUT /clock" else f"invalid_{member}"
    for value in values:
        response = await emulator.control(method, path, {**NEEDED.get(line, {}), member: value})
        assert refusal(response) == (400, code, member), value


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize(
    ("line", "body", "code", "param"),
    [
        ("POST /accounts", {"keys": {}}, "unknown_parameter", "keys"),
        ("DELETE /accounts/acct_other", {"all": True}, "unknown_parameter", "all"),
        ("PUT /clock", {"seconds": 0}, "unknown_parameter", "seconds"),
        ("POST /payments/pay_1/cancel", {"reason": "x"}, "unknown_parameter", "reason"),
        (PAY, {"phone": 1}, "invalid_phone", "phone"),
        ("POST /payments/pay_1/answer", {}, "missing_parameter", "answer"),
        (TRANSITION, {}, "missing_parameter", "status"),
        (ENDPOINT, {}, "missing_parameter", "url"),
        (ENDPOINT, {"url": "http://localhost/", "enabled": True}, "unknown_parameter", "enabled"),
        ("PUT /scenarios/banks/enabled", {}, "missing_parameter", "enabled"),
        ("PUT /checkout_url", {"url": None}, "missing_parameter", "url"),
        (ENDPOINT, {"events": []}, "invalid_events", "events"),
        (ENDPOINT, {"events": [], "url": 1}, "invalid_url", "url"),
    ],
)
async def test_the_first_mistake_of_a_body_is_reported(
    emulator: World, line: str, body: Any, code: str, param: str
) -> None:
    method, path = line.split(" ")
    assert refusal(await emulator.control(method, path, body)) == (400, code, param)


@pytest.mark.usefixtures("unchanged")
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
async def test_a_wrong_advance_is_an_invalid_clock(
    emulator: World, content: bytes, param: str
) -> None:
    assert refusal(await post(emulator, content)) == (400, "invalid_clock", param)


WAIT = "/payments/pay_1/wait"


@pytest.mark.parametrize(
    ("path", "query", "code", "param"),
    [
        (WAIT, "", "missing_parameter", "status"),
        (WAIT, "status=", "invalid_status", "status"),
        (WAIT, "status=paid", "invalid_status", "status"),
        *(
            (WAIT, f"status=failed&timeout={timeout}", "invalid_timeout", "timeout")
            for timeout in ("", "-1", "300.001", "3.1e2", "NaN", "%D9%A1", "9" * 5000)
        ),
        (WAIT, "status=failed&limit=1", "unknown_parameter", "limit"),
        *(
            ("/events", f"limit={limit}", "invalid_limit", "limit")
            for limit in ("0", "1001", "-1", "1.5", "", "ten", "%D9%A1", "0" * 5000 + "1")
        ),
        ("/deliveries", "limit=0", "invalid_limit", "limit"),
        ("/deliveries", "status=done", "invalid_status", "status"),
        ("/deliveries", "event=x", "invalid_event", "event"),
        ("/deliveries", "failing=1", "invalid_failing", "failing"),
        ("/deliveries", "before=dlv_nope", "invalid_before", "before"),
        ("/deliveries", "before=latest", "invalid_before", "before"),
        ("/events", "before=evt_nope", "invalid_before", "before"),
        ("/deliveries/wait", "", "missing_parameter", "event"),
        ("/deliveries/wait", "event=ping", "invalid_event", "event"),
        ("/deliveries/wait", "event=payment.failed&timeout=301", "invalid_timeout", "timeout"),
        ("/deliveries/wait", "event=payment.failed&limit=1", "unknown_parameter", "limit"),
        ("/payments", "state=failed", "unknown_parameter", "state"),
        ("/payments", "limit=1&limit=2", "duplicate_parameter", "limit"),
        ("/requests", "status=2", "invalid_status", "status"),
        ("/requests", "status=600", "invalid_status", "status"),
        ("/requests", "limit=1001", "invalid_limit", "limit"),
        ("/requests", "before=req_nope", "invalid_before", "before"),
        # The limit is checked before the cursor, and that before the filters.
        ("/requests", "status=2&before=req_nope&limit=0", "invalid_limit", "limit"),
        ("/requests", "status=2&before=req_nope", "invalid_status", "status"),
        ("/requests", "verb=GET", "unknown_parameter", "verb"),
        ("/requests", "path=a&path=b", "duplicate_parameter", "path"),
        ("/requests/count", "limit=1", "unknown_parameter", "limit"),
        ("/scenarios", "limit=1", "unknown_parameter", "limit"),
    ],
    ids=lambda value: value[:40],
)
async def test_a_wrong_query_is_refused(
    emulator: World, path: str, query: str, code: str, param: str
) -> None:
    assert refusal(await emulator.control("GET", f"{path}?{query}")) == (400, code, param)


async def test_a_client_that_disconnects_in_its_body_logs_no_failure(
    emulator: World, caplog: pytest.LogCaptureFixture
) -> None:
    headers = [(b"host", b"127.0.0.1:8080"), (b"content-type", JSON.encode())]
    request = RawRequest(
        method="POST", path=ADVANCE, headers=headers, chunks=(b'{"seconds": 6',), is_whole=False
    )
    assert (await send_raw(emulator, request)).status == 0
    assert not caplog.records
    assert (await emulator.advance(0))["now"] == "2026-01-01T00:00:00.000Z"
