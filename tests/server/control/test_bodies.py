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


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize(
    ("line", "body", "code", "param"),
    [
        ("POST /payments/pay_1/answer", {}, "missing_parameter", "answer"),
        ("POST /payments/pay_1/transition", {}, "missing_parameter", "status"),
        ("PUT /scenarios/banks/enabled", {}, "missing_parameter", "enabled"),
        ("POST /webhook_endpoints", {"events": [], "url": 1}, "invalid_url", "url"),
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
        (b'{"webhooks": "background"}', "seconds"),
        (b'{"seconds": 0, "until": "2026-01-02T00:00:00Z"}', "until"),
        (b'{"until": "2026-01-02T00:00:00Z", "to": "next"}', "to"),
        (b'{"seconds": true}', "seconds"),
        (b'{"seconds": [1]}', "seconds"),
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
        (b'{"until": "2025-12-31T23:59:59.999Z"}', "until"),
        (b'{"until": "9999-01-01T00:00:00Z"}', "until"),
        (b'{"until": "1969-12-31T23:59:59Z"}', "until"),
        (b'{"until": "2026-02-30T00:00:00Z"}', "until"),
        (b'{"until": "0001-01-01T00:00:00+23:59"}', "until"),
        (b'{"until": "\\u0000"}', "until"),
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
        (WAIT, f"status=failed&timeout={'9' * 5000}", "invalid_timeout", "timeout"),
        (WAIT, "status=failed&limit=1", "unknown_parameter", "limit"),
        ("/events", f"limit={'0' * 5000}1", "invalid_limit", "limit"),
        ("/deliveries", "before=dlv_nope", "invalid_before", "before"),
        ("/deliveries", "before=latest", "invalid_before", "before"),
        ("/events", "before=evt_nope", "invalid_before", "before"),
        ("/deliveries/wait", "", "missing_parameter", "event"),
        ("/deliveries/wait", "event=payment.failed&limit=1", "unknown_parameter", "limit"),
        ("/payments", "state=failed", "unknown_parameter", "state"),
        ("/payments", "limit=1&limit=2", "duplicate_parameter", "limit"),
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
