"""A shop with prices, e-mails, wallets and stock, in which an order may have several payments.

Without a bug it is correct; `bug("…")` marks each deviation. Its settings are those of `shop.py`.
"""

import json
import time  # noqa: TID251 - a shop has its own time
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs, urlsplit

from tests.tools.explore.zoo import shop
from tests.tools.explore.zoo.shop import BASE, Json, bug, call, lock, retrieve

PRICE, EXTRA, STOCK = 15_000, 5_000, 100_000
RANKS = {"pending": 0, "processing": 1, "failed": 2, "expired": 2, "completed": 3, "refunded": 4}
OPEN = ("pending", "processing")
ATTEMPTS, ORDERS_A_RUN = 3, 10
NEW = {"status": "pending", "shipments": 0, "mails": [], "log": [], "checks": 0, "points": 0}
# The parameters with which a job lists payments.
LISTS = {"reads-first-page": f"limit={ORDERS_A_RUN}", "reads-newer": "limit=100&created_gte={}"}
orders: dict[str, Json] = {}
wallets: dict[str, int] = {}
sold: list[str] = []
last = ["2020-01-01T00:00:00Z"]


class Refused(Exception):
    """The shop answers with a status."""


def create(order: Json) -> Json:
    """Create another payment of an order; repeat the request with the same key if it fails."""
    name = f"{order['id']}-{len(order['payments']) + 1}"
    url, metadata = f"{BASE}/return?order={order['id']}", {"order": order["id"]}
    if bug("shares-key"):
        name = f"{order['customer']}-{len(order['payments']) + 1}"
        url, metadata = f"{BASE}/return", {"customer": order["customer"]}
    price = order["price"] - (EXTRA if bug("forgets-delivery") else 0)
    body = {"amount": price, "currency": "ETB", "methods": ["telebirr"], "success_url": url}
    body |= {"cancel_url": f"{BASE}/cancel", "metadata": metadata, "idempotency_key": name}
    for _ in range(ATTEMPTS):
        try:
            status, payment, wait_s = call("POST", "/v1/payments", body)
        except (OSError, HTTPException, ValueError):
            status, wait_s = 500, 0
        if status == 201 or (status == 200 and bug("shares-key")):
            if bug("newest-payment"):
                shop.server.arrivals.wait()
                payment = call("GET", "/v1/payments?limit=1")[1]["data"][0]
            order["payments"][payment["id"]] = "pending"
            order["paid_with"] = {**order.get("paid_with", {}), payment["id"]: payment["amount"]}
            return payment
        if status != 429 and status < 500:
            break
        time.sleep(wait_s or 0.1)
    raise Refused(502)


def current(order: Json) -> str:
    return list(order["payments"])[-1]


def start(body: Json, customer: str) -> Json:
    with lock:
        number = len(orders) + 1
        order = {**NEW, "id": f"m{number}", "customer": customer or f"c{number}", "payments": {}}
        order |= {"mails": [], "log": [], "price": PRICE, "credited": 0}
        others = [each for each in orders.values() if each["customer"] == order["customer"]]
        paid = [each for each in others if each["status"] == "paid"]
        order |= {"is_first": not (paid if bug("gift-twice") else others), "is_second": bool(paid)}
        orders[order["id"]] = order
    if bug("trusts-price"):
        order["price"] = body["price"]
    elif body["price"] != PRICE:
        raise Refused(422)
    payment = create(order)
    return {"id": order["id"], "payment_id": payment["id"], "customer": order["customer"]}


def pay_again(order: Json) -> Json:
    if order["status"] in ("paid", "refunded"):
        raise Refused(409)
    payment = current(order)
    is_open = order["payments"][payment] in OPEN
    if (is_open and not bug("replaces-payment")) or bug("returns-failed-payment"):
        return {"payment_id": payment}
    order["status"] = "pending"
    if is_open:  # It is given up.
        order["payments"][payment] = "failed"
        order["mails"].append("failed")
    return {"payment_id": create(order)["id"]}


def change_cart(order: Json) -> Json:
    if order["status"] != "pending":
        raise Refused(409)
    order["price"] += EXTRA
    return {}


def credit(order: Json, amount: int) -> None:
    customer = order["customer"]
    wallets[customer] = wallets.get(customer, 0) + amount
    order["credited"] += amount


def apply(order: Json, payment: str, status: str) -> None:
    with lock:
        known = order["payments"].get(payment)
        if known is None or status not in RANKS:
            return
        if status == "completed" and order["status"] == "paid":
            if bug("mails-each-event"):
                order["mails"].append("paid")
            if bug("credits-each-event"):
                credit(order, PRICE)
            if bug("points-each-event"):
                order["points"] += 10
        if known not in OPEN and status not in OPEN and status != known:
            status = retrieve(payment)  # an event may be late
        is_reversal = RANKS[known] >= RANKS["completed"] and status in ("failed", "expired")
        if status == known or not (RANKS[status] > RANKS[known] or is_reversal):
            return
        if bug("ignores-reversal") and is_reversal:
            return
        if bug("expires-only-pending") and (known, status) == ("processing", "expired"):
            return
        order["payments"][payment] = status
        effect(order, payment, status)


def effect(order: Json, payment: str, status: str) -> None:
    """What a new status of a payment changes."""
    price = order["paid_with"][payment]
    if status == "completed":
        if order["status"] == "paid" or (price != order["price"] and not is_price_unknown()):
            return
        if bug("takes-for-duplicate") and order["is_second"]:
            return
        order["status"] = "paid"
        order["shipments"] += 1
        order["points"] += 10
        sold.append(order["id"])
        credit(order, price)
    elif status == "refunded" or order["status"] == "paid":
        is_paid = order["status"] == "paid"
        order["status"] = "refunded" if status == "refunded" else "cancelled"
        if is_paid:
            sold.remove(order["id"])
            credit(order, -price)
    elif status in ("failed", "expired") and payment == current(order):
        order["status"] = "cancelled"
    else:
        return
    order["mails"].append(status)


def is_price_unknown() -> bool:
    return shop.BUG in ("forgets-delivery", "keeps-old-payment")


def gifts(customer: str) -> int:
    """How many gifts a customer has got; only the first order of a customer has one."""
    paid = [each for each in orders.values() if each["status"] == "paid" and each["is_first"]]
    return sum(each["customer"] == customer for each in paid)


def webhook(headers: object, body: bytes) -> None:
    if not shop.is_genuine(headers, body):
        raise Refused(400)
    event = json.loads(body)
    data, status = event["data"], event["type"].removeprefix("payment.")
    for order in list(orders.values()):
        if event["mode"] == "test" and data["id"] in order["payments"]:
            order["log"].append(event["id"])
            apply(order, data["id"], status)


def poll() -> None:
    """The job: ten open orders a run, those first that were looked at least."""
    if bug("job-fails"):
        raise Refused(500)
    is_open = [order for order in orders.values() if order["payments"] and is_waiting(order)]
    looked_at = sorted(is_open, key=lambda order: order["checks"])[:ORDERS_A_RUN]
    if filters := LISTS.get(shop.BUG):
        page = call("GET", f"/v1/payments?{filters.format(last[0])}")[1]["data"]
        last[:] = [page[0]["created_at"]]
        newest = {payment["id"] for payment in page}
        looked_at = [order for order in is_open if newest & order["payments"].keys()]
    for order in looked_at:
        order["checks"] += 1
        apply(order, current(order), retrieve(current(order)))


def is_waiting(order: Json) -> bool:
    return any(status in OPEN for status in order["payments"].values()) or (
        order["status"] == "cancelled" and order["checks"] < ATTEMPTS
    )


def returned(number: str) -> None:
    for order in [each for each in orders.values() if each["id"] == number]:
        apply(order, current(order), retrieve(current(order)))


class Handler(shop.Handler, BaseHTTPRequestHandler):
    awaited_paths = ("/orders",) if bug("newest-payment") else ()

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        place, _, name = url.path[1:].partition("/")
        if place == "return" and bug("page-fails"):
            self.answer(500, {})
        elif place == "return":
            returned(parse_qs(url.query).get("order", [""])[0])
            self.answer(200, {})
        elif place == "wallets":
            balance = f"{wallets.get(name, 0) / 100:.2f}"
            self.answer(200, {"balance": balance})
        elif place == "stock":
            self.answer(200, {"left": STOCK - len(sold)})
        elif name in orders:
            hidden = ("payments", "paid_with", "known", "is_first", "is_second")
            shown = {k: v for k, v in orders[name].items() if k not in hidden}
            self.answer(200, shown | {"gifts": gifts(orders[name]["customer"])})
        else:
            self.answer(200 if place in ("health", "cancel", "") else 404, {})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        place, _, name = self.path[1:].partition("/")
        found, _, action = name.partition("/")
        cookie = ""
        try:
            if self.path == "/orders":
                answer = start(json.loads(body), self.headers.get("cookie", "")[len("customer=") :])
                cookie = f"customer={answer['customer']}"
            elif action == "pay":
                answer = pay_again(orders[found])
            elif place == "cart":
                answer = change_cart(orders[found])
            else:
                answer = {}
                webhook(self.headers, body) if place == "webhooks" else poll()
        except Refused as refused:
            return self.answer(refused.args[0], {})
        except (OSError, HTTPException):
            return self.answer(500, {})
        return self.answer(200, answer, cookie)


if __name__ == "__main__":
    shop.server.RequestHandlerClass = Handler
    shop.serve()
