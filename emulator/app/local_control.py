"""Calls the control API within the process, for the dashboard."""

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

import msgspec

from emulator.api.exchange import ASGIApp, Message, Scope


class LocalControl:
    """The `GET` calls of the control API; the result is the decoded JSON."""

    def __init__(self, control: ASGIApp) -> None:
        self._control = control

    async def get(self, path: str, query: Mapping[str, str]) -> Any:
        """Call `GET /_emulator{path}`. Raises the refusals of the call."""
        path = f"/_emulator{path}"
        scope: Scope = {
            "type": "http",
            "method": "GET",
            "scheme": "http",
            "path": path,
            "raw_path": quote(path).encode(),
            "query_string": urlencode(query).encode(),
            "headers": [],
            "server": None,
        }
        parts: list[bytes] = []

        async def receive() -> Message:
            # No call reads a body, and the caller does not disconnect.
            return await asyncio.Future()

        async def send(message: Message) -> None:
            parts.append(message.get("body", b""))

        await self._control(scope, receive, send)
        return msgspec.json.decode(b"".join(parts))
