"""HTTP client, also of an emulator, without asyncio and third-party modules, which load slowly."""

import http.client
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from .emulator_calls import MAX_RESPONSE_S, EmulatorCall
from .failures import NotHttp, RequestStage, explain_failure
from .response import HttpResponse, timed_out

_CONNECTIONS: dict[str, type[http.client.HTTPConnection]] = {
    "http": http.client.HTTPConnection,
    "https": http.client.HTTPSConnection,
}
# Pytest shows the line of the test instead.
__tracebackhide__ = True

T = TypeVar("T")


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

    def send(self) -> HttpResponse:
        """Return the response; every failure is one, too."""
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
            return self._failed(error)
        finally:
            if self.idle_connections is not None and is_reusable:
                self.idle_connections.put(connection)
            else:
                connection.close()
        headers = [(name.lower(), value) for name, value in response.getheaders()]
        return HttpResponse(status=response.status, headers=headers, body=body)

    def _failed(self, error: Exception) -> HttpResponse:
        if isinstance(error, TimeoutError):
            return timed_out(self.timeout_s)
        is_connected = isinstance(error, ConnectionError)
        if isinstance(error, http.client.BadStatusLine) and not is_connected:
            error = NotHttp()
        stage = RequestStage.AWAITING_RESPONSE if is_connected else RequestStage.CONNECTING
        host = urlsplit(self.base_url).hostname or ""
        return HttpResponse(failure=explain_failure(error, host=host, stage=stage)[1])

    def _connection(self) -> http.client.HTTPConnection:
        url = urlsplit(self.base_url)
        return _CONNECTIONS[url.scheme](url.hostname or "", url.port, timeout=self.timeout_s)

    def _response(self, connection: http.client.HTTPConnection) -> http.client.HTTPResponse:
        path = f"{urlsplit(self.base_url).path}{self.path}"
        connection.request(self.method, path, self.body, dict(self.headers))
        return connection.getresponse()


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockingEmulator:
    """Calls one emulator, with or without an API key.

    `log` is the log file of an emulator on this machine.
    """

    base_url: str
    key: str | None = None
    log: Path | None = None
    timeout_s: float = MAX_RESPONSE_S
    idle_connections: IdleConnections | None = None

    def call(self, call: EmulatorCall[T]) -> T:
        """The result of a call. Raises PaymentsEmulatorError."""
        headers, body = call.encode(self.key)
        request = BlockingRequest(
            base_url=self.base_url,
            path=call.path,
            method=call.method,
            headers=headers,
            body=body or None,
            timeout_s=self.timeout_s,
            idle_connections=self.idle_connections,
        )
        response = request.send()
        if response.failure is not None and self.log is not None:
            response = replace(response, failure=f"{response.failure}; see its log {self.log}")
        return call.result(response, self.base_url)
