"""A small shop in Python. Without a bug it is correct; `bug("…")` marks each deviation.

Its settings are environment variables. `WAYS` names how it learns of a payment: any of `webhook`,
`return` and `job`, or `queue`, which handles webhooks after they are answered, by `WORKERS` that
each take `LAG` ms for one. With `read`, a webhook only says which payment to retrieve, with `list`
from the list of all; with `durable`, orders are stored in `DATABASE`.
`FORM` is the form of its webhooks.
"""

import base64
import hmac
import json
import os
import queue
import threading
import time  # noqa: TID251 - a shop has its own time
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, TypeGuard
from urllib.parse import parse_qs, parse_qsl, urlsplit

from tests.tools.explore.arrivals import ShopHandler, ShopServer

PORT = int(os.environ["PORT"])
BASE = f"http://127.0.0.1:{PORT}"
API = urlsplit(os.environ["PAYMENTS_EMULATOR_URL"]).netloc
KEY = os.environ["PAYMENTS_EMULATOR_TEST_KEY"]
SECRET = os.environ["PAYMENTS_EMULATOR_WEBHOOK_SECRET"]
FORM = os.environ.get("FORM", "standard")
BUG = os.environ.get("BUG", "")
WAYS = os.environ.get("WAYS", "webhook return job").split()
LAG_S = int(os.environ.get("LAG", "0")) / 1000
WORKERS = int(os.environ.get("WORKERS", "1"))
ATTEMPTS = 3
STATUS_EVENTS = {"processing", "failed", "expired", "completed", "refunded"}
MAX_AGE_S = 300
DATABASE = Path(os.environ["DATABASE"])
# Some shops wait less for the service, and take a time-out for an answer.
TIMEOUT_S = 2 if BUG in ("new-key-after-timeout", "timeout-is-failure") else 10
RANKS = {"pending": 0, "processing": 0, "failed": 1, "expired": 1, "completed": 2, "refunded": 3}
NAMES = {"failed": "cancelled", "expired": "cancelled", "completed": "paid", "refunded": "refunded"}
NEW_KEY_AFTER = {
    "new-key-after-timeout": "timeout",
    "new-key-after-cut": "cut",
    "new-key-after-500": "500",
}
FORGETS_AFTER = {"forgets-order-after-500": 500, "forgets-order-after-429": 429}
# The paths beside that of webhooks whose requests race with another one.
AWAITED = {"races-webhook": ("/return", "/jobs"), "ships-after-job": ("/jobs",)}
CANCELLED_BY_JOB = {"cancels-pending": "pending", "cancels-processing": "processing"}

Json = dict[str, Any]
orders: dict[str, Json] = {}
sessions: dict[str, str] = {}
cache: dict[str, str] = {}
lock = threading.RLock()
racing = threading.Lock()
jobs: "queue.Queue[tuple[Json, Json]]" = queue.Queue()
local = threading.local()
seen: set[str] = set()
busy: set[str] = set()
strange: set[str] = set()
unsent: list[tuple[Json, str]] = []


def bug(name: str) -> bool:
    return name == BUG


def call(method: str, path: str, body: Json | None = None) -> tuple[int, Json, float]:
    """The status, the JSON and `Retry-After` of a response. Raises OSError, HTTPException."""
    if not hasattr(local, "connection"):
        local.connection = HTTPConnection(API, timeout=TIMEOUT_S)
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
    cancel_url = order.get("cancel_url", f"{BASE}/cancel?order={order['id']}")
    body |= {"success_url": url, "cancel_url": cancel_url}
    body["metadata"] = {"order": order["id"]}
    if not bug("new-payment-on-retry"):
        body["idempotency_key"] = order["id"]
    for _ in range(ATTEMPTS):
        failure = ""
        try:
            status, payment, wait_s = call("POST", "/v1/payments", body)
        except TimeoutError:
            status, wait_s, failure = 500, 0, "timeout"
        except (OSError, HTTPException, ValueError):
            status, wait_s, failure = 500, 0, "cut"
        if status == 201:
            return payment
        if NEW_KEY_AFTER.get(BUG) == (failure or str(status)):
            body["idempotency_key"] = f"{order['id']}-again"
        if FORGETS_AFTER.get(BUG) == status and not has_payment(order):
            order["is_forgotten"] = True
        if status != 429 and status < 500:
            break
        time.sleep(wait_s or 0.1)
    raise RuntimeError("no payment")


def has_payment(order: Json) -> bool:
    """Whether one of the newest payments is that of an order."""
    payments = call("GET", "/v1/payments?limit=3")[1]["data"]
    return any(payment["metadata"]["order"] == order["id"] for payment in payments)


def retrieve(payment: str) -> str:
    """The status of a payment. Raises OSError, HTTPException."""
    if not bug("caches-status") or payment not in cache:
        path = "/v1/payments?limit=100" if "list" in WAYS else f"/v1/payments/{payment}"
        status, body, _ = call("GET", path)
        if status != 200:
            raise OSError(f"the service answers {status}")
        body = next(each for each in body.get("data", [body]) if each["id"] == payment)
        cache[payment] = body["status"]
    return cache[payment]


def apply(order: Json, status: str) -> None:
    """Apply a status; an older or equal one changes nothing, so any order and number is safe."""
    with lock:
        known = order["known"]
        if bug("last-event-wins") and known not in ("failed", "expired", "refunded"):
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
        save()


def save() -> None:
    """Store the orders, where they are durable."""
    if "durable" in WAYS:
        written = DATABASE.with_suffix(".new")
        written.write_text(json.dumps(orders))
        written.replace(DATABASE)


def apply_slowly(order: Json) -> None:
    """The bugs in which time passes between the check and the effect."""
    if order["status"] == "paid":
        return
    server.arrivals.wait()
    order["shipments"] += 1
    if bug("repeats-slow-effect"):
        time.sleep(0.15)
    order["status"], order["known"] = "paid", "completed"


def start(body: Json) -> Json:
    order = {"id": f"o{len(orders) + 1}", "amount": body["amount"], "status": "pending"}
    order |= {"shipments": 0, "points": 0, "known": "pending", "payment": None, "paths": []}
    orders[order["id"]] = order
    order["payment"] = create(order)["id"]
    with lock:
        save()
    return order


def standard(headers: Any, body: bytes) -> tuple[str, bytes, list[str]]:
    """The timestamp, the expected signature, and those that were given."""
    stamp = headers.get("webhook-timestamp", "")
    signed = f"{headers.get('webhook-id')}.{stamp}.".encode() + body
    key = base64.b64decode(SECRET.removeprefix("whsec_"))
    expected = b"v1," + base64.b64encode(hmac.digest(key, signed, "sha256"))
    return stamp, expected, headers.get("webhook-signature", "").split()


def timestamped_hex(headers: Any, body: bytes) -> tuple[str, bytes, list[str]]:
    stamp, *given = headers.get("payments-signature", "").split(",")
    stamp = stamp.removeprefix("t=")
    expected = hmac.new(SECRET.encode(), f"{stamp}.".encode() + body, "sha256").hexdigest()
    return stamp, f"v1={expected}".encode(), given


def hex_header(headers: Any, body: bytes) -> tuple[None, bytes, list[str]]:
    expected = hmac.new(SECRET.encode(), body, "sha512").hexdigest()
    return None, expected.encode(), headers.get("x-signature", "").split()


def form_fields(headers: Any, body: bytes) -> tuple[None, bytes, list[str]]:
    expected = base64.b64encode(hmac.digest(bytes.fromhex(SECRET), body, "sha256"))
    return None, expected, headers.get("x-notification-signature", "").split()


SIGNATURES: dict[str, Callable[[Any, bytes], tuple[str | None, bytes, list[str]]]] = {
    "standard": standard,
    "timestamped-hex": timestamped_hex,
    "hex-header": hex_header,
    "form-fields": form_fields,
}


def is_genuine(headers: Any, body: bytes) -> bool:
    if FORM == "unsigned" or bug("takes-order-from-webhook"):
        return True
    stamp, expected, given = SIGNATURES[FORM](headers, body)
    if stamp is not None and not stamp.isdigit():
        return False
    if stamp is not None and abs(time.time() - int(stamp)) > MAX_AGE_S:
        return bug("accepts-stale")
    if bug("accepts-unsigned") and not given:
        return True
    if bug("first-signature-only"):
        given = given[:1]
    if bug("accepts-any-signature"):
        return any(len(each) == len(expected) for each in given)
    if bug("compares-common-length"):
        pairs = (zip(expected, each.encode(), strict=False) for each in given)
        return any(all(a == b for a, b in pair) for pair in pairs)
    return any(hmac.compare_digest(expected, each.encode()) for each in given)


def event_of(body: bytes) -> Json:
    """The event in the form of `standard`, as far as the form has it."""
    if FORM == "form-fields":
        fields: Json = dict(parse_qsl(body.decode(), keep_blank_values=True))
        metadata = json.loads(fields["metadata"])
        data = {"id": fields["payment_id"], "status": fields["status"], "metadata": metadata}
        return {"id": fields["notification_id"], "type": fields["notification_type"], "data": data}
    event: Json = json.loads(body)
    if FORM == "hex-header":
        words = {"charge.success": "completed", "refund.processed": "refunded"}
        status = words.get(event["event"], event["event"].removeprefix("charge."))
        return {"type": f"payment.{status}", "data": event["data"]}
    if FORM == "unsigned":
        result = event["result"]
        data = {"id": result["transaction_id"], "metadata": result["metadata"]}
        data["status"] = result["code"]
        return {"type": f"payment.{result['code']}", "data": data}
    return event


def is_of(order: Json | None, payment: Json) -> TypeGuard[Json]:
    if order is None or bug("takes-order-from-webhook"):
        return order is not None
    return order["payment"] in (None, payment["id"])


def webhook(headers: Any, body: bytes) -> int:
    if not is_genuine(headers, body):
        return 400
    event = PARSERS.get(BUG, event_of)(body)
    payment = event["data"]
    order = orders.get(payment["metadata"].get("order", ""))
    if order is not None and event["type"] == "payment.created":
        created(order, payment)
    if payment["id"] in strange or (order or {}).get("is_forgotten"):
        return 200
    if (
        event.get("mode", "test") != "test"
        or event["type"].removeprefix("payment.") not in STATUS_EVENTS
    ):
        return 200
    if bug("newest-order") and payment["status"] == "completed":
        order = list(orders.values())[-1]
    elif not is_of(order, payment):
        return 200
    if bug("mixes-up-orders") and payment["status"] == "completed":
        order = mixed_up(order)
    if "queue" in WAYS:
        jobs.put((order, event))
    elif "webhook" in WAYS:
        handle(order, event)
    return 200


def handle(order: Json, event: Json) -> None:
    if BUG in HANDLERS:
        return HANDLERS[BUG](order, event)
    payment = event["data"]
    # A webhook without a signature proves nothing.
    reads = "read" in WAYS or (FORM == "unsigned" and not bug("trusts-body"))
    status = retrieve(payment["id"]) if reads else payment["status"]
    if BUG in ("relies-on-return", "loses-session") and status == "completed":
        return None
    if bug("caches-status") and status == "completed":
        status = cache.get(payment["id"], status)
    if bug("refuses-after-expiry") and event["timestamp"] > payment["expires_at"]:
        status = "expired"
    if bug("ships-on-both-paths") and status == "completed":
        return deliver(order, "webhook")
    is_paid = status == "completed" and order["known"] != "refunded"
    if BUG in ("settles-at-once", "repeats-slow-effect") and is_paid:
        return apply_slowly(order)
    return apply(order, status)


def takes_order_from_webhook(order: Json, event: Json) -> None:
    """No signature is needed: the payment is retrieved, and whose it is, is not asked."""
    status, payment, _ = call("GET", f"/v1/payments/{event['data']['id']}")
    if status != 200:
        raise OSError(f"the service answers {status}")
    if payment["amount"] == order["amount"]:
        apply(order, payment["status"])


def created(order: Json, payment: Json) -> None:
    """What most shops do not do: handle `payment.created`."""
    if bug("refuses-early-webhook") and order["payment"] is None:
        strange.add(payment["id"])
    if bug("created-resets-order") and order["status"] == "paid":
        order["status"] = "pending"


def mixed_up(order: Json) -> Json:
    """The previous order, if that is processing, and this one is new."""
    previous = orders.get(f"o{int(order['id'][1:]) - 1}", order)
    is_mixed_up = order["known"] == "pending" and previous["known"] == "processing"
    return previous if is_mixed_up else order


def remembers_before_read(order: Json, event: Json) -> None:
    if event["data"]["status"] != "completed":
        apply(order, event["data"]["status"])
    elif event["id"] not in seen:
        seen.add(event["id"])
        apply(order, retrieve(order["payment"]))


def ships_then_fails(order: Json, _: Json) -> None:
    with lock:
        status = retrieve(order["payment"])
        if status == "completed" and order["status"] != "paid":
            order["shipments"] += 1
            retrieve(order["payment"])  # for the receipt
            order["status"] = "paid"
        elif status != "completed":
            apply(order, status)


def pays_then_fails(order: Json, _: Json) -> None:
    status = retrieve(order["payment"])
    if status == "completed" and order["status"] != "paid":
        order["status"] = "paid"
        retrieve(order["payment"])  # for the address
        order["shipments"] += 1
    elif status != "completed":
        apply(order, status)


def fails_in_background(order: Json, event: Json) -> None:
    """The webhook is acknowledged when the read was answered, so the read is before that."""
    is_answered = threading.Event()

    def refresh() -> None:
        try:
            status = retrieve(order["payment"])
        except OSError:
            return  # Nobody repeats it.
        finally:
            is_answered.set()
        apply(order, status)

    if event["data"]["status"] == "completed":
        threading.Thread(target=refresh, daemon=True).start()
        is_answered.wait(TIMEOUT_S)
    else:
        apply(order, event["data"]["status"])


def loses_queue(order: Json, event: Json) -> None:
    status = event["data"]["status"]
    if status == "completed":
        unsent.append((order, status))  # until the next request
    else:
        apply(order, status)


def processing_pays(order: Json, event: Json) -> None:
    status = event["data"]["status"]
    try:
        if status == "processing" and retrieve(order["payment"]) == "completed":
            order["status"], order["known"] = "paid", "completed"
    except OSError:
        return
    apply(order, status)


def reopens_until_return(order: Json, event: Json) -> None:
    status = event["data"]["status"]
    if status == "processing" and order["status"] == "paid" and "visits" not in order:
        order["status"] = "pending"
    else:
        apply(order, status)


def waits_for_processing(order: Json, event: Json) -> None:
    status, known = event["data"]["status"], order["known"]
    order.setdefault("arrived", []).append(status)
    if status == "completed" and known == "pending":
        return
    apply(order, status)
    if status == "processing" and "completed" in order["arrived"]:
        apply(order, "completed")


def ignores_only_parallel(order: Json, event: Json) -> None:
    with lock:
        if event["id"] in busy:
            return
        busy.add(event["id"])
    if event["data"]["status"] == "completed" and order["known"] != "refunded":
        server.arrivals.wait()
        order["status"] = "paid"
        order["shipments"] += 1
    else:
        apply(order, event["data"]["status"])
    busy.discard(event["id"])


def races_webhook(order: Json, event: Json) -> None:
    if not racing.acquire(blocking=False):
        server.arrivals.end()  # The handler that has the lock must not wait for this one.
        racing.acquire()
    try:
        if event["data"]["status"] == "completed":
            ship_after_read(order)
        else:
            apply(order, event["data"]["status"])
    finally:
        racing.release()


def ship_after_read(order: Json) -> None:
    """Another handler may do the same meanwhile."""
    if order["status"] != "paid":
        server.arrivals.wait()
        status = retrieve(order["payment"])
        if status == "completed":
            order["shipments"] += 1
            order["status"], order["known"] = "paid", "completed"
        else:
            apply(order, status)


def ships_on_return(order: Json, event: Json) -> None:
    """The return ships, unless the customer has seen a failure."""
    status = event["data"]["status"]
    with lock:
        if status == "completed" and order["known"] in ("pending", "processing"):
            order["status"], order["known"] = "paid", "completed"
        else:
            apply(order, status)


def ships_after_job(order: Json, event: Json) -> None:
    with lock:
        is_known = event["id"] in seen or order["id"] in busy
        seen.add(event["id"])
        if event["data"]["status"] != "completed":
            apply(order, event["data"]["status"])
        elif not is_known:
            order["shipments"] += 1
            order["status"], order["known"] = "paid", "completed"


Query = dict[str, list[str]]
PARSERS: dict[str, Callable[[bytes], Json]] = {}
PAGES: dict[tuple[str, str], Callable[[Json, Query], None]] = {}
JOBS: dict[str, Callable[[Json], None]] = {}
HANDLERS: dict[str, Callable[[Json, Json], None]] = {
    "takes-order-from-webhook": takes_order_from_webhook,
    "remembers-before-read": remembers_before_read,
    "ships-then-fails": ships_then_fails,
    "pays-then-fails": pays_then_fails,
    "fails-in-background": fails_in_background,
    "loses-queue": loses_queue,
    "processing-pays": processing_pays,
    "reopens-until-return": reopens_until_return,
    "waits-for-processing": waits_for_processing,
    "ignores-only-parallel": ignores_only_parallel,
    "races-webhook": races_webhook,
    "ships-on-return": ships_on_return,
    "ships-after-job": ships_after_job,
}


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
    elif bug("ships-on-return") and status == "completed":
        with lock:
            order["status"], order["known"], order["shipments"] = "paid", "completed", 1
    else:
        if order["status"] == "paid":
            order["visits"] = order.get("visits", 0) + 1
            order["shipments"] += bug("ships-on-reload") and order["visits"] > 1
        apply(order, status)


def open_page(order: Json, query: Query) -> None:
    if query["path"] == ["/return"]:
        (ship_after_read if bug("races-webhook") else returned)(order)


def job(order: Json) -> None:
    busy.add(order["id"])
    if bug("ships-after-job"):
        server.arrivals.wait()
    status = retrieve(order["payment"])
    is_open = bug("cancels-while-paying") and status in ("pending", "processing")
    if is_open or CANCELLED_BY_JOB.get(BUG) == status:
        order["status"], order["known"] = "cancelled", "refunded"
    else:
        apply(order, status)
    busy.discard(order["id"])


def work() -> None:
    while True:
        job = jobs.get()
        time.sleep(LAG_S)
        handle(*job)


class Handler(ShopHandler, BaseHTTPRequestHandler):
    awaited_paths = ("/webhooks", *AWAITED.get(BUG, ()))
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def parse_request(self) -> bool:
        while unsent:
            apply(*unsent.pop())
        return super().parse_request()

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        name = url.path.rpartition("/")[2]
        if url.path in ("/return", "/cancel"):
            query = parse_qs(url.query)
            name = query["order"][0]
            if bug("loses-session"):
                name = sessions.get(self.headers.get("cookie", ""), "")
            if name in orders:
                PAGES.get((BUG, url.path), open_page)(orders[name], {**query, "path": [url.path]})
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
            try:
                status = webhook(self.headers, body)
            except (OSError, HTTPException, ValueError):
                status = 500
            return self.answer(status, {})
        order = orders[self.path.rpartition("/")[2]]
        JOBS.get(BUG, ship_after_read if bug("races-webhook") else job)(order)
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


server = ShopServer(Handler, PORT)


def serve() -> None:
    if "durable" in WAYS and DATABASE.exists():
        orders.update(json.loads(DATABASE.read_text()))
    for _ in range(WORKERS):
        threading.Thread(target=work, daemon=True).start()
    server.serve_forever()
