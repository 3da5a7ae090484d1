"""How the emulator is made to call a handler once, and what it tells of that."""

import asyncio
from dataclasses import dataclass
from typing import Any

from emulator.cli.examination.asking import CONTROL, Server, told
from emulator.replay.client import Answer

MAX_CONCURRENT = 8
ENDPOINTS = f"{CONTROL}/webhook_endpoints"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ping:
    """How a ping went: its status, or why there is none, and the likely cause of a failure."""

    is_delivered: bool
    status: int | None = None
    told: str
    cause: str | None = None


class Pinger:
    """Lets the emulator call handlers, as endpoints of the guest's."""

    def __init__(self, guest: Server) -> None:
        self._guest = guest
        # An account has room for so many endpoints only.
        self._room = asyncio.Semaphore(MAX_CONCURRENT)

    async def ping(self, url: str, secret: str | None) -> Ping:
        """Have a handler called once, the call signed with a secret, or with any if there is none.

        It is the emulator's network that it goes over, not this program's.
        """
        async with self._room:
            created = await self._guest.ask("POST", ENDPOINTS, {"url": url, "secret": secret})
            if created.status != 201:
                return Ping(is_delivered=False, told=f"it could not be tried: {told(created)}")
            path = f"{ENDPOINTS}/{created.member('id')}"
            answer = await self._guest.ask("POST", f"{path}/ping")
            await self._guest.ask("DELETE", path)
        return _read(answer)


def _read(answer: Answer) -> Ping:
    """What the emulator tells of the delivery."""
    attempts = answer.member("attempts")
    if answer.status != 200 or not isinstance(attempts, list) or not attempts:
        return Ping(is_delivered=False, told=told(answer))
    attempt: dict[str, Any] = attempts[-1]
    status, error = attempt.get("status"), attempt.get("error")
    words = ", ".join(str(word) for word in (status, error) if word is not None)
    return Ping(
        is_delivered=answer.member("status") == "succeeded",
        status=status,
        told=f"{words} in {attempt.get('duration_ms', 0):.0f} ms",
        cause=attempt.get("cause"),
    )
