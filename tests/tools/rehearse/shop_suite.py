"""A small shop with its tests, as a program; the arguments are flaws of the shop, then tests.

It uses the standard library alone, so that it starts quickly.
"""

import hmac
import json
import os
import sys
import threading
import unittest
import urllib.error
import urllib.request
from base64 import b64decode, b64encode
from http.client import RemoteDisconnected
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import sleep  # noqa: TID251 - a real wait
from typing import Any

URL, KEY, SECRET = (
    os.environ[f"PAYMENTS_EMULATOR_{name}"] for name in ("URL", "TEST_KEY", "WEBHOOK_SECRET")
)
FLAWS = {"no-retry", "accepts-forged", "knows-members"}
MAX_TRIES = 3
PAID, DECLINED = "0900000001", "0900000002"


def request(method: str, path: str, body: object = None) -> Any:
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    sent = urllib.request.Request(f"{URL}{path}", data, headers, method=method)  # noqa: S310
    with urllib.request.urlopen(sent) as response:  # noqa: S310 - a local address
        return json.load(response)


class Shop:
    """The state of each order is `open` until the webhook of its payment."""

    def __init__(self, flaws: set[str]) -> None:
        self.flaws = flaws
        self.states: dict[str, str] = {}

    def order(self, number: str) -> str:
        """Return the id of the payment."""
        urls = {"success_url": "http://localhost/paid", "cancel_url": "http://localhost/cart"}
        body = {"amount": 15_000, "currency": "ETB", "methods": ["telebirr"], **urls}
        for remaining in reversed(range(1 if "no-retry" in self.flaws else MAX_TRIES)):
            try:
                payment = request("POST", "/v1/payments", {**body, "idempotency_key": number})
            except (urllib.error.HTTPError, RemoteDisconnected) as error:
                if not remaining:
                    raise
                headers = getattr(error, "headers", {})
                sleep(float(headers.get("Retry-After") or 0))
            else:
                assert len(payment) == 13 or "knows-members" not in self.flaws
                self.states[payment["id"]] = "open"
                return str(payment["id"])
        raise AssertionError

    def receive(self, headers: Any, body: bytes) -> int:
        """Return the status of the response to a webhook."""
        if not self.is_genuine(headers, body) and "accepts-forged" not in self.flaws:
            return 400
        event = json.loads(body)
        if event["type"] in ("payment.completed", "payment.failed"):
            payment_id = event["data"]["id"]
            try:
                self.states[payment_id] = request("GET", f"/v1/payments/{payment_id}")["status"]
            except OSError:
                return 503
        return 204

    def is_genuine(self, headers: Any, body: bytes) -> bool:
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
        secret = b64decode(SECRET.removeprefix("whsec_"))
        expected = "v1," + b64encode(hmac.digest(secret, signed, "sha256")).decode()
        return hmac.compare_digest(expected, headers["webhook-signature"])


SHOP = Shop(FLAWS & {*sys.argv[1:]})


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(SHOP.receive(self.headers, body))
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


class ShopTest(unittest.TestCase):
    def setUp(self) -> None:
        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        hook = {"url": f"http://127.0.0.1:{server.server_port}/", "secret": SECRET}
        request("POST", "/_emulator/webhook_endpoints", hook)

    def pay(self, phone: str) -> str:
        """Order, pay, and wait for the webhooks; return the id of the payment."""
        payment_id = SHOP.order(f"order-{self.id()}")
        request("POST", f"/_emulator/payments/{payment_id}/pay", {"phone": phone})
        request("POST", "/_emulator/clock/advance", {"seconds": 0})
        return payment_id

    def test_happy_path(self) -> None:
        payment_id = self.pay(PAID)
        assert request("GET", f"/v1/payments/{payment_id}")["status"] == "completed"

    def test_order_is_paid(self) -> None:
        assert SHOP.states[self.pay(PAID)] == "completed"

    def test_declined_order_is_closed(self) -> None:
        assert SHOP.states[self.pay(DECLINED)] == "failed"


if __name__ == "__main__":
    tests = [f"ShopTest.{name}" for name in sys.argv[1:] if name not in FLAWS]
    unittest.main(argv=[sys.argv[0], *tests])
