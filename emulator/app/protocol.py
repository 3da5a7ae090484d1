"""HTTP on one connection: uvicorn's protocol, with one write a turn and errors in our form."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from emulator.api.errors import error_body
from emulator.domain.errors import MalformedHttp


class JoinedWrites:
    """A transport that joins the head and the body of a response into one write.

    uvicorn writes the head and the body of a response apart, which costs a system call and a
    packet more than they need: a fifth of a retrieve.
    """

    __slots__ = ("_held", "_loop", "_transport")

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._held = b""

    def write(self, data: bytes) -> None:
        """Hold a head until its body comes, or until the end of the turn."""
        if self._held:
            self._transport.write(self._held + data)
            self._held = b""
        elif data.startswith(b"HTTP/1.1 "):
            self._held = data
            self._loop.call_soon(self._flush)
        else:
            self._transport.write(data)

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._held:
            self._transport.write(self._held)
            self._held = b""

    def __getattr__(self, name: str) -> Any:
        """All else is the transport's own."""
        return getattr(self._transport, name)


class Protocol(HttpToolsProtocol):
    """One connection."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(JoinedWrites(transport))  # type: ignore[arg-type]

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP: an error object here, too, and the end of the connection."""
        body = error_body(MalformedHttp(msg))
        self.transport.write(
            b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\n"
            b"cache-control: no-store\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%s"
            % (len(body), body)
        )
        self.transport.close()
