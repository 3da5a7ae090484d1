"""The public address of the checkout pages over HTTP: mapped ports are known late."""

from starlette.requests import Request
from starlette.responses import Response

from emulator.control.calls import Calls
from emulator.control.fields import required
from emulator.control.replies import reply
from emulator.engine.payments.payments import CheckoutAddress


class CheckoutUrlCalls:
    """`/checkout_url`: of the whole program, since all accounts share its listener.

    A reset leaves it: it says where the program is, not what has happened in it.
    """

    def __init__(self, calls: Calls, checkout: CheckoutAddress) -> None:
        self._calls = calls
        self._checkout = checkout

    async def read(self, request: Request) -> Response:
        await self._calls.decode(request)
        return self._shown()

    async def put(self, request: Request) -> Response:
        call = await self._calls.decode(request, body=("url",))
        self._checkout.base = required(call.fields.base_url("url"), "url")
        return self._shown()

    def _shown(self) -> Response:
        return reply({"url": self._checkout.base})
