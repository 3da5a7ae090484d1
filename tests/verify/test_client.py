"""How a service is asked: what is waited for, and when it is given up."""

import asyncio

import pytest

from emulator.verify.answers import Answer, Request
from emulator.verify.client import (
    MAX_LOST_RESPONSES,
    MAX_TOTAL_WAIT_S,
    CannotSee,
    Client,
    RateLimited,
    Unreachable,
)
from emulator.verify.transport import NoAnswer, NoConnection
from tests.verify.runs import ImpatientWall
from tests.world import ManualClock

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
        self.wall = ImpatientWall(ManualClock())
        self.told: list[int] = []
        self.client = Client(self.service, wall=self.wall, tell=self.told.append)

    async def ask(self) -> int:
        return (await self.client.ask(ASKED)).status


def answered(status: int, **headers: str) -> Answer:
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return Answer(request=ASKED, status=status, headers=named, body=b"{}")


OK = answered(200)


async def test_a_429_is_waited_out_as_long_as_it_says() -> None:
    it = Asking(answered(429, retry_after="3"), answered(429, retry_after="1"), OK)
    assert await it.ask() == 200
    assert it.wall.waits_ms == [3_000, 1_000]
    assert [one.status for one in it.client.answers] == [429, 429, 200]
    assert it.client.refusal is None


async def test_it_tells_that_it_waits_and_when_that_is_over() -> None:
    it = Asking(answered(429, retry_after="12"), answered(429, retry_after="2"), OK)
    await it.ask()
    assert it.told == [12, 0, 2, 0]


@pytest.mark.parametrize("text", [None, "", "0", "0.0", "soon", "-1", "1.", "²", "9" * 5_000])
async def test_a_429_that_does_not_say_how_long_is_waited_out_for_a_second(
    text: str | None,
) -> None:
    it = Asking(answered(429) if text is None else answered(429, retry_after=text), OK)
    assert await it.ask() == 200
    assert it.wall.waits_ms == [1_000]


@pytest.mark.parametrize(("text", "seconds"), [("0.5", 1), ("1.5", 2), ("2.0", 2), ("2.001", 3)])
async def test_a_fraction_of_a_second_is_rounded_up(text: str, seconds: int) -> None:
    it = Asking(answered(429, retry_after=text), OK)
    assert await it.ask() == 200
    assert it.wall.waits_ms == [1_000 * seconds]


@pytest.mark.parametrize("retry_after", ["0", "1", "2", "20", "60"])
async def test_a_minute_in_all_is_waited_and_then_it_is_given_up(retry_after: str) -> None:
    it = Asking(answered(429, retry_after=retry_after))
    with pytest.raises(RateLimited) as raised:
        await it.ask()
    assert str(raised.value) == "429 came again after waiting for 60 s in all"
    assert sum(it.wall.waits_ms) == 1_000 * MAX_TOTAL_WAIT_S
    assert it.service.asked == len(it.wall.waits_ms) + 1


async def test_a_wait_that_is_longer_than_what_is_left_is_not_begun() -> None:
    it = Asking(answered(429, retry_after="25"))
    with pytest.raises(RateLimited) as raised:
        await it.ask()
    assert (
        str(raised.value)
        == "429 came and asked to wait 25 s, and of 60 s in all only 10 s were left"
    )
    assert it.wall.waits_ms == [25_000, 25_000]


async def test_a_wait_of_more_than_a_minute_is_not_begun() -> None:
    it = Asking(answered(429, retry_after="61"))
    with pytest.raises(RateLimited, match="asked to wait 61 s, and of 60 s in all only 60 s"):
        await it.ask()
    assert (it.wall.waits_ms, it.told) == ([], [])


async def test_what_is_refused_is_not_asked_again_and_again() -> None:
    it = Asking(answered(429, retry_after="61"), OK)
    for _ in range(2):
        with pytest.raises(RateLimited, match="asked to wait 61 s"):
            await it.ask()
    assert it.service.asked == 1


async def test_two_who_are_refused_at_once_do_not_wait_the_same_second_twice() -> None:
    """Else a minute in all would be over in less of it."""
    it = Asking(*[answered(429, retry_after="20")] * 2, OK)
    wall = ManualClock()
    client = Client(it.service, wall=wall, tell=it.told.append)
    both = asyncio.gather(client.ask(ASKED), client.ask(ASKED))
    for _ in range(2):
        await wall.waited_for()
        assert it.told[-1] == 20
        wall.move(20_000)
    assert [one.status for one in await both] == [200, 200]
    assert it.told == [20, 0, 20, 0]


async def test_a_server_error_is_asked_once_more() -> None:
    it = Asking(answered(503), OK)
    assert await it.ask() == 200
    it = Asking(answered(503))
    assert await it.ask() == 503
    assert it.service.asked == 2


async def test_what_is_not_answered_cannot_be_seen_and_then_nobody_is_there() -> None:
    it = Asking(NoAnswer("it was cut"))
    for _ in range(MAX_LOST_RESPONSES - 1):
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
