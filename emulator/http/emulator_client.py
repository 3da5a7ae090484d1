"""Calls an emulator without blocking the event loop, and creates temporary accounts in it.

PaymentsEmulatorError    see `emulator_calls`
  AccountNotCreated      the emulator created no temporary account, or the response was lost
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeVar

from ..domain.accounts import is_well_formed_key
from . import emulator_calls as calls
from .addresses import BaseUrl
from .client import HttpClient
from .emulator_calls import EmulatorCall, PaymentsEmulatorError
from .response import HttpResponse

# After Ctrl-C the user waits for the deletion of an account.
MAX_DELETION_S = 10

T = TypeVar("T")
Send = Callable[[EmulatorCall[Any]], Awaitable[HttpResponse]]


@dataclass(frozen=True, slots=True)
class EmulatorClient:
    """Calls one emulator, with an API key if it has one; open within `async with`.

    A copy with another key uses the same connections, and is not opened.
    """

    base_url: BaseUrl
    key: str | None = None
    timeout_s: float = calls.MAX_RESPONSE_S
    http: HttpClient = field(default_factory=HttpClient)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.http.aclose()

    async def call(self, call: EmulatorCall[T]) -> T:
        """The result of a call, sent once. Raises PaymentsEmulatorError."""
        return call.result(await self.send(call), self.base_url)

    async def send(self, call: EmulatorCall[Any]) -> HttpResponse:
        """The response to a call, also a refusal, or none.

        The call is sent once: a repetition would not meet the same fault. Raises
        PaymentsEmulatorError if no connection is possible.
        """
        response = await self.try_to_send(call)
        if response.is_refused:
            call.result(response, self.base_url)
        return response

    async def try_to_send(self, call: EmulatorCall[Any]) -> HttpResponse:
        """The response to a call, also a refusal, or none for any reason."""
        headers, body = call.encode(self.key)
        url = f"{self.base_url}{call.path}"
        return await self.http.send(call.method, url, headers, body, timeout_s=self.timeout_s)


@asynccontextmanager
async def silent_endpoint(client: EmulatorClient, url: str | None) -> AsyncIterator[Any]:
    """Disable the endpoint with a URL during the block, and yield it, if there is one.

    A command that delivers the events itself needs it. Raises PaymentsEmulatorError.
    """
    listed = await client.call(calls.ENDPOINTS)
    endpoint = next((each for each in listed if each["url"] == url), None)
    if endpoint is None:
        yield None
        return
    change = calls.CHANGE_ENDPOINT(endpoint["id"], body={"enabled": False})
    await client.call(change)
    try:
        yield endpoint
    finally:
        await client.call(replace(change, body={"enabled": endpoint["enabled"]}))


class AccountNotCreated(PaymentsEmulatorError):
    """The emulator created no temporary account; `response` says why."""


@dataclass
class GivenAccount:
    """An account that is not created and not deleted."""

    key: str
    id: str = ""
    is_kept: bool = True


class TemporaryAccount:
    """An account that is created for a block, and deleted at its end unless `is_kept`.

    `undeleted` is its name if it could not be deleted. With a unique name, it is also deleted when
    the response with its id was lost.
    """

    def __init__(
        self, send: Send, settings: Mapping[str, object], *, has_unique_name: bool = False
    ) -> None:
        self.id = ""
        self.key = ""
        self.is_kept = False
        self.undeleted: str | None = None
        self._send = send
        self._settings = settings
        self._has_unique_name = has_unique_name

    async def __aenter__(self) -> Self:
        """Raises AccountNotCreated, and PaymentsEmulatorError if no connection is possible."""
        try:
            response = await self._send(calls.CREATE_ACCOUNT(body=self._settings))
            self.key = str(response.member("test_key"))
            if response.status != 201 or not is_well_formed_key(self.key):
                raise AccountNotCreated(response.explanation, response)
            self.id = str(response.member("id"))
        except BaseException:
            await self._delete()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        if not self.is_kept:
            await self._delete()

    async def _delete(self) -> None:
        try:
            async with asyncio.timeout(MAX_DELETION_S):
                ids = [self.id] if self.id else await self._ids_by_name()
                statuses = [(await self._send(calls.DELETE_ACCOUNT(each))).status for each in ids]
                is_deleted = {204, 404}.issuperset(statuses)
        except (TimeoutError, LookupError):
            is_deleted = False
        self.undeleted = None if is_deleted else str(self._settings["name"])

    async def _ids_by_name(self) -> list[str]:
        """The ids of accounts with the unique name. Raises LookupError if none can be listed."""
        if not self._has_unique_name:
            return []
        accounts = (await self._send(calls.ACCOUNTS)).member("data")
        if not isinstance(accounts, list):
            raise LookupError
        name = self._settings["name"]
        return [str(account["id"]) for account in accounts if account.get("name") == name]
