"""The shop as a program, with its orders as JSON, which `explore` reads."""

import os
import sys

import uvicorn
from shop import Shop
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

PORT = int(sys.argv[1])


class ExploredShop(Shop):
    """The same shop; its responses have the order's number, its state and its parcels."""

    async def place_order(self, request: Request) -> Response:
        number = str(len(self.orders) + 1)
        response = await super().place_order(request)
        return JSONResponse({"order": number, "pay_at": response.headers["location"]}, 201)

    async def show_order(self, request: Request) -> Response:
        order = self.orders[request.path_params["number"]]
        return JSONResponse({"state": order.state, "parcels": order.parcels})


payments = (
    os.environ[f"PAYMENTS_EMULATOR_{name}"] for name in ("URL", "TEST_KEY", "WEBHOOK_SECRET")
)
shop = ExploredShop(f"http://127.0.0.1:{PORT}", *payments)
uvicorn.run(shop.app, port=PORT, log_level="error")
