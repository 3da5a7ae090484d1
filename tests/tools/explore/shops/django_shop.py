"""A shop in Django: a login, forms with CSRF tokens, pages.

With `BUG`, two webhooks at once ship an order twice.
"""

import html
import os
import time  # noqa: TID251 - a real wait

import django
import httpx
from django.conf import settings
from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
from django.core.wsgi import get_wsgi_application
from django.db import connection, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.middleware.csrf import get_token
from django.urls import path
from django.views.decorators.csrf import csrf_exempt
from standardwebhooks import Webhook, WebhookVerificationError

PORT = int(os.environ["PORT"])
URL = f"http://127.0.0.1:{PORT}"
BUG = os.environ.get("BUG")
WEBHOOK = Webhook(os.environ["PAYMENTS_EMULATOR_WEBHOOK_SECRET"])
PAYMENTS = httpx.Client(
    base_url=os.environ["PAYMENTS_EMULATOR_URL"],
    headers={"Authorization": f"Bearer {os.environ['PAYMENTS_EMULATOR_TEST_KEY']}"},
    timeout=10,
)
NAMES = {"failed": "cancelled", "expired": "cancelled", "completed": "paid", "refunded": "refunded"}
RANKS = {"failed": 1, "expired": 1, "completed": 2, "refunded": 3}
MAX_TRIES = 3

settings.configure(
    SECRET_KEY="a test",  # noqa: S106
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF=__name__,
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
    ],
    SESSION_ENGINE="django.contrib.sessions.backends.signed_cookies",
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": "orders.sqlite3",
            "OPTIONS": {"transaction_mode": "IMMEDIATE", "timeout": 20},
        }
    },
)


def query(sql: str, *values: object) -> int:
    """Execute a statement; return the number of changed rows."""
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return int(cursor.rowcount)


def row(sql: str, *values: object) -> tuple[object, ...] | None:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        found: tuple[object, ...] | None = cursor.fetchone()
        return found


def page(request: HttpRequest, content: str, action: str = "") -> HttpResponse:
    """A page with a form, if it has an action."""
    field = f'<input type="hidden" name="csrfmiddlewaretoken" value="{get_token(request)}">'
    form = f'<form method="post" action="{action}">{field}<button>Next</button></form>'
    return HttpResponse(f"<h1>Shop</h1>{content}{form if action else ''}")


def login(request: HttpRequest) -> HttpResponse:
    if request.method == "POST":
        request.session["customer"] = request.POST["email"]
        return HttpResponseRedirect("/cart")
    return page(request, '<input name="email">', "/login")


def cart(request: HttpRequest) -> HttpResponse:
    if "customer" not in request.session:
        return HttpResponseRedirect("/login")
    if request.method == "POST":
        request.session["item"] = request.POST["item"]
    return page(request, html.escape(request.session.get("item", "")), "/orders")


def place_order(request: HttpRequest) -> HttpResponse:
    if "item" not in request.session:
        return HttpResponseRedirect("/cart")
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO orders (customer) VALUES (%s)", [request.session["customer"]])
        return HttpResponseRedirect(f"/orders/{cursor.lastrowid}/pay")


def pay(request: HttpRequest, number: int) -> HttpResponse:
    payment = create_payment(number) if request.method == "POST" else None
    if payment is None:
        return page(request, "Pay for the order", request.path)
    query("UPDATE orders SET payment = %s WHERE id = %s", payment["id"], number)
    return HttpResponseRedirect(payment["checkout_url"])


def create_payment(number: int) -> dict[str, str] | None:
    """The payment, or None; repeated requests have the same key."""
    body = {
        "amount": 15_000,
        "currency": "ETB",
        "methods": ["telebirr"],
        "success_url": f"{URL}/orders/{number}",
        "cancel_url": f"{URL}/cart",
        "metadata": {"order": str(number)},
        "idempotency_key": f"django-{number}",
    }
    for _ in range(MAX_TRIES):
        wait_s = 0.1
        try:
            response = PAYMENTS.post("/v1/payments", json=body)
        except httpx.TransportError:
            continue
        if response.is_success:
            payment: dict[str, str] = response.json()
            return payment
        time.sleep(float(response.headers.get("retry-after", wait_s)))
    return None


def show_order(request: HttpRequest, number: int) -> HttpResponse:
    customer = request.session.get("customer")
    found = row(
        "SELECT status, parcels FROM orders WHERE id = %s AND customer = %s", number, customer
    )
    if found is None:
        return HttpResponse("no such order", status=404)
    return page(
        request, f"<p>Order {number}</p><p>Status: {found[0]}</p><p>Parcels: {found[1]}</p>"
    )


@csrf_exempt
def webhook(request: HttpRequest) -> HttpResponse:
    try:
        event = WEBHOOK.verify(request.body, dict(request.headers))
    except WebhookVerificationError:
        return HttpResponse(status=400)
    payment, status = event["data"]["id"], event["type"].removeprefix("payment.")
    if status in RANKS and event["mode"] == "test":
        if BUG:
            settle_carelessly(payment, status)
        else:
            settle(payment, status)
    return HttpResponse(status=204)


def settle(payment: str, status: str) -> None:
    """An older or equal status changes nothing; one transaction checks, marks and ships."""
    with transaction.atomic():
        changed = query(
            "UPDATE orders SET status = %s, known = %s WHERE payment = %s AND known < %s",
            *(NAMES[status], RANKS[status], payment, RANKS[status]),
        )
        if changed and status == "completed":
            query("UPDATE orders SET parcels = parcels + 1 WHERE payment = %s", payment)


def settle_carelessly(payment: str, status: str) -> None:
    """Two handlers at once may both see an order that is not paid."""
    found = row("SELECT known FROM orders WHERE payment = %s", payment)
    if found is not None and found[0] < RANKS[status]:
        PAYMENTS.get(f"/v1/payments/{payment}")
        if status == "completed":
            query("UPDATE orders SET parcels = parcels + 1 WHERE payment = %s", payment)
        query(
            "UPDATE orders SET status = %s, known = %s WHERE payment = %s",
            *(NAMES[status], RANKS[status], payment),
        )


urlpatterns = [
    path("login", login),
    path("cart", cart),
    path("orders", place_order),
    path("orders/<int:number>", show_order),
    path("orders/<int:number>/pay", pay),
    path("webhooks", webhook),
]


class Handler(WSGIRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


django.setup()
query(
    "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT, payment TEXT, known INTEGER"
    " DEFAULT 0, status TEXT DEFAULT 'open', parcels INTEGER DEFAULT 0)"
)
connection.close()
ThreadedWSGIServer.request_queue_size = 64
server = ThreadedWSGIServer(("127.0.0.1", PORT), Handler)
server.daemon_threads = True
server.set_app(get_wsgi_application())
server.serve_forever()
