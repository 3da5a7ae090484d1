"""The events of an account and mode, as they are sent."""

import re
from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response

from emulator.control.calls import Calls
from emulator.control.replies import reply, written
from emulator.domain.errors import InvalidField
from emulator.engine.history import History

DEFAULT_LIMIT = "100"
LARGEST_LIMIT = 1_000

_FEW_DIGITS = re.compile(r"[0-9]{1,9}", re.ASCII)


class EventCalls:
    """`/events`."""

    def __init__(self, calls: Calls, history: History) -> None:
        self._calls = calls
        self._history = history

    async def list(self, request: Request) -> Response:
        call = await self._calls.decode(request, query=("limit",))
        bodies = await self._history.events(call.owner, limit=_limit(call.query))
        return reply({"data": [written(body) for body in bodies]})


def _limit(query: Mapping[str, str]) -> int:
    value = query.get("limit", DEFAULT_LIMIT)
    if not _FEW_DIGITS.fullmatch(value) or not 1 <= int(value) <= LARGEST_LIMIT:
        raise InvalidField("limit", f"Expected a whole number from 1 to {LARGEST_LIMIT}.")
    return int(value)
