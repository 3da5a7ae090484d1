import json
import os
import sqlite3
import time
import urllib.request
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from standardwebhooks import Webhook, WebhookVerificationError

PAYMENTS = os.environ.get("PAYMENTS_URL", "http://127.0.0.1:8080") + "/v1/payments"
KEY = os.environ.get("PAYMENTS_KEY", "test_demo_key")
WEBHOOK = Webhook(os.environ["WEBHOOK_SECRET"])
TABLES = """
    CREATE TABLE IF NOT EXISTS orders (number INTEGER PRIMARY KEY, amount INTEGER, state INTEGER);
    CREATE TABLE IF NOT EXISTS shipments (order_number INTEGER);
    CREATE TABLE IF NOT EXISTS webhooks (id TEXT PRIMARY KEY);
"""
STATES = ["open", "closed", "paid", "refunded"]  # an order only moves forward in this list
STATE_AFTER = {"failed": 1, "expired": 1, "completed": 2, "refunded": 3}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        # The raw bytes: the signature covers these.
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/orders":
            return self.answer(201, start(json.loads(body)["amount"]))
        self.answer(status_after(self.headers, body))

    def do_GET(self):
        self.answer(200, shown(self.path.rpartition("/")[2]))

    def answer(self, status, value=None):
        self.send_response(status)
        self.end_headers()
        self.wfile.write(b"" if value is None else json.dumps(value).encode())


def start(amount):
    # First the order: a webhook may arrive before the response to create.
    with closing(sqlite3.connect("shop.db")) as db, db:
        order = db.execute("INSERT INTO orders VALUES (NULL, ?, 0)", [amount]).lastrowid
    urls = {name: f"https://shop.example/orders/{order}" for name in ("success_url", "cancel_url")}
    body = {"amount": amount, "currency": "ETB", "methods": ["telebirr"], **urls}
    body |= {"metadata": {"order": str(order)}, "idempotency_key": f"order-{order}"}
    return {"order": order, "checkout_url": create(body, tries=3)["checkout_url"]}


def create(body, tries):
    try:
        return call("", json.dumps(body).encode())
    except OSError as error:  # the same key: a lost response makes no second payment
        if tries == 1:
            raise
        time.sleep(float(getattr(error, "headers", {}).get("Retry-After", 0.2)))
        return create(body, tries - 1)


def call(path, body=None):
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    request = urllib.request.Request(PAYMENTS + path, body, headers)
    with urllib.request.urlopen(request, timeout=5) as response:
        return json.load(response)


def status_after(headers, body):
    try:
        event = WEBHOOK.verify(body, dict(headers))
    except (WebhookVerificationError, ValueError):
        return 400
    if not event["type"].startswith("payment."):
        return 204  # a ping
    try:
        payment = call(f"/{event['data']['id']}")
    except OSError:
        return 503  # the emulator retries
    note(headers["webhook-id"], payment)
    return 204


def note(webhook_id, payment):
    order, state = payment["metadata"].get("order"), STATE_AFTER.get(payment["status"], 0)
    with closing(sqlite3.connect("shop.db")) as db, db:  # one transaction
        if not db.execute("INSERT OR IGNORE INTO webhooks VALUES (?)", [webhook_id]).rowcount:
            return
        # Compares the payment with the order.
        change = "UPDATE orders SET state = ? WHERE number = ? AND amount = ? AND state < ?"
        if not db.execute(change, [state, order, payment["amount"], state]).rowcount:
            return
        if STATES[state] == "paid":
            db.execute("INSERT INTO shipments VALUES (?)", [order])  # a job sends the parcel
        print(f"order {order} is {STATES[state]}", flush=True)


def shown(order):
    with closing(sqlite3.connect("shop.db")) as db:
        [state] = db.execute("SELECT state FROM orders WHERE number = ?", [order]).fetchone()
        count = "SELECT count(*) FROM shipments WHERE order_number = ?"
        return {"state": STATES[state], "shipments": db.execute(count, [order]).fetchone()[0]}


with closing(sqlite3.connect("shop.db")) as db:
    db.executescript(TABLES)
ThreadingHTTPServer.request_queue_size = 64  # customers and webhooks that arrive at once
ThreadingHTTPServer(("127.0.0.1", 4000), Handler).serve_forever()
