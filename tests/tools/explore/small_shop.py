"""A small shop on a thread of the test: correct, or with a race between its check and its act."""

import base64
import hashlib
import hmac
import http.client
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from emulator.clock import RealClock
from tests.cli.invocation import running
from tests.cli.processes import HANGS_AFTER_S, free_port
from tests.tools.explore.arrivals import Arrivals, ShopHandler, ShopServer

KEY = "test_small_shop"
SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8g"  # noqa: S105 - that of a test
CREATED = 201
MAX_AGE_S = 300


@dataclass(kw_only=True)
class SmallShop:
    """The shop and its orders.

    With `has_race`, two webhooks at once fulfil an order twice; with `repeats`, any two do.
    Webhooks have an effect after `lag_s`, or when orders were read `lag_reads` times, and for a
    copy twice as often, or when `/idle` is requested. With `ignores_refunds`, a refunded order
    stays paid. With `sends_mails`, an order lists the e-mails about its changes. It calls the
    service up to `calls` times, and `on_start` with the number of each order; its pages may have
    another host. Requests of the path `fails` are answered 500.
    """

    port: int
    api_port: int
    arrivals: Arrivals
    has_race: bool = False
    repeats: bool = False
    lag_s: float = 0
    lag_reads: int = 0
    ignores_refunds: bool = False
    sends_mails: bool = False
    calls: int = 5
    pages: str = ""
    fails: str = "-"
    on_start: Callable[[int], None] = lambda _: None
    orders: dict[str, dict[str, Any]] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    queue: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def flags(self) -> list[str]:
        """The options of `explore` with which the shop is configured."""
        ports = ["--port", str(self.api_port), "--checkout-port", "0"]
        return [*ports, "--test-key", KEY, "--webhook-secret", SECRET]

    def write(self, directory: Path, more: str = "") -> str:
        """Write the file of the integration; return its path."""
        file = directory / "shop.yaml"
        file.write_text(integration_text(self.url) + more, encoding="utf-8")
        return str(file)

    def start(self) -> dict[str, Any]:
        with self.lock:
            order = {"id": len(self.orders) + 1, "status": "new", "shipments": 0}
            self.orders[str(order["id"])] = order
        self.on_start(len(self.orders))
        body = {
            "amount": 15_000,
            "currency": "ETB",
            "methods": ["telebirr"],
            "success_url": f"{self.pages or self.url}/paid/{order['id']}",
            "cancel_url": f"{self.pages or self.url}/cancelled",
            "metadata": {"order": str(order["id"])},
            "idempotency_key": f"order-{order['id']}",
        }
        order["payment_id"] = self.call("POST", "/v1/payments", body)["id"]
        return order

    def webhook(self, event: dict[str, Any]) -> None:
        if self.has_race:
            is_new = event["id"] not in self.seen or self.repeats
            # A request that was sent at the same moment checks before this one acts.
            self.arrivals.wait()
            status = self.call("GET", f"/v1/payments/{event['data']['id']}")["status"]
        else:
            with self.lock:
                is_new = event["id"] not in self.seen or self.repeats
                self.seen.add(event["id"])
            status = event["data"]["status"]
        payment = event["data"]["id"]
        # The event of the creation may arrive before the response of the create call.
        order = next((o for o in self.orders.values() if o.get("payment_id") == payment), None)
        if order is not None and is_new and event["type"] == f"payment.{status}":
            self.apply(order, status)
        self.seen.add(event["id"])

    def receive(self, event: dict[str, Any]) -> None:
        if self.lag_reads:
            with self.lock:
                copies = sum(queued == event for _, queued in self.queue)
                self.queue.append((self.lag_reads * (copies + 1), event))
        elif self.lag_s:
            threading.Timer(self.lag_s, self.webhook, [event]).start()
        else:
            self.webhook(event)

    def read(self, number: str) -> dict[str, Any]:
        """An order, after the effects that were awaited for this time."""
        with self.lock:
            queued = [(reads - 1, event) for reads, event in self.queue]
            self.queue = [each for each in queued if each[0]]
        for reads, event in queued:
            if not reads:
                self.webhook(event)
        return self.orders.get(number, {})

    def finish(self) -> None:
        """Handle all that is queued."""
        for _, event in self.queue:
            self.webhook(event)
        self.queue = []

    def apply(self, order: dict[str, Any], status: str) -> None:
        before = order["status"]
        if status == "completed" and order["status"] != "refunded":
            order["status"] = "paid"
            order["shipments"] += 1
        elif status == "refunded" and not self.ignores_refunds:
            order["status"] = "refunded"
        elif status in ("failed", "expired") and order["status"] == "new":
            order["status"] = "cancelled"
        if self.sends_mails and order["status"] != before:
            order.setdefault("mails", []).append(status)

    def disturbance(self, path: str) -> int | None:
        """The status of an error for a path, if there is one."""
        return 500 if path.startswith(self.fails) else None

    def call(self, method: str, path: str, body: object = None) -> Any:
        """Call the service; repeat the call while it fails."""
        headers = {"authorization": f"Bearer {KEY}", "content-type": "application/json"}
        for _ in range(self.calls):
            connection = http.client.HTTPConnection(
                "127.0.0.1", self.api_port, timeout=HANGS_AFTER_S
            )
            try:
                connection.request(method, path, body and json.dumps(body), headers)
                response = connection.getresponse()
                content = response.read()
            except (OSError, http.client.HTTPException):
                continue
            finally:
                connection.close()
            if response.status < 400:
                return json.loads(content)
        raise AssertionError("the service does not answer")


def integration_text(url: str) -> str:
    return f"""version: 1
name: small-shop
start: {{request: POST {url}/orders, order: $.id, payment: $.payment_id}}
state:
  request: GET {url}/orders/{{order}}
  paid: {{path: $.status, in: [paid]}}
  fulfilled: {{path: $.shipments}}
  closed: {{path: $.status, in: [cancelled]}}
webhook: {url}/webhooks
return: success_url
"""


@contextmanager
def small_shop(*, has_race: bool = False, lag_s: float = 0) -> Iterator[SmallShop]:
    """A running shop, configured for an emulator on a free port."""

    class Handler(ShopHandler, BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            number = self.path.rpartition("/")[2]
            is_state = self.path.startswith("/orders/")
            found = shop.read(number) if is_state else shop.orders.get(number, {})
            self.answer(shop.disturbance(self.path) or (200 if found else 404), found)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            if status := shop.disturbance(self.path):
                self.answer(status, {})
            elif self.path == "/orders":
                self.answer(CREATED, shop.start())
            elif self.path in ("/idle", "/job"):
                shop.finish()
                self.answer(200, {})
            elif not is_genuine(self.headers, body):
                self.answer(400, {})
            else:
                event = json.loads(body)
                is_known = event["type"] != "payment.disputed" and event["mode"] == "test"
                orders = list(shop.orders.values())
                if is_known and any(o.get("payment_id") == event["data"]["id"] for o in orders):
                    shop.receive(event)
                self.answer(200, {})

        def answer(self, status: int, value: object) -> None:
            content = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = ShopServer(Handler)
    with running(server):
        shop = SmallShop(
            port=server.server_port,
            api_port=free_port(),
            arrivals=server.arrivals,
            has_race=has_race,
            lag_s=lag_s,
        )
        yield shop


def is_genuine(headers: Any, body: bytes) -> bool:
    """Whether a webhook is signed, and not older than five minutes."""
    timestamp = headers["webhook-timestamp"]
    signed = f"{headers['webhook-id']}.{timestamp}.".encode() + body
    key = base64.b64decode(SECRET.removeprefix("whsec_"))
    signature = base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
    age_s = RealClock().system_ms() / 1000 - int(timestamp)
    return f"v1,{signature}" in headers.get("webhook-signature", "").split() and age_s < MAX_AGE_S
