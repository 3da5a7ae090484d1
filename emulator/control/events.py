"""The events of an account and mode, as they are sent."""

from starlette.requests import Request
from starlette.responses import Response

from emulator.control.calls import Calls
from emulator.control.pages import limit_of
from emulator.control.replies import reply, written
from emulator.engine.payments.payments import PaymentHistory


class EventCalls:
    """`/events`."""

    def __init__(self, calls: Calls, history: PaymentHistory) -> None:
        self._calls = calls
        self._history = history

    async def list(self, request: Request) -> Response:
        call = await self._calls.decode(request, query=("limit",))
        bodies = await self._history.events(call.owner, limit=limit_of(call.query))
        return reply({"data": [written(body) for body in bodies]})
