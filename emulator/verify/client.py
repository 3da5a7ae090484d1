"""How a service is asked: patiently, and neither too often nor without end."""

import asyncio
import re
from collections.abc import Callable
from math import ceil

from emulator.clock import SystemClock, pause
from emulator.verify.answers import Answer, Request
from emulator.verify.transport import NoAnswer, NoConnection, Wire

MAX_TOTAL_WAIT_S = 60
# Of a 429 that does not say how long, or that says 0: so that waiting comes to an end.
SHORTEST_WAIT_S = 1
MAX_LOST_RESPONSES = 3

_TOO_MANY_REQUESTS = 429
_NUMBER = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?", re.ASCII)


class Unreachable(Exception):
    """The service is not there, or not there any more; the message is a line for the user."""


class CannotSee(Exception):
    """A check cannot go on; the message is its reason, for the report."""


class RateLimited(CannotSee):
    """The service said 429, and there is no patience left to wait it out."""


class Client:
    """Asks one service; `answers` are all that it gave, the oldest first.

    A 429 is waited out for as long as `Retry-After` says, but for a minute in all; a 5xx is asked
    once more, as the contract wants it. `refusal` is why nothing is asked any more, if so.
    `tell` hears how many seconds are waited now, and 0 when that is over.
    """

    def __init__(
        self, wire: Wire, *, wall: SystemClock, tell: Callable[[int], None] | None = None
    ) -> None:
        self.base_url = wire.base_url
        self.answers: list[Answer] = []
        self.refusal: str | None = None
        self.lost_count = 0
        self._wire = wire
        self._wall = wall
        self._tell = tell
        self._patience_s = MAX_TOTAL_WAIT_S
        # Two who wait wait one after the other, so that no second is counted twice.
        self._waiting = asyncio.Lock()

    async def ask(self, request: Request) -> Answer:
        """Raises Unreachable; CannotSee where no whole answer comes, RateLimited among it."""
        self._check_is_welcome()
        has_failed = False
        # It ends: each 429 takes of the patience, and a 5xx is asked again but once.
        while True:
            answer = await self._exchange(request)
            self.answers.append(answer)
            if answer.status == _TOO_MANY_REQUESTS:
                await self._wait(answer)
            elif answer.status >= 500 and not has_failed:
                has_failed = True
            else:
                return answer

    def _check_is_welcome(self) -> None:
        """From a refusal on nothing is asked, since it would only be refused."""
        if self.refusal is not None:
            raise RateLimited(self.refusal)

    async def _wait(self, answer: Answer) -> None:
        seconds = max(ceil(retry_after_s(answer) or 0), SHORTEST_WAIT_S)
        async with self._waiting:
            self._check_is_welcome()
            if seconds > self._patience_s:
                self.refusal = _refusal(seconds, left_s=self._patience_s)
                raise RateLimited(self.refusal)
            self._patience_s -= seconds
            await self._pause(seconds)

    async def _pause(self, seconds: int) -> None:
        tell = self._tell or (lambda _: None)
        tell(seconds)
        try:
            await pause(self._wall, 1_000 * seconds)
        finally:
            tell(0)

    async def _exchange(self, request: Request) -> Answer:
        try:
            return await self._wire.send(request)
        except NoConnection as error:
            raise Unreachable(f"cannot reach {self.base_url}: {error}") from None
        except NoAnswer as error:
            self.lost_count += 1
            if self.lost_count >= MAX_LOST_RESPONSES:
                raise Unreachable(
                    f"{self.base_url} does not answer: {error}, {MAX_LOST_RESPONSES} times"
                ) from None
            raise CannotSee(str(error)) from None


def _refusal(asked_s: int, *, left_s: int) -> str:
    """Why a 429 is not waited out."""
    in_all = f"{MAX_TOTAL_WAIT_S} s in all"
    if left_s == 0:
        return f"429 came again after waiting for {in_all}"
    return f"429 came and asked to wait {asked_s} s, and of {in_all} only {left_s} s were left"


def retry_after_s(answer: Answer) -> float | None:
    """The number of seconds in `Retry-After` (contract, sections 7 and 8); None without one."""
    text = answer.headers.get("retry-after", "")
    return float(text) if _NUMBER.fullmatch(text) else None
