"""Error messages: what was received, what is accepted, what to do (clause 7.3)."""

import gzip
from typing import Any

import pytest

from emulator.domain.payment_methods import DEFAULT_METHODS
from tests.server.api.calls import JSON, PAYMENTS, get, order_with, post
from tests.world import World, headers, order, world

METHODS = ", ".join(DEFAULT_METHODS)
STATUSES = "pending, processing, completed, failed, expired, refunded"
JSON_TYPE = {"Content-Type": JSON}
CANCELLED = (
    "A cancelled checkout stays pending, and a cancel on the phone is failed with the reason"
    " user_cancelled."
)
AMOUNT = '"amount" must be an integer number of ETB cents from 100 to 9007199254740991'
TIMESTAMP = (
    "an ISO 8601 timestamp with a date, a time and an offset, such as 2026-01-01T00:00:00Z or"
    " 2026-01-01T03:00:00+03:00"
)
URL = "an absolute https URL with a host, such as https://shop.example/ok"


async def message(emulator: World, body: Any) -> str:
    response = await post(emulator, body)
    assert response.status_code == 400
    return str(response.json()["error"]["message"])


@pytest.mark.parametrize(
    ("token", "shown", "advice"),
    [
        ("150.00", "150.00", "150 birr is 15000."),
        ("150.50", "150.50", "150.50 birr is 15050."),
        ("100.0", "100.0", "100 birr is 10000."),
        ('"150.00"', '"150.00"', "150 birr is 15000."),
        ('"15000"', '"15000"', "Send 15000 without quotation marks for 150 birr."),
        ('"15050"', '"15050"', "Send 15050 without quotation marks for 150.50 birr."),
        ('"50"', '"50"', "50 birr is 5000."),
        ("50", "50", "50 birr is 5000."),
        *(
            (token, token, "1 birr is 100.")
            for token in (
                *("0.5", "0", "1e3", "150.005", "-100", "true", '"1,500.00 ETB"', "[100]"),
                "9007199254740992",
            )
        ),
        ("9" * 5000, "9" * 63 + "…", "1 birr is 100."),
    ],
    ids=lambda text: text[:20],
)
async def test_an_amount(emulator: World, token: str, shown: str, advice: str) -> None:
    text = await message(emulator, order_with("amount", token))
    assert text == f"{AMOUNT} (got {shown}). {advice}"


NOT_AN_OBJECT = "The request body must be a JSON object"
EMPTY = "The request body is empty; send a JSON object."
HALF = (
    "A string in the request body has half of a surrogate pair ({}); send both halves,"
    " or the character in UTF-8."
)


@pytest.mark.clause("1.1", "7.3")
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"[1, 2.50]", f"{NOT_AN_OBJECT} (got [1, 2.50])."),
        (b"null", f"{NOT_AN_OBJECT} (got null)."),
        (b'"x"', f'{NOT_AN_OBJECT} (got "x").'),
        (b"", EMPTY),
        (b" \r\n\t", EMPTY),
        (
            b"\xef\xbb\xbf{}",
            "The request body begins with a byte order mark; send UTF-8 without it.",
        ),
        (order_with("metadata", r'"\ud800"'), HALF.format(r"\ud800")),
        (order_with("metadata", r'"\uDC00\uD800"'), HALF.format(r"\udc00")),
        (order_with("metadata", r'"\ud83d\u0041"'), HALF.format(r"\ud83d")),
        (order_with("metadata", r'["a", {"\udfff": 1}]'), HALF.format(r"\udfff")),
        (order_with("metadata", r'1.5, "y": "\ud800"'), HALF.format(r"\ud800")),
    ],
)
async def test_a_body(emulator: World, body: bytes, expected: str) -> None:
    assert await message(emulator, body) == expected


async def test_a_status_of_the_control_api_that_no_cancelled_checkout_has(
    emulator: World,
) -> None:
    payment = await emulator.create()
    path = f"/payments/{payment['id']}"
    for response in (
        await emulator.control("POST", f"{path}/transition", {"status": "canceled"}),
        await emulator.control("GET", f"{path}/wait?status=cancelled&timeout=0"),
        await emulator.control("GET", "/payments?status=cancelled"),
    ):
        assert response.status_code == 400
        assert response.json()["error"]["message"].endswith(f"). {CANCELLED}")


@pytest.mark.parametrize("encoding", ["gzip", "br", "deflate"])
async def test_a_compressed_body(emulator: World, encoding: str) -> None:
    more = {"Content-Encoding": encoding}
    expected = (
        f'The request body is not JSON, because its Content-Encoding is "{encoding}".'
        " Send it without compression."
    )
    for path in (PAYMENTS, "/_emulator/accounts"):
        response = await emulator.api.post(
            path, content=gzip.compress(b"{}"), headers={**headers(), **JSON_TYPE, **more}
        )
        error = response.json()["error"]
        assert (response.status_code, error["code"]) == (400, "invalid_json")
        assert error["message"] == expected
    # Only the header is wrong.
    assert (await post(emulator, order(), **more)).status_code == 201
    response = await post(emulator, b"{", **{"Content-Encoding": "identity"})
    assert "Content-Encoding" not in response.text


ADVICE = "Send 'Authorization: Bearer <key>'."


@pytest.mark.parametrize(
    ("authorization", "expected"),
    [
        ([], "No API key was given. Send it in the header 'Authorization: Bearer <key>'."),
        ([""], f"The header 'Authorization' is empty. {ADVICE}"),
        (["Bearer "], f"The header 'Authorization' has no key after 'Bearer'. {ADVICE}"),
        (
            ["Basic dGVzdF9kZW1vX2tleTo="],
            "The header 'Authorization' has the scheme \"Basic\", and the scheme must be Bearer."
            f" {ADVICE}",
        ),
        (
            ["test_demo_key"],
            "The header 'Authorization' has the scheme \"test_de…key\", and the scheme must be"
            f" Bearer. {ADVICE}",
        ),
        *(
            (
                two,
                "The header 'Authorization' was received 2 times; the API key is ambiguous."
                " Send it once.",
            )
            for two in (["Bearer test_demo_key"] * 2, ["Basic dDo=", "Bearer test_demo_key"])
        ),
    ],
)
@pytest.mark.parametrize("path", [PAYMENTS, "/_emulator/clock"])
async def test_a_header_without_one_key(
    emulator: World, authorization: list[str], expected: str, path: str
) -> None:
    response = await emulator.api.get(
        path, headers=[("Authorization", value) for value in authorization]
    )
    if path != PAYMENTS and not authorization:
        assert response.status_code == 200
        return
    assert response.status_code == 401
    assert response.json()["error"]["message"] == expected


@pytest.mark.clause("7.3")
@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ({"currency": "USD"}, '"currency" must be "ETB" (got "USD").'),
        ({"methods": []}, f'"methods" must be an array of one or more of: {METHODS} (got []).'),
        (
            {"methods": ["telebirr", "paypal"]},
            f'Each entry of "methods" must be one of: {METHODS} (got "paypal").',
        ),
        (
            {"expires_in": "30m"},
            '"expires_in" must be an integer number of seconds from 1 to 315360000 (got "30m").'
            " Leave it out for 1800.",
        ),
        ({"success_url": 1}, f'"success_url" must be {URL} (got 1).'),
        ({"success_url": "shop"}, f'"success_url" must be {URL} (got "shop").'),
        (
            {"cancel_url": "https://a/ b\n"},
            f'"cancel_url" must be {URL}, without white space and control characters'
            ' (got "https://a/ b\\n"). Percent-encode them, such as %20 for a blank.',
        ),
        (
            {"cancel_url": "http://localhost/"},
            '"cancel_url" must be an https URL (got "http://localhost/"). To use http:// on local'
            " names, start the emulator with --allow-http-localhost.",
        ),
        (
            {"metadata": {"order": 1042}},
            'Each value of "metadata" must be a string (got 1042 for the key "order").',
        ),
        (
            {"metadata": {"live_0123456789abcdef": None}},
            'Each value of "metadata" must be a string (got null for the key "live_01…def").',
        ),
        (
            {"metadata": []},
            '"metadata" must be an object of at most 20 pairs with string values (got []).'
            " PHP writes an empty array as []: send new stdClass(), or leave it out.",
        ),
        (
            {"metadata": ["order"]},
            '"metadata" must be an object of at most 20 pairs with string values (got ["order"]).',
        ),
        (
            {"metadata": {str(number): "" for number in range(21)}},
            '"metadata" must have at most 20 pairs (got 21).',
        ),
        ({"idempotency_key": ""}, '"idempotency_key" must be a string that is not empty (got "").'),
    ],
    ids=ascii,
)
async def test_a_parameter_of_a_create_call(
    emulator: World, wrong: dict[str, Any], expected: str
) -> None:
    assert await message(emulator, order(**wrong)) == expected


@pytest.mark.clause("7.3")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("limit=101", '"limit" must be a whole number from 1 to 100 in plain digits (got "101").'),
        ("status=paid", f'"status" must be one of: {STATUSES} (got "paid").'),
        ("status=cancelled", f'"status" must be one of: {STATUSES} (got "cancelled"). {CANCELLED}'),
        ("method=%1b", f'"method" must be one of: {METHODS} (got "\\u001b").'),
        ("created_gte=yesterday", f'"created_gte" must be {TIMESTAMP} (got "yesterday").'),
        ("created_lte=" + "9" * 100, f'"created_lte" must be {TIMESTAMP} (got "{"9" * 62}…).'),
    ],
)
async def test_a_parameter_of_a_list_call(emulator: World, query: str, expected: str) -> None:
    assert (await get(emulator, f"{PAYMENTS}?{query}")).json()["error"]["message"] == expected


@pytest.mark.parametrize(
    ("wrong", "part"),
    [
        ({"methods": ["mpesa", "mpesa"]}, '(got ["mpesa", "mpesa"])'),
        ({"metadata": {"k" * 41: "v"}}, f'(got 41 and 1 for the key "{"k" * 41}")'),
        ({"success_url": "https://u@shop.example/"}, '(got "https://u@shop.example/")'),
        ({"expires_in": 30}, "(got 30)"),
        ({"idempotency_key": "k" * 256}, "(got 256)"),
    ],
    ids=ascii,
)
async def test_a_message_of_strict_mode(wrong: dict[str, Any], part: str) -> None:
    async with world(strict=True) as emulator:
        assert part in await message(emulator, order(**wrong))


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        ("text/plain", 'The Content-Type must be application/json (got "text/plain").'),
        ("", 'The Content-Type must be application/json (got "").'),
        ("application/json; charset=latin-1", 'The charset must be UTF-8 (got "latin-1").'),
    ],
)
async def test_a_media_type(emulator: World, content_type: str, expected: str) -> None:
    response = await post(emulator, order(), **{"Content-Type": content_type})
    assert response.json()["error"]["message"] == expected


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b'{"amount": 15000,', "expecting property name enclosed in double quotes (byte 17)."),
        (b"{'amount': 15000}", "expecting property name enclosed in double quotes (byte 1)."),
        ('{"ብር": x}'.encode(), "expecting value (byte 11)."),
        (b'{"amount": NaN}', "NaN is not a JSON number."),
    ],
)
async def test_a_body_that_is_not_json(emulator: World, body: bytes, reason: str) -> None:
    assert await message(emulator, body) == f"The request body is not JSON: {reason}"


@pytest.mark.parametrize("body", [rb'{"a": "\ud800",}', rb'{"a": "\u12"}', b'{"a": "\\u0041'])
async def test_a_body_with_another_mistake_has_no_half_of_a_pair(
    emulator: World, body: bytes
) -> None:
    assert (await message(emulator, body)).startswith("The request body is not JSON: ")
