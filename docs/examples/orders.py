import hmac
import json
import os
from base64 import b64decode, b64encode

from client import call

ORDERS = {}


def order(number, amount):
    body = {
        "amount": amount,
        "currency": "ETB",
        "methods": ["telebirr"],
        "success_url": "http://localhost:4000/thanks",
        "cancel_url": "http://localhost:4000/cart",
        "metadata": {"order": number},
        "idempotency_key": f"order-{number}",
    }
    ORDERS[number] = "open"
    return call("/v1/payments", body)


def receive(headers, body):
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    secret = b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))
    expected = "v1," + b64encode(hmac.digest(secret, signed, "sha256")).decode()
    event = json.loads(body)
    if not hmac.compare_digest(expected, headers["webhook-signature"]):
        return 400
    if event["type"] == "payment.completed":
        payment = call(f"/v1/payments/{event['data']['id']}")
        number = payment["metadata"].get("order")
        if payment["status"] == "completed" and number in ORDERS:
            ORDERS[number] = "paid"
    return 204
