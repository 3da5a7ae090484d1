"""How a service is asked: patiently, and neither too often nor without end."""

from emulator.clock import Wall, pause
from emulator.verify.answers import Answer, Request
from emulator.verify.wire import NoAnswer, NoConnection, Wire

LONGEST_PATIENCE_MS = 60_000
MOST_WAITS = 20
MOST_LOST = 3

_TOO_MANY_REQUESTS = 429
_TOO_OFTEN = f"429 came, and waiting for {LONGEST_PATIENCE_MS // 1_000} s in all was not enough"


class Unreachable(Exception):
    """The service is not there, or not there any more; the message is a line for the user."""


class CannotSee(Exception):
    """A check cannot go on; the message is its reason, for the report."""


class Client:
    """Asks one service; `answers` are all that it gave, the oldest first.

    A 429 is waited out for as long as `Retry-After` says, but for a minute in all; a 5xx is asked
    once more, as the contract wants it.
    """

    def __init__(self, wire: Wire, *, wall: Wall) -> None:
        self.base_url = wire.base_url
        self.answers: list[Answer] = []
        self._wire = wire
        self._wall = wall
        self._patience_ms = LONGEST_PATIENCE_MS
        self._is_impatient = False
        self.lost_count = 0

    async def ask(self, request: Request) -> Answer:
        """Raises Unreachable; CannotSee where no whole answer comes, or 429 again and again."""
        if self._is_impatient:
            raise CannotSee(_TOO_OFTEN)
        has_failed = False
        for _ in range(MOST_WAITS):
            answer = await self._exchange(request)
            self.answers.append(answer)
            if answer.status == _TOO_MANY_REQUESTS:
                await self._wait(answer)
            elif answer.status >= 500 and not has_failed:
                has_failed = True
            else:
                return answer
        self._is_impatient = True
        raise CannotSee(_TOO_OFTEN)

    async def _wait(self, answer: Answer) -> None:
        seconds = retry_after_s(answer)
        wait_ms = 1_000 if seconds is None else 1_000 * seconds
        if wait_ms > self._patience_ms:
            # From here on nothing is asked, since it would only be refused.
            self._is_impatient = True
            raise CannotSee(_TOO_OFTEN)
        self._patience_ms -= wait_ms
        await pause(self._wall, wait_ms)

    async def _exchange(self, request: Request) -> Answer:
        try:
            return await self._wire.send(request)
        except NoConnection as error:
            raise Unreachable(f"cannot reach {self.base_url}: {error}") from None
        except NoAnswer as error:
            self.lost_count += 1
            if self.lost_count >= MOST_LOST:
                raise Unreachable(
                    f"{self.base_url} does not answer: {error}, {MOST_LOST} times"
                ) from None
            raise CannotSee(str(error)) from None


def retry_after_s(answer: Answer) -> int | None:
    """The seconds of `Retry-After` (contract, sections 7 and 8); None where it has none."""
    text = answer.headers.get("retry-after", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
