"""How an account's history is fetched as a script."""

from emulator.replay.client import Address, Client
from emulator.replay.health_check import find_emulator

RECORDING = "/_emulator/recording"
_YAML = "application/yaml"


class NoRecording(Exception):
    """The emulator gives none; the message is one line for the user."""


async def fetch_recording(address: Address, key: str | None) -> str:
    """The YAML of an account's history. Raises NoRecording, Unreachable."""
    client = Client(address)
    await find_emulator(client)
    async with client.connection(key=key) as connection:
        answer = await connection.ask("GET", RECORDING)
    if answer.lost is not None:
        raise NoRecording(f"no recording came from {address}: {answer.lost}")
    if answer.status != 200:
        told = answer.error.get("message") or f"status {answer.status}"
        raise NoRecording(f"{address} gives no recording: {told}")
    if answer.headers.get("content-type", "").partition(";")[0] != _YAML:
        raise NoRecording(f"{address} gives no recording: what came is no YAML")
    return answer.body.decode("utf-8", "replace")
