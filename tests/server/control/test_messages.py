"""The messages of the control API state what was received and what is accepted."""

import json
from typing import Any

import pytest

from emulator.domain.webhooks import EVENT_TYPES_IN_ORDER
from tests.world import METHODS, World

STATUSES = "pending, processing, completed, failed, expired, refunded"


SECONDS = (
    '"seconds" must be a number of seconds from 0 to 253055232000, with at most three decimals'
)
# By call, with its body.
MESSAGES = {
    'POST /accounts {"name": 1}': '"name" must be a string (got 1).',
    **{
        f'POST /accounts {{"name": "{"x" * length}"}}': (
            f'"name" must have at most 100 characters (got {length}).'
        )
        for length in (101, 201)
    },
    'POST /accounts {"name": "a\\nb"}': (
        '"name" must be 1 to 100 characters without control characters (got "a\\nb").'
    ),
    'POST /accounts {"seed": "1"}': '"seed" must be a signed integer of 64 bits (got "1").',
    'POST /reset {"all": "yes"}': '"all" must be true or false (got "yes").',
    'POST /clock/advance {"seconds": "1"}': f'{SECONDS} (got "1").',
    'POST /clock/advance {"seconds": 0.0005}': (f"{SECONDS} (got 0.0005)."),
    'POST /clock/advance {"seconds": 1, "to": "next"}': (
        "The body must have exactly one of: seconds, until, to (got seconds, to)."
    ),
    'POST /clock/advance {"to": "last"}': '"to" must be "next" (got "last").',
    "GET /events?limit=0": '"limit" must be a whole number from 1 to 1000 (got "0").',
    "GET /clock?mode=x": '"mode" must be one of: test, live (got "x").',
    "GET /requests?before=req_x": (
        '"before" must be the id of a request that the journal still has (got "req_x").'
    ),
    'POST /webhook_endpoints {"url": "ftp://live_0123456789abcdef@h/"}': (
        '"url" must be an absolute http or https URL (got "ftp://live_01…@h/").'
    ),
    'POST /webhook_endpoints {"url": "http://localhost/", "events": ["paid"]}': (
        f'Each entry of "events" must be one of: {", ".join(EVENT_TYPES_IN_ORDER)} (got "paid").'
    ),
    'POST PAYMENT/transition {"status": "paid"}': (
        f'"status" must be one of: {STATUSES} (got "paid").'
    ),
    'POST PAYMENT/pay {"method": "cash"}': (
        f'"method" must be one that the payment offers: {", ".join(METHODS)} (got "cash").'
    ),
    'POST PAYMENT/pay {"method": "telebirr", "phone": "12\\u001b"}': (
        '"phone" must be an Ethiopian mobile number, such as 0900000001 (got "12\\u001b").'
    ),
    "GET PAYMENT/wait?status=failed&timeout=301": (
        '"timeout" must be a number of seconds from 0 to 300 (got "301").'
    ),
}


@pytest.mark.parametrize(("line", "expected"), MESSAGES.items())
async def test_a_message_says_what_was_received_and_what_is_accepted(
    emulator: World, line: str, expected: str
) -> None:
    payment = await emulator.create()
    method, path, *body = line.split(" ", 2)
    path = path.replace("PAYMENT", f"/payments/{payment['id']}")
    response = await emulator.control(method, path, json.loads(body[0]) if body else None)
    assert response.status_code == 400
    assert response.json()["error"]["message"] == expected


@pytest.mark.parametrize(
    ("line", "body"),
    [
        ("POST /webhook_endpoints", {"url": "http://localhost/", "secret": "whsec_c2hvcnQ="}),
        ("POST /accounts", {"test_key": "test_0123456789 abcdef"}),
    ],
)
async def test_a_message_does_not_repeat_a_secret(emulator: World, line: str, body: Any) -> None:
    method, path = line.split(" ")
    response = await emulator.control(method, path, body)
    assert response.status_code == 400
    assert "c2hv" not in response.text
    assert "0123456789" not in response.text
