"""How an account's history is fetched as a script."""

from emulator.replay.client import Address, Connection

RECORDING = "/_emulator/recording"


class NoRecording(Exception):
    """The emulator gives none; the message is one line for the user."""


async def fetch_recording(address: Address, key: str | None) -> str:
    """The YAML of an account's history. Raises NoRecording, Unreachable."""
    connection = Connection(address, key=key)
    try:
        answer = await connection.ask("GET", RECORDING)
    finally:
        connection.close()
    if answer.lost is not None:
        raise NoRecording(f"no recording came from {address}: {answer.lost}")
    if answer.status != 200:
        told = answer.error.get("message") or f"status {answer.status}"
        raise NoRecording(f"{address} gives no recording: {told}")
    return answer.body.decode("utf-8", "replace")
