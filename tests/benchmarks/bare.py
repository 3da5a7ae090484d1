"""The limit: what Starlette and uvicorn do when there is nothing to do, `… .bare PORT`.

It answers a payment object of 544 bytes, encoded each time as any Starlette route would, to
the very requests that the emulator gets. It reads a body, since a POST that leaves it on the wire
is no limit for anyone, but looks at nothing in it.
"""

import sys

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

PAYMENT_BYTES = 544
PAYMENT = {
    "id": "pay_4fT0aVbQ9sXw2LrK7mNc8dYe",
    "object": "payment",
    "amount": 125_000,
    "currency": "ETB",
    "status": "pending",
    "method": None,
    "checkout_url": "http://127.0.0.1:8081/c/Zk3vQ8rT1yUw6PbN0sXe5LhA",
    "success_url": "https://shop.example.com/orders/100042/success?source=hosted",
    "cancel_url": "https://shop.example.com/orders/100042/cancelled?source=hosted",
    "metadata": {
        "order_id": "100042",
        "customer": "customer.042@example.com",
        "branch": "Bole",
        "locale": "am",
    },
    "created_at": "2026-01-01T00:00:00.000Z",
    "expires_at": "2026-01-01T00:30:00.000Z",
    "completed_at": None,
}


async def payments(request: Request) -> Response:
    """Answer a creation with 201 and every read, lists included, with 200 and one payment."""
    if request.method == "POST":
        await request.body()
        return JSONResponse(PAYMENT, status_code=201)
    return JSONResponse(PAYMENT)


# One route for all, since each one more that must be tried costs the limit a tenth.
app = Starlette(routes=[Route("/v1/payments{rest:path}", payments, methods=["GET", "POST"])])


def main() -> None:
    """Serve on the port in the first argument, on the loopback address only."""
    uvicorn.run(
        app,
        host="127.0.0.1",
        port=int(sys.argv[1]),
        loop="uvloop",
        http="httptools",
        access_log=False,
        log_level="warning",
    )


if __name__ == "__main__":
    main()
