"""How one asks from outside whether the server answers: the container's health check."""

import http.client

PATH = "/_emulator/health"
TIMEOUT_S = 2.0
MAX_BODY_CHARACTERS = 1_000
# Where a server that listens on every address can be reached.
_REACHABLE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - nothing is bound


class NotHealthy(Exception):
    """There is no answer, or not the right one; the message is one line for the user."""


def check_health(host: str, port: int) -> None:
    """Ask once, for two seconds. Raises NotHealthy."""
    host = _REACHABLE.get(host, host)
    url = f"http://{f'[{host}]' if ':' in host else host}:{port}{PATH}"
    connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)
    try:
        connection.request("GET", PATH)
        response = connection.getresponse()
        status, body = response.status, response.read(MAX_BODY_CHARACTERS)
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise NotHealthy(f"no answer from {url}: {reason}") from None
    finally:
        connection.close()
    if status != http.client.OK:
        raise NotHealthy(f"{url} answers {status}, not 200")
    if b'"status":"ok"' not in body:
        raise NotHealthy(f"{url} answers, but is no payments emulator")
