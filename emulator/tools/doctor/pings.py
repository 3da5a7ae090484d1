"""Makes the emulator ping webhook handlers from a temporary account, so that no other changes."""

import asyncio
from dataclasses import dataclass, replace
from typing import Any

from emulator import ids
from emulator.http.emulator_calls import CREATE_ENDPOINT, DELETE_ENDPOINT, PING_ENDPOINT
from emulator.http.emulator_client import TemporaryAccount
from emulator.http.response import HttpResponse
from emulator.tools.doctor.requests import TargetServer, describe

# An account may have only so many endpoints.
MAX_CONCURRENT_PINGS = 8

_NAME_DIGITS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class PingResult:
    """The response to a ping; `status` is None without one, `cause` that of a failure."""

    is_delivered: bool
    description: str
    status: int | None = None
    cause: str | None = None


class PingAccount(TemporaryAccount):
    """The account of an examination; `server` is the emulator with its key."""

    def __init__(self, control: TargetServer) -> None:
        name = f"doctor {ids.stream_key(None).hex()[:_NAME_DIGITS]}"
        super().__init__(control.send, {"name": name, "clock": "real"}, has_unique_name=True)
        self._control = control
        self._ping_slots = asyncio.Semaphore(MAX_CONCURRENT_PINGS)

    @property
    def server(self) -> TargetServer:
        return replace(self._control, key=self.key)

    async def ping(self, url: str, secret: str | None) -> PingResult:
        """Make the emulator send a ping, signed with the secret or with any if there is none.

        The request is sent from the emulator's network, not from that of this program.
        """
        server = self.server
        async with self._ping_slots:
            endpoint = {"url": url, "secret": secret}
            created = await server.send(CREATE_ENDPOINT(body=endpoint))
            if created.status != 201:
                text = f"it could not be tried: {describe(created)}"
                return PingResult(is_delivered=False, description=text)
            endpoint_id = str(created.member("id"))
            response = await server.send(PING_ENDPOINT(endpoint_id))
            await server.send(DELETE_ENDPOINT(endpoint_id))
        return _parse_ping(response)


def _parse_ping(response: HttpResponse) -> PingResult:
    attempts = response.member("attempts")
    if response.status != 200 or not isinstance(attempts, list) or not attempts:
        return PingResult(is_delivered=False, description=describe(response))
    attempt: dict[str, Any] = attempts[-1]
    status, error = attempt.get("status"), attempt.get("error")
    words = ", ".join(str(word) for word in (status, error) if word is not None)
    return PingResult(
        is_delivered=response.member("status") == "succeeded",
        description=f"{words} in {attempt.get('duration_ms', 0):.0f} ms",
        status=status,
        cause=attempt.get("cause"),
    )
