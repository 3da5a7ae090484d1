"""Creates an account for the length of an examination, so that no other account is changed."""

import asyncio
from dataclasses import dataclass, replace
from typing import Any, Self

from emulator import ids
from emulator.http.client import HttpResponse
from emulator.tools.doctor.requests import (
    ACCOUNTS,
    ENDPOINTS,
    TargetServer,
    describe,
    response_items,
)

# An account may have only so many endpoints.
MAX_CONCURRENT_PINGS = 8

_NAME_DIGITS = 12


class NoTemporaryAccount(Exception):
    """The emulator created no account; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PingResult:
    """The response to a ping; `status` is None without one, `cause` that of a failure."""

    is_delivered: bool
    description: str
    status: int | None = None
    cause: str | None = None


class TemporaryAccount:
    """The account; `server` is the emulator with its key.

    It is deleted at the end of the block, however that ends; otherwise `undeleted` is its name.
    """

    def __init__(self, control: TargetServer) -> None:
        self.server = control
        self.undeleted: str | None = None
        self._control = control
        # Unique, so that it is found also when the response with its id was lost.
        self._name = f"doctor {ids.stream_key(None).hex()[:_NAME_DIGITS]}"
        self._ping_slots = asyncio.Semaphore(MAX_CONCURRENT_PINGS)

    async def __aenter__(self) -> Self:
        try:
            account = {"name": self._name, "clock": "real"}
            response = await self._control.request("POST", ACCOUNTS, account)
        except BaseException:
            await self._delete()
            raise
        key = response.member("test_key")
        if response.status != 201 or not isinstance(key, str):
            await self._delete()
            raise NoTemporaryAccount(describe(response))
        self.server = replace(self._control, key=key)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._delete()

    async def ping(self, url: str, secret: str | None) -> PingResult:
        """Make the emulator send a ping, signed with the secret or with any if there is none.

        The request is sent from the emulator's network, not from that of this program.
        """
        async with self._ping_slots:
            endpoint = {"url": url, "secret": secret}
            created = await self.server.request("POST", ENDPOINTS, endpoint)
            if created.status != 201:
                text = f"it could not be tried: {describe(created)}"
                return PingResult(is_delivered=False, description=text)
            path = f"{ENDPOINTS}/{created.member('id')}"
            response = await self.server.request("POST", f"{path}/ping")
            await self.server.request("DELETE", path)
        return _parse_ping(response)

    async def _delete(self) -> None:
        accounts = response_items(await self._control.request("GET", ACCOUNTS))
        if accounts is None:
            self.undeleted = self._name
        for account in accounts or ():
            if account.get("name") == self._name:
                path = f"{ACCOUNTS}/{account.get('id')}"
                response = await self._control.request("DELETE", path)
                if response.status not in (204, 404):
                    self.undeleted = self._name


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
