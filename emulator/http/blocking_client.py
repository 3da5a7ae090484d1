"""Sends one request without asyncio and without third-party modules, which load slowly."""

import http.client
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

_CONNECTIONS = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}


class NoResponse(Exception):
    """The server cannot be reached or sent no HTTP response; the message is the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockingRequest:
    """A request; `path` is sent verbatim. Of the response at most `max_bytes` are read."""

    base_url: str
    path: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    timeout_s: float
    max_bytes: int | None = None

    def send(self) -> tuple[int, bytes]:
        """Return the status and the body. Raises NoResponse.

        Each request has its own connection, so that several threads may send.
        """
        url = urlsplit(self.base_url)
        connection = _CONNECTIONS[url.scheme](url.hostname or "", url.port, timeout=self.timeout_s)
        try:
            connection.request(self.method, f"{url.path}{self.path}", self.body, dict(self.headers))
            response = connection.getresponse()
            return response.status, response.read(self.max_bytes)
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise NoResponse(reason) from None
        finally:
            connection.close()
