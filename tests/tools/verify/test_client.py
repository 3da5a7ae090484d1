"""The client waits after a 429, retries a 5xx once and gives up on lost responses."""

import asyncio

import pytest

from emulator.http.client import NoConnection
from emulator.tools.verify.client import (
    MAX_LOST_RESPONSES,
    MAX_TOTAL_WAIT_S,
    CheckStopped,
    LostResponse,
    RateLimited,
    ServiceClient,
    ServiceRequest,
    ServiceResponse,
    Unreachable,
)
from tests.tools.verify.runs import ImpatientClock
from tests.world import ManualClock

REQUEST = ServiceRequest(key="test_key")


def response(status: int, retry_after: str | None = None) -> ServiceResponse:
    headers = {} if retry_after is None else {"retry-after": retry_after}
    return ServiceResponse(request=REQUEST, status=status, headers=headers, body=b"{}")


OK = response(200)


class FakeTransport:
    """Returns or raises the outcomes in turn, the last one for ever."""

    base_url = "http://service.test"

    def __init__(self, *outcomes: ServiceResponse | Exception) -> None:
        self._outcomes = list(outcomes)
        self.request_count = 0

    async def send(self, _: ServiceRequest) -> ServiceResponse:
        self.request_count += 1
        outcome = self._outcomes.pop(0) if len(self._outcomes) > 1 else self._outcomes[0]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


class Requests:
    """A client of a fake transport, with a record of its waits."""

    def __init__(self, *outcomes: ServiceResponse | Exception) -> None:
        self.transport = FakeTransport(*outcomes)
        self.clock = ImpatientClock(ManualClock())
        self.reported_s: list[int] = []
        self.client = ServiceClient(
            self.transport, wall=self.clock, report_wait=self.reported_s.append
        )

    async def send(self) -> int:
        return (await self.client.send(REQUEST)).status


async def test_a_429_is_retried_after_the_named_seconds_and_each_wait_is_reported() -> None:
    requests = Requests(response(429, "3"), response(429, "1"), OK)
    assert await requests.send() == 200
    assert requests.clock.waits_ms == [3_000, 1_000]
    assert requests.reported_s == [3, 0, 1, 0]
    assert [each.status for each in requests.client.responses] == [429, 429, 200]
    assert requests.client.refusal is None


@pytest.mark.parametrize(
    ("retry_after", "seconds"),
    [
        *((text, 1) for text in (None, "", "0", "0.0", "soon", "-1", "1.", "²", "9" * 5_000)),
        *(("0.5", 1), ("1.5", 2), ("2.0", 2), ("2.001", 3)),
    ],
)
async def test_a_wait_is_a_whole_number_of_seconds_and_at_least_one(
    retry_after: str | None, seconds: int
) -> None:
    requests = Requests(response(429, retry_after), OK)
    assert await requests.send() == 200
    assert requests.clock.waits_ms == [1_000 * seconds]


@pytest.mark.parametrize("retry_after", ["0", "1", "2", "20", "60"])
async def test_the_client_waits_a_minute_in_total(retry_after: str) -> None:
    requests = Requests(response(429, retry_after))
    with pytest.raises(RateLimited) as raised:
        await requests.send()
    assert str(raised.value) == "429 was returned again after a wait of 60 s in total"
    assert sum(requests.clock.waits_ms) == 1_000 * MAX_TOTAL_WAIT_S
    assert requests.transport.request_count == len(requests.clock.waits_ms) + 1


@pytest.mark.parametrize(
    ("retry_after", "waits_ms", "left_s"), [("25", [25_000, 25_000], 10), ("61", [], 60)]
)
async def test_a_wait_beyond_the_minute_is_not_begun(
    retry_after: str, waits_ms: list[int], left_s: int
) -> None:
    requests = Requests(response(429, retry_after))
    with pytest.raises(RateLimited) as raised:
        await requests.send()
    assert str(raised.value) == (
        f"429 requires a wait of {retry_after} s, but only {left_s} s of 60 s are left"
    )
    assert requests.clock.waits_ms == waits_ms
    assert len(requests.reported_s) == 2 * len(waits_ms)
    # After a refusal no request is sent.
    with pytest.raises(RateLimited, match=str(raised.value)):
        await requests.send()
    assert requests.transport.request_count == len(waits_ms) + 1


async def test_concurrent_waits_follow_each_other() -> None:
    """Otherwise a second of waiting would count twice."""
    requests = Requests(*[response(429, "20")] * 2, OK)
    clock = ManualClock()
    client = ServiceClient(requests.transport, wall=clock, report_wait=requests.reported_s.append)
    both = asyncio.gather(client.send(REQUEST), client.send(REQUEST))
    for _ in range(2):
        await clock.waited_for()
        assert requests.reported_s[-1] == 20
        clock.move(20_000)
    assert [each.status for each in await both] == [200, 200]
    assert requests.reported_s == [20, 0, 20, 0]


@pytest.mark.parametrize(("second", "status"), [(OK, 200), (response(503), 503)])
async def test_a_server_error_is_retried_once(second: ServiceResponse, status: int) -> None:
    requests = Requests(response(503), second, OK)
    assert await requests.send() == status
    assert requests.transport.request_count == 2


async def test_a_lost_response_stops_its_check_and_several_end_the_run() -> None:
    requests = Requests(LostResponse("it was cut"))
    for _ in range(MAX_LOST_RESPONSES - 1):
        with pytest.raises(CheckStopped, match="it was cut"):
            await requests.send()
    with pytest.raises(Unreachable) as raised:
        await requests.send()
    assert str(raised.value) == "http://service.test does not respond: it was cut, 3 times"
    assert requests.client.responses == []


async def test_a_missing_connection_is_not_retried() -> None:
    requests = Requests(NoConnection("refused"))
    with pytest.raises(Unreachable) as raised:
        await requests.send()
    assert str(raised.value) == "cannot reach http://service.test: refused"
    assert requests.transport.request_count == 1
