"""Requests of a merchant's code to `/v1`."""

from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

from etb_payments_emulator_pytest import PaymentsAccount

from tests.cli.processes import HANGS_AFTER_S, Answer, ask
from tests.world import order


def request(account: PaymentsAccount, method: str, path: str, body: Any = None) -> Answer:
    """One request with the account's test key."""
    netloc = urlsplit(account.base_url).netloc
    connection = HTTPConnection(netloc, timeout=HANGS_AFTER_S)
    try:
        return ask(connection, method, path, body, account.test_key)
    finally:
        connection.close()


def create(account: PaymentsAccount, **changes: Any) -> str:
    """The id of a new payment."""
    answer = request(account, "POST", "/v1/payments", order(**changes))
    assert answer.status == 201, answer.body
    return str(answer.json["id"])


def retrieve(account: PaymentsAccount, payment_id: str) -> dict[str, Any]:
    answer = request(account, "GET", f"/v1/payments/{payment_id}")
    assert answer.status == 200, answer.body
    return dict(answer.json)
