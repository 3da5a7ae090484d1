"""How a service is asked: what is waited for, and when it is given up."""

import pytest

from emulator.verify.answers import Answer, Request
from emulator.verify.client import (
    LONGEST_PATIENCE_MS,
    MOST_LOST,
    MOST_WAITS,
    CannotSee,
    Client,
    Unreachable,
)
from emulator.verify.wire import NoAnswer, NoConnection
from tests.verify.runs import ImpatientWall
from tests.world import ManualWall

ASKED = Request(key="test_key")


class Service:
    """A wire that answers in turn, the last answer again and again; an error is raised."""

    base_url = "http://service.test"

    def __init__(self, *answers: Answer | Exception) -> None:
        self._answers = list(answers)
        self.asked = 0

    async def send(self, _: Request) -> Answer:
        self.asked += 1
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


class Asking:
    """A client of a service, and how long it has waited."""

    def __init__(self, *answers: Answer | Exception) -> None:
        self.service = Service(*answers)
        self.wall = ImpatientWall(ManualWall())
        self.client = Client(self.service, wall=self.wall)

    async def ask(self) -> int:
        return (await self.client.ask(ASKED)).status


def answered(status: int, **headers: str) -> Answer:
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return Answer(request=ASKED, status=status, headers=named, body=b"{}")


OK = answered(200)


async def test_a_429_is_waited_out_as_long_as_it_says() -> None:
    it = Asking(answered(429, retry_after="3"), answered(429, retry_after="0"), OK)
    assert await it.ask() == 200
    assert it.wall.waits_ms == [3_000, 0]
    assert [one.status for one in it.client.answers] == [429, 429, 200]


@pytest.mark.parametrize("text", [None, "", "soon", "-1", "1.5", "²", "9" * 5_000])
async def test_a_429_that_does_not_say_how_long_is_waited_out_for_a_second(
    text: str | None,
) -> None:
    it = Asking(answered(429) if text is None else answered(429, retry_after=text), OK)
    assert await it.ask() == 200
    assert it.wall.waits_ms == [1_000]


async def test_nobody_waits_for_more_than_a_minute_in_all() -> None:
    it = Asking(answered(429, retry_after="25"))
    with pytest.raises(CannotSee, match="waiting for 60 s in all was not enough"):
        await it.ask()
    assert sum(it.wall.waits_ms) == 50_000 <= LONGEST_PATIENCE_MS
    asked = it.service.asked
    with pytest.raises(CannotSee, match="429"):
        await it.ask()
    assert it.service.asked == asked, "what is refused is not asked again and again"


async def test_nobody_asks_without_end() -> None:
    it = Asking(answered(429, retry_after="0"))
    with pytest.raises(CannotSee, match="429"):
        await it.ask()
    assert it.service.asked == MOST_WAITS


async def test_a_server_error_is_asked_once_more() -> None:
    it = Asking(answered(503), OK)
    assert await it.ask() == 200
    it = Asking(answered(503))
    assert await it.ask() == 503
    assert it.service.asked == 2


async def test_what_is_not_answered_cannot_be_seen_and_then_nobody_is_there() -> None:
    it = Asking(NoAnswer("it was cut"))
    for _ in range(MOST_LOST - 1):
        with pytest.raises(CannotSee, match="it was cut"):
            await it.ask()
    with pytest.raises(Unreachable) as raised:
        await it.ask()
    assert str(raised.value) == "http://service.test does not answer: it was cut, 3 times"
    assert it.client.answers == []


async def test_where_nobody_listens_nobody_asks_again() -> None:
    it = Asking(NoConnection("refused"))
    with pytest.raises(Unreachable) as raised:
        await it.ask()
    assert str(raised.value) == "cannot reach http://service.test: refused"
    assert it.service.asked == 1
