"""Sends one request without asyncio and without third-party modules, which load slowly."""

import http.client
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

_CONNECTIONS: dict[str, type[http.client.HTTPConnection]] = {
    "http": http.client.HTTPConnection,
    "https": http.client.HTTPSConnection,
}


class NoResponse(Exception):
    """The server cannot be reached or sent no HTTP response; the message is the reason."""


class IdleConnections:
    """Idle connections to one server; later requests of any thread use them again."""

    def __init__(self) -> None:
        self._idle: list[tuple[int, http.client.HTTPConnection]] = []

    def take(self) -> http.client.HTTPConnection | None:
        # IndexError: there is none, or another thread has taken the last one.
        with suppress(IndexError):
            while True:
                process, connection = self._idle.pop()
                if process == os.getpid():
                    return connection
                # It belongs to the process that forked this one.
                connection.close()
        return None

    def put(self, connection: http.client.HTTPConnection) -> None:
        self._idle.append((os.getpid(), connection))

    def close(self) -> None:
        while (connection := self.take()) is not None:
            connection.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockingRequest:
    """A request; `path` is sent verbatim. Of the response at most `max_bytes` are read.

    Without `idle_connections`, it has its own connection.
    """

    base_url: str
    path: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    timeout_s: float
    max_bytes: int | None = None
    idle_connections: IdleConnections | None = None

    def send(self) -> tuple[int, bytes]:
        """Return the status and the body. Raises NoResponse."""
        kept = None if self.idle_connections is None else self.idle_connections.take()
        connection = kept or self._connection()
        is_reusable = False
        try:
            try:
                response = self._response(connection)
            except ConnectionError:
                if kept is None:
                    raise
                # The server closed it while it was idle.
                connection.close()
                response = self._response(connection)
            body = response.read(self.max_bytes)
            is_reusable = response.isclosed() and not response.will_close
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise NoResponse(reason) from None
        finally:
            if self.idle_connections is not None and is_reusable:
                self.idle_connections.put(connection)
            else:
                connection.close()
        return response.status, body

    def _connection(self) -> http.client.HTTPConnection:
        url = urlsplit(self.base_url)
        return _CONNECTIONS[url.scheme](url.hostname or "", url.port, timeout=self.timeout_s)

    def _response(self, connection: http.client.HTTPConnection) -> http.client.HTTPResponse:
        path = f"{urlsplit(self.base_url).path}{self.path}"
        connection.request(self.method, path, self.body, dict(self.headers))
        return connection.getresponse()
