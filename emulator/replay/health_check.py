"""That an emulator is there, before anything else is asked of it."""

from emulator.replay.client import Client, Unreachable

HEALTH = "/_emulator/health"
# Whoever takes longer is none of ours, or waits for us to speak first.
MAX_CHECK_S = 10


async def find_emulator(client: Client) -> str:
    """The address of this machine that the emulator can reach. Raises Unreachable."""
    async with client.connection() as connection:
        answer = await connection.ask("GET", HEALTH, within_s=MAX_CHECK_S)
    is_ours = answer.member("status") == "ok" and isinstance(answer.member("version"), str)
    if answer.status != 200 or not is_ours:
        found = answer.lost or f"status {answer.status}"
        raise Unreachable(f"no emulator answers at {client.address}: {found} from {HEALTH}")
    return connection.local_host
