"""Requests the health of a server from outside, for the container's health check."""

from emulator.http.addresses import host_with_port
from emulator.http.blocking_client import BlockingRequest, NoResponse

PATH = "/_emulator/health"
TIMEOUT_S = 2.0
MAX_BODY_BYTES = 1_000
# The addresses at which a server that listens on all addresses is reached.
_REACHABLE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - nothing is bound


class NotHealthy(Exception):
    """No response, or not that of a healthy emulator; the message is one line for the user."""


def check_health(host: str, port: int) -> None:
    """Send one request. Raises NotHealthy."""
    base_url = f"http://{host_with_port(_REACHABLE.get(host, host), port)}"
    url = f"{base_url}{PATH}"
    request = BlockingRequest(
        base_url=base_url, path=PATH, timeout_s=TIMEOUT_S, max_bytes=MAX_BODY_BYTES
    )
    try:
        status, body = request.send()
    except NoResponse as error:
        raise NotHealthy(f"no response from {url}: {error}") from None
    if status != 200:
        raise NotHealthy(f"{url} returned {status}; expected 200")
    if b'"status":"ok"' not in body:
        raise NotHealthy(f"{url} is not the address of a payments emulator")
