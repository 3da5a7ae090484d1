"""Describes a request for a page of the dashboard, and writes requests as curl commands."""

import asyncio
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any
from urllib.parse import quote, urlencode

import msgspec
from starlette.types import ASGIApp, Message, Scope

from emulator.domain.webhooks import RegisteredEndpoint
from emulator.server.control.calls import AccountQuery, owner_of_subject
from emulator.server.engine.engine import Engine
from emulator.server.engine.state.account import Owner
from emulator.server.openapi.members import decode
from emulator.summaries import PaymentSummary

ROOT = "/_emulator/view"
ROWS_PER_PAGE = 25


@dataclass(frozen=True, kw_only=True)
class ViewRequest:
    """A request for a page, on one account and mode.

    `item` is the id in the path, None for a list. `query` has the other parameters, the filters
    of a list. `base_url` is the address of the API listener as the browser knows it. `control` is
    the control API. What a list shows of deliveries and requests is less than what its calls
    return, so a list reads them from the engine, with the same queries.
    """

    section: str
    item: str | None
    subject: Mapping[str, str]
    query: Mapping[str, str]
    base_url: str
    control: ASGIApp
    engine: Engine

    @cached_property
    def owner(self) -> Owner:
        """The account and mode. Raises UnknownAccount, InvalidField."""
        return owner_of_subject(self.engine, decode(self.subject, AccountQuery, max_length=None))

    async def summaries(self, names: Iterable[str | None]) -> dict[str, PaymentSummary]:
        """The existing ones of the payments with these ids."""
        return await self.engine.history.summaries([*{name for name in names if name}])

    async def get(self, path: str, /, **query: str | None) -> Any:
        """Call `GET /_emulator{path}` on this account and mode; returns the decoded JSON.

        Raises the refusals of the call.
        """
        path = f"/_emulator{path}"
        scope: Scope = {
            "type": "http",
            "method": "GET",
            "path": path,
            "query_string": urlencode(self._parameters(query)).encode(),
            "headers": [],
        }
        parts: list[bytes] = []

        async def receive() -> Message:
            # No call reads a body, and the caller does not disconnect.
            return await asyncio.Future()

        async def send(message: Message) -> None:
            parts.append(message.get("body", b""))

        await self.control(scope, receive, send)
        return msgspec.json.decode(b"".join(parts))

    @property
    def endpoints(self) -> dict[str, RegisteredEndpoint]:
        """The webhook endpoints of the account and mode, by id."""
        return {each.id: each for each in self.engine.webhooks.endpoints.all(self.owner)}

    def unauthorized(self, limit: int) -> Mapping[str, Any]:
        """The number of requests without a valid key, and the newest ones."""
        found = self.engine.accounts.unauthorized
        return {"count": found.count, "newest": [*islice(reversed(found.newest), limit)]}

    def address(self, section: str, item: str | None = None, /, **query: str | None) -> str:
        """The address of a page of the same account and mode; None leaves a parameter out."""
        path = f"{ROOT}/{section}" if item is None else f"{ROOT}/{section}/{quote(item, safe='')}"
        given = {name: value for name, value in query.items() if value is not None}
        if given:
            return _with_query(path, {**self.subject, **given})
        # A page has dozens of such addresses.
        return path + self.subject_query

    @cached_property
    def subject_query(self) -> str:
        """The end of the address of a page of the same account and mode."""
        return _with_query("", self.subject)

    def curl(self, path: str, /, **query: str | None) -> str:
        """The command of the same call as `get`; it needs no key."""
        url = _with_query(f"{self.base_url}/_emulator{path}", self._parameters(query))
        return curl(url, authorization=None)

    def _parameters(self, query: Mapping[str, str | None]) -> dict[str, str]:
        """The account and mode, and the parameters that have a value."""
        return {**self.subject, **{name: value for name, value in query.items() if value}}


def _with_query(address: str, query: Mapping[str, str]) -> str:
    return f"{address}?{urlencode(query)}" if query else address


def curl(
    url: str,
    *,
    method: str = "GET",
    body: str = "",
    content_type: str = "",
    authorization: str | None = "Authorization: Bearer $TEST_KEY",
) -> str:
    """The curl command of a request. The key is a shell variable, because a page shows no key."""
    # Without -g, curl expands brackets and braces in the address.
    parts = [f"curl {'-g ' if set(url) & set('[]{}') else ''}{shlex.quote(url)}"]
    if method != ("POST" if body else "GET"):
        parts.append(f"-X {shlex.quote(method)}")
    if authorization is not None:
        parts.append(f'-H "{authorization}"')
    if content_type or body:
        # Without a value, curl omits the header that it adds to a body.
        parts.append(f"-H {shlex.quote(f'Content-Type: {content_type}'.strip())}")
    if body:
        # With -d, a body that starts with @ is the name of a file.
        option = "--data-raw" if body.startswith("@") else "-d"
        parts.append(f"{option} {shlex.quote(body)}")
    return " \\\n  ".join(parts)
