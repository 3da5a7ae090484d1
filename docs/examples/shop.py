import hmac
import json
import os
import threading
import time
import urllib.error
import urllib.request
from base64 import b64decode, b64encode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from settle import settle

SHOP = "http://127.0.0.1:4000"
PAYMENTS = os.environ["PAYMENTS_EMULATOR_URL"] + "/v1/payments"
KEY = os.environ["PAYMENTS_EMULATOR_TEST_KEY"]
SECRET = b64decode(os.environ["PAYMENTS_EMULATOR_WEBHOOK_SECRET"].removeprefix("whsec_"))
ORDERS = {}
LOCK = threading.Lock()


def call(url, body=None):
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, headers)) as response:
        return json.load(response)


def start(item):
    with LOCK:
        number = str(len(ORDERS) + 1)
        order = ORDERS[number] = {"number": number, "status": "open", "shipments": 0}
    urls = {"success_url": f"{SHOP}/orders/{number}", "cancel_url": f"{SHOP}/cart"}
    body = {"amount": 15000, "currency": "ETB", "methods": ["telebirr"], **urls}
    order["payment"] = call(PAYMENTS, {**body, "idempotency_key": number})["id"]
    return order


def is_genuine(headers, body):
    stamp = headers["webhook-timestamp"]
    signed = f"{headers['webhook-id']}.{stamp}.".encode() + body
    expected = "v1," + b64encode(hmac.digest(SECRET, signed, "sha256")).decode()
    # While the secret is replaced, the header has two signatures.
    given = headers.get("webhook-signature", "").split()
    is_signed = any(hmac.compare_digest(expected, each) for each in given)
    return is_signed and abs(time.time() - int(stamp)) < 300


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        order = ORDERS.get(self.path.rpartition("/")[2])
        self.answer(404 if order is None else 200, order)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/orders":
            try:
                return self.answer(201, start(json.loads(body)["item"]))
            except OSError:
                return self.answer(502, "the payments service does not answer")
        if not is_genuine(self.headers, body):
            return self.answer(400, "not genuine")
        payment = json.loads(body)["data"]["id"]
        for order in [order for order in ORDERS.values() if order.get("payment") == payment]:
            settle(order, call(f"{PAYMENTS}/{payment}")["status"])
        self.answer(200, "thank you")

    def answer(self, status, value):
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(value).encode())


ThreadingHTTPServer.request_queue_size = 64  # customers and webhooks that arrive at once
ThreadingHTTPServer(("127.0.0.1", 4000), Handler).serve_forever()
