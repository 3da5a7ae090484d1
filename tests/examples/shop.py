"""A small shop of a merchant, whose payments the tests beside it examine.

An order is open until its payment has completed, failed or expired. A paid order is shipped once.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import httpx
from standardwebhooks import Webhook, WebhookVerificationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

MAX_TRIES = 3
RETRY_DELAY_S = 0.2


@dataclass(kw_only=True)
class Order:
    number: str
    amount: int
    state: str = "open"
    parcels: int = 0


class Shop:
    def __init__(
        self,
        url: str,
        payments_url: str,
        payments_key: str,
        secret: str,
        wait: Callable[[float], Awaitable[object]] = asyncio.sleep,  # noqa: TID251 - a real wait
    ) -> None:
        self._url = url
        self._payments_url = payments_url
        self._payments_key = payments_key
        self._webhook = Webhook(secret)
        self._wait = wait
        self._payments: httpx.AsyncClient
        # In a real shop these are tables, and a webhook is one transaction.
        self.orders: dict[str, Order] = {}
        self._known_webhooks: set[str] = set()
        self.app = Starlette(
            routes=[
                Route("/orders", self.place_order, methods=["POST"]),
                Route("/orders/{number}", self.show_order),
                Route("/webhooks", self.take_webhook, methods=["POST"]),
            ],
            lifespan=self._connected,
        )

    async def place_order(self, request: Request) -> Response:
        """Redirect the customer to the checkout page of a new payment."""
        basket = await request.json()
        order = Order(number=str(len(self.orders) + 1), amount=basket["amount"])
        self.orders[order.number] = order
        payment = await self._create_payment(order)
        return RedirectResponse(payment["checkout_url"], status_code=303)

    async def show_order(self, request: Request) -> Response:
        order = self.orders[request.path_params["number"]]
        return PlainTextResponse(f"Order {order.number}: {order.state}, {order.parcels} shipped")

    async def take_webhook(self, request: Request) -> Response:
        body = await request.body()
        try:
            event = self._webhook.verify(body, dict(request.headers))
        except WebhookVerificationError:
            return Response(status_code=400)
        # Webhooks may be late, so the present state of the payment is retrieved.
        try:
            payment = await self._retrieve_payment(event["data"]["id"])
        except ConnectionError:
            # The webhook comes again; a wait would keep the sender from its other webhooks.
            return Response(status_code=503)
        webhook_id = request.headers["webhook-id"]
        if webhook_id not in self._known_webhooks:
            self._known_webhooks.add(webhook_id)
            self._settle_order(payment)
        return Response(status_code=204)

    def _settle_order(self, payment: dict[str, Any]) -> None:
        order = self.orders.get(payment["metadata"].get("order", ""))
        # A key that others know too can create payments, also such that name an order.
        if order is None or payment["amount"] != order.amount:
            return
        if payment["status"] in ("failed", "expired", "refunded"):
            order.state = payment["status"]
        if payment["status"] == "completed" and order.state != "paid":
            order.state = "paid"
            order.parcels += 1

    async def _create_payment(self, order: Order) -> dict[str, Any]:
        body = {
            "amount": order.amount,
            "currency": "ETB",
            "methods": ["telebirr", "mpesa"],
            "success_url": f"{self._url}/orders/{order.number}",
            "cancel_url": f"{self._url}/orders/{order.number}",
            "metadata": {"order": order.number},
            # With the same key a repeated request creates no second payment.
            "idempotency_key": f"order-{order.number}",
        }
        return await self._payment("POST", "/v1/payments", json=body)

    async def _retrieve_payment(self, payment_id: str) -> dict[str, Any]:
        return await self._payment("GET", f"/v1/payments/{payment_id}", tries=1)

    async def _payment(
        self, method: str, path: str, *, tries: int = MAX_TRIES, **content: Any
    ) -> dict[str, Any]:
        """The payment of a response; a request that may succeed later is repeated.

        Raises ConnectionError after the last try.
        """
        for remaining in reversed(range(tries)):
            delay_s = RETRY_DELAY_S
            try:
                response = await self._payments.request(method, path, **content)
            except httpx.TransportError:
                pass  # The payment may exist without its response.
            else:
                if response.status_code == HTTPStatus.TOO_MANY_REQUESTS:
                    delay_s = float(response.headers["Retry-After"])
                elif not response.is_server_error:
                    payment: dict[str, Any] = response.raise_for_status().json()
                    return payment
            if remaining:
                await self._wait(delay_s)
        raise ConnectionError("the payments service does not answer")

    @asynccontextmanager
    async def _connected(self, app: Starlette) -> AsyncIterator[None]:  # noqa: ARG002
        key = {"Authorization": f"Bearer {self._payments_key}"}
        async with httpx.AsyncClient(base_url=self._payments_url, headers=key) as self._payments:
            yield
