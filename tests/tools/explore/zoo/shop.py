"""A small shop in Python. Without a bug it is correct; `bug("…")` marks each deviation.

Its settings are environment variables. `WAYS` names how it learns of a payment: any of `webhook`,
`return` and `job`, or `queue`, which handles webhooks after they are answered.
"""

import base64
import hashlib
import hmac
import json
import os
import queue
import threading
import time  # noqa: TID251 - a shop has its own time
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

PORT = int(os.environ["PORT"])
BASE = f"http://127.0.0.1:{PORT}"
API = urlsplit(os.environ["PAYMENTS_EMULATOR_URL"]).netloc
KEY = os.environ["PAYMENTS_EMULATOR_TEST_KEY"]
SECRET = base64.b64decode(os.environ["PAYMENTS_EMULATOR_WEBHOOK_SECRET"].removeprefix("whsec_"))
BUG = os.environ.get("BUG", "")
WAYS = os.environ.get("WAYS", "webhook return job").split()
ATTEMPTS = 3
STATUS_EVENTS = {"processing", "failed", "expired", "completed", "refunded"}
MAX_AGE_S = 300
RANKS = {"pending": 0, "processing": 0, "failed": 1, "expired": 1, "completed": 2, "refunded": 3}
NAMES = {"failed": "cancelled", "expired": "cancelled", "completed": "paid", "refunded": "refunded"}

Json = dict[str, Any]
orders: dict[str, Json] = {}
sessions: dict[str, str] = {}
cache: dict[str, str] = {}
lock = threading.RLock()
jobs: "queue.Queue[tuple[Json, Json]]" = queue.Queue()
local = threading.local()


def bug(name: str) -> bool:
    return name == BUG


def call(method: str, path: str, body: Json | None = None) -> tuple[int, Json, float]:
    """The status, the JSON and `Retry-After` of a response. Raises OSError, HTTPException."""
    if not hasattr(local, "connection"):
        local.connection = HTTPConnection(API, timeout=10)
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    try:
        local.connection.request(method, path, body and json.dumps(body), headers)
        response = local.connection.getresponse()
        return (
            response.status,
            json.loads(response.read()),
            float(response.getheader("Retry-After", 0)),
        )
    except (OSError, HTTPException, ValueError):
        local.connection.close()
        raise


def create(order: Json) -> Json:
    """Create the payment of an order; repeat the request with the same key where it fails."""
    url = f"{BASE}/return?order={order['id']}"
    body = {"amount": order["amount"], "currency": "ETB", "methods": ["telebirr"]}
    body |= {"success_url": url, "cancel_url": url, "metadata": {"order": order["id"]}}
    if not bug("new-payment-on-retry"):
        body["idempotency_key"] = order["id"]
    for _ in range(ATTEMPTS):
        try:
            status, payment, wait_s = call("POST", "/v1/payments", body)
        except (OSError, HTTPException, ValueError):
            status, wait_s = 500, 0
        if status == 201:
            return payment
        if status != 429 and status < 500:
            break
        time.sleep(wait_s or 0.1)
    raise RuntimeError("no payment")


def retrieve(payment: str) -> str:
    """The status of a payment."""
    if not bug("caches-status") or payment not in cache:
        cache[payment] = call("GET", f"/v1/payments/{payment}")[1]["status"]
    return cache[payment]


def apply(order: Json, status: str) -> None:
    """Apply a status; an older or equal one changes nothing, so any order and number is safe."""
    with lock:
        known = order["known"]
        if bug("last-event-wins"):
            order["status"] = NAMES.get(status, "pending")
        if bug("failed-is-final") and known in ("failed", "expired"):
            return
        if bug("needs-processing") and status == "completed" and known != "processing":
            return
        if RANKS[status] < RANKS[known] or status == known:
            return
        if bug("points-need-processing") and status == "completed" and known == "processing":
            order["points"] = 10
        order["known"] = status
        order["status"] = NAMES.get(status, order["status"])
        if status == "completed" and known != "refunded":
            order["shipments"] += 1


def apply_slowly(order: Json) -> None:
    """The bugs in which time passes between the check and the effect."""
    if order["status"] == "paid":
        return
    if bug("settles-at-once"):
        retrieve(order["payment"])
        order["shipments"] += 1
    else:  # repeats-slow-effect
        order["shipments"] += 1
        time.sleep(0.15)
    order["status"], order["known"] = "paid", "completed"


def start(body: Json) -> Json:
    order = {"id": f"o{len(orders) + 1}", "amount": body["amount"], "status": "pending"}
    order |= {"shipments": 0, "points": 0, "known": "pending", "payment": None, "paths": []}
    orders[order["id"]] = order
    order["payment"] = create(order)["id"]
    return order


def is_genuine(headers: Any, body: bytes) -> bool:
    stamp = headers.get("webhook-timestamp", "")
    if not stamp.isdigit() or abs(time.time() - int(stamp)) > MAX_AGE_S:
        return False
    signed = f"{headers.get('webhook-id')}.{stamp}.".encode() + body
    expected = "v1," + base64.b64encode(hmac.digest(SECRET, signed, hashlib.sha256)).decode()
    given = headers.get("webhook-signature", "").split()
    return any(hmac.compare_digest(expected, each) for each in given)


def webhook(headers: Any, body: bytes) -> int:
    if not is_genuine(headers, body):
        return 400
    event = json.loads(body)
    payment = event["data"]
    order = orders.get(payment["metadata"].get("order", ""))
    if event["mode"] != "test" or event["type"].removeprefix("payment.") not in STATUS_EVENTS:
        return 200
    if bug("newest-order") and payment["status"] == "completed":
        order = list(orders.values())[-1]
    elif order is None or order["payment"] not in (None, payment["id"]):
        return 200
    if "queue" in WAYS:
        jobs.put((order, event))
    elif "webhook" in WAYS:
        handle(order, event)
    return 200


def handle(order: Json, event: Json) -> None:
    payment = event["data"]
    status = payment["status"]
    if BUG in ("relies-on-return", "loses-session") and status == "completed":
        return None
    if bug("caches-status") and status == "completed":
        status = cache.get(payment["id"], status)
    if bug("refuses-after-expiry") and event["timestamp"] > payment["expires_at"]:
        status = "expired"
    if bug("ships-on-both-paths") and status == "completed":
        return deliver(order, "webhook")
    if BUG in ("settles-at-once", "repeats-slow-effect") and status == "completed":
        return apply_slowly(order)
    return apply(order, status)


def deliver(order: Json, path: str) -> None:
    """The bug of two paths that each remember only their own shipment."""
    with lock:
        if path not in order["paths"]:
            order["paths"].append(path)
            order["shipments"] += 1
            order["status"] = "paid"


def returned(order: Json) -> None:
    if "return" not in WAYS:
        return
    status = "completed" if bug("trusts-redirect") else retrieve(order["payment"])
    if bug("not-failed-is-paid") and status not in ("failed", "expired", "refunded"):
        status = "completed"
    if bug("ships-on-both-paths") and status == "completed":
        deliver(order, "return")
    else:
        apply(order, status)


def job(order: Json) -> None:
    status = retrieve(order["payment"])
    if bug("cancels-while-paying") and status in ("pending", "processing"):
        order["status"], order["known"] = "cancelled", "refunded"
    else:
        apply(order, status)


def work() -> None:
    while True:
        handle(*jobs.get())


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        name = url.path.rpartition("/")[2]
        if url.path == "/return":
            name = parse_qs(url.query)["order"][0]
            if bug("loses-session"):
                name = sessions.get(self.headers.get("cookie", ""), "")
            if name in orders:
                returned(orders[name])
            self.answer(200, {})
        elif name in orders:
            members = ("id", "status", "shipments", "points", "payment")
            self.answer(200, {member: orders[name][member] for member in members})
        else:
            self.answer(200 if url.path == "/health" else 404, {})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.path == "/orders":
            try:
                order = start(json.loads(body))
            except RuntimeError:
                return self.answer(502, {})
            sessions[f"session={order['id']}"] = order["id"]
            cookie = f"session={order['id']}; SameSite=Strict"
            return self.answer(201, {"id": order["id"], "payment_id": order["payment"]}, cookie)
        if self.path == "/webhooks":
            return self.answer(webhook(self.headers, body), {})
        job(orders[self.path.rpartition("/")[2]])
        return self.answer(200, {})

    def answer(self, status: int, body: Json, cookie: str = "") -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        if cookie:
            self.send_header("Set-Cookie", cookie)
        self.end_headers()
        self.wfile.write(content)
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        """Print nothing."""


class Server(ThreadingHTTPServer):
    request_queue_size = 64
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A client that leaves is no error."""


if __name__ == "__main__":
    threading.Thread(target=work, daemon=True).start()
    Server(("127.0.0.1", PORT), Handler).serve_forever()
