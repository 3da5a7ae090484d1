"""Calls that replay needs outside of a case: the health check and the recording of an account."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from emulator.http.addresses import BaseUrl
    from emulator.http.client import HttpClient, HttpResponse

PAYMENTS = "/v1/payments"
CONTROL = "/_emulator"
YAML = "application/yaml"
# The maximum number of entries that a list of the control API returns.
MAX_ENTRIES = 1_000
# A server that needs longer is not an emulator.
MAX_HEALTH_CHECK_S = 10


class RecordingUnavailable(Exception):
    """The emulator returns no recording; the message is one line for the user."""


async def find_emulator(client: "HttpClient") -> str:
    """The address of this machine that the emulator sees. Raises Unreachable."""
    from emulator.http.client import Unreachable

    path = f"{CONTROL}/health"
    async with client.with_key(None) as connection:
        response = await connection.request("GET", path, timeout_s=MAX_HEALTH_CHECK_S)
    has_version = isinstance(response.member("version"), str)
    if response.status != 200 or response.member("status") != "ok" or not has_version:
        seen = response.failure or f"status {response.status}"
        raise Unreachable(f"no emulator responds at {client.base_url}: {seen} from {path}")
    return connection.local_host


async def fetch_recording(base_url: "BaseUrl", key: str | None) -> str:
    """An account's history as YAML. Raises RecordingUnavailable, Unreachable."""
    from emulator.http.client import HttpClient

    client = HttpClient(base_url, key=key)
    await find_emulator(client)
    async with client:
        response = await client.request("GET", f"{CONTROL}/recording")
    if response.failure is not None:
        raise RecordingUnavailable(f"no recording received from {base_url}: {response.failure}")
    problem = None
    if response.status != 200:
        problem = response.error.get("message") or f"status {response.status}"
    elif (response.header("content-type") or "").partition(";")[0] != YAML:
        problem = "the response is not YAML"
    if problem is not None:
        raise RecordingUnavailable(f"{base_url} returned no recording: {problem}")
    return response.body.decode("utf-8", "replace")


def refusal_text(response: "HttpResponse") -> str:
    """The status of a refusal, and its error code if it has one."""
    code = response.error.get("code")
    return f"{response.status} {code}" if code and isinstance(code, str) else str(response.status)


def full_refusal_text(response: "HttpResponse") -> str:
    """The status, the error code, the field and the message of a refusal."""
    if response.failure is not None:
        return f"no response: {response.failure}"
    param, message = response.error.get("param"), response.error.get("message")
    text = refusal_text(response) + (f" ({param})" if param else "")
    return f"{text}: {message}" if message else text


def is_replay(response: "HttpResponse") -> bool:
    """Whether the response repeats an earlier one because of its idempotency key."""
    return response.header("idempotent-replayed") == "true"
