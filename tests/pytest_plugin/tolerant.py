"""A correct, tolerant client of the contract, and a whole history of its payments."""

import json
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from emulator.clock import RealClock
from emulator.domain.variant_effects import UNKNOWN_CODE
from emulator.pytest_plugin.account import PaymentsAccount
from tests.world import order

Json = dict[str, Any]
CODES = {401: "invalid_api_key", 404: "payment_not_found", 409: "idempotency_key_reused"}


class Answer(NamedTuple):
    status: int
    body: bytes
    retry_after: str | None

    @property
    def json(self) -> Json:
        return dict(json.loads(self.body))

    @property
    def wait_s(self) -> float:
        """The time to wait before a repetition, in seconds or until a date."""
        text = str(self.retry_after)
        if text.isdigit():
            return float(text)
        return parsedate_to_datetime(text).timestamp() - RealClock().system_ms() / 1_000


class Client:
    """A shop: its requests, its handler of webhooks, and the states of its payments."""

    def __init__(self, account: PaymentsAccount) -> None:
        self._account = account
        self.states: dict[str, str] = {}
        self._seen: set[str] = set()

    def send(self, path: str, body: Json | None = None, key: str = "") -> Answer:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {key or self._account.test_key}"}
        headers["Content-Type"] = "application/json"
        request = Request(f"{self._account.base_url}/v1/payments{path}", data, headers)  # noqa: S310
        try:
            with urlopen(request) as response:  # noqa: S310 - a local address
                return Answer(response.status, response.read(), None)
        except HTTPError as error:
            return Answer(error.code, error.read(), error.headers["Retry-After"])

    def create(self, number: int) -> Answer:
        metadata = {"order": str(number), "created_at": "2026-01-01T00:00:00.000Z"}
        keys = {"idempotency_key": f"order-{number}", "metadata": metadata}
        answer = self.send("", order(**keys, amount=100 * number))
        if 200 <= answer.status < 300:
            assert answer.json["metadata"] == metadata
            self.states.setdefault(answer.json["id"], answer.json["status"])
        return answer

    def listed(self) -> list[Json]:
        """All payments, page by page."""
        page = self.send("?limit=2").json
        payments = list(page["data"])
        while page["has_more"]:
            page = self.send(f"?limit=2&after={page['next_cursor']}").json
            payments += page["data"]
        assert page.get("next_cursor") is None
        return payments

    def receive(self, event: Json) -> None:
        """Handle an event once; ignore other types, and payments of others."""
        payment_id = event.get("data", {}).get("id")
        if event["id"] in self._seen or payment_id not in self.states:
            return
        self._seen.add(event["id"])
        if event["type"] in {"payment.completed", "payment.failed"}:
            self.states[payment_id] = self.send(f"/{payment_id}").json["status"]


def refusal(answer: Answer) -> tuple[int, str, str | None]:
    error = answer.json["error"]
    assert isinstance(error["message"], str)
    # A client decides by the status where it does not know the code.
    code = CODES[answer.status] if error["code"] == UNKNOWN_CODE else error["code"]
    return answer.status, code, error.get("param")


def play(account: PaymentsAccount) -> None:
    """The whole history. Raises an exception where the client fails."""
    client = Client(account)
    first = client.create(1)
    payment = first.json
    assert (first.status, payment["status"], payment.get("method")) == (201, "pending", None)
    lifetime = datetime.fromisoformat(payment["expires_at"]) - datetime.fromisoformat(
        payment["created_at"]
    )
    assert lifetime == timedelta(minutes=30)
    assert {client.create(1).body for _ in range(3)} == {first.body}
    assert refusal(client.send("", order(amount=1))) == (400, "invalid_amount", "amount")
    conflict = order(amount=999, idempotency_key="order-1")
    assert refusal(client.send("", conflict))[:2] == (409, "idempotency_key_reused")
    assert refusal(client.send("/pay_unknown"))[:2] == (404, "payment_not_found")
    assert refusal(client.send("", key="test_unknown_key"))[:2] == (401, "invalid_api_key")
    for number in range(2, 6):
        client.create(number)
    listed = [each["id"] for each in client.listed()]
    assert len(listed) == len({*listed})
    assert {*client.states} <= {*listed}
    for status in (429, 409):
        then = {"status": status, "retry_after": 2}
        account.control("POST", "/faults", {"when": {}, "then": then, "times": 1})
        refused = client.send(f"/{payment['id']}")
        assert refused.status == status
        assert -60 < refused.wait_s <= 4
    retrieved = client.send(f"/{payment['id']}").json
    assert (retrieved["id"], retrieved["amount"]) == (payment["id"], 100)
    mine = list(client.states)
    account.pay(mine[0], phone="0900000001")
    account.pay(mine[1], phone="0900000002")
    for webhook in account.webhooks:
        assert webhook.is_verified
        client.receive(json.loads(webhook.body))
    assert list(client.states.values()) == ["completed", "failed", *["pending"] * 3]
