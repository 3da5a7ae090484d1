"""One request to whatever is at an address: its answer, or in a few words why there is none."""

import asyncio
import json
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module

from emulator.clock import SystemClock
from emulator.http.failures import RequestStage, explain_failure
from emulator.http.name_lookup import ip_addresses
from emulator.replay.client import Address, Answer, Client, Unreachable

CONTROL = "/_emulator"
HEALTH = f"{CONTROL}/health"
ACCOUNTS = f"{CONTROL}/accounts"
MAX_SHOWN_CHARACTERS = 60

_NAMING_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """What is at an address, asked as the owner of a key or as nobody in particular."""

    address: Address
    within_s: float
    key: str | None = None

    async def ask(self, method: str, path: str, value: object = None) -> Answer:
        """One request on a connection of its own.

        Whatever the network does is no exception: `lost` says why there is no answer.
        """
        body = b"" if value is None else json.dumps(value).encode()
        try:
            async with asyncio.timeout(self.within_s):
                # Asked first, since this does not hold up the end of the program.
                await ip_addresses(self.address.host.encode("ascii"))
                async with Client(self.address).connection(key=self.key) as connection:
                    return await connection.ask(method, path, body)
        except TimeoutError:
            return Answer(lost=f"no answer within {self.within_s:g} s")
        except (Unreachable, OSError, UnicodeError) as error:
            return Answer(lost=self._why(error))

    def _why(self, error: Exception) -> str:
        stage = RequestStage.CONNECTING
        return explain_failure(error, host=self.address.host, stage=stage).phrase


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long an answer is waited for, and the clock that measures how long it took.

    `try_s` is for whoever may be at an address; an emulator that has answered may take longer,
    since it loads what it needs when it is first asked for it, and so may a handler.
    """

    wall: SystemClock
    try_s: float = 2.0
    answer_s: float = 5.0

    def stranger(self, address: Address) -> Server:
        return Server(address=address, within_s=self.try_s)

    def emulator(self, address: Address) -> Server:
        return Server(address=address, within_s=self.answer_s)


def load_client() -> None:
    """Load what makes requests, which else the first answer would have to wait for."""
    for name in ("certifi", "httpx", "httpcore", "anyio._backends._asyncio"):
        with suppress(ImportError):
            import_module(name)


async def ips_of(host: str) -> list[str]:
    """The addresses of a name; none where nobody knows it in time."""
    try:
        async with asyncio.timeout(_NAMING_S):
            return await ip_addresses(host.encode("ascii"))
    except (OSError, UnicodeError):  # of which TimeoutError is one
        return []


def told(answer: Answer) -> str:
    """What an answer was, in a few words."""
    if answer.lost is not None:
        return answer.lost
    if "code" in answer.error:
        return f"{answer.status} {answer.error['code']}"[:MAX_SHOWN_CHARACTERS]
    named = (("Server", answer.headers.get("server")), ("", answer.headers.get("content-type")))
    words = [f"{name}: {value}".removeprefix(": ") for name, value in named if value]
    return ", ".join((str(answer.status), *words))[:MAX_SHOWN_CHARACTERS]
