"""Random valid and hostile requests, on connections without sockets."""

import asyncio
import json
import logging
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from random import Random  # noqa: TID251 - what is drawn follows from a seed

import uvloop

from emulator.clock import RealClock
from emulator.server.app.connection import KEEP_ALIVE_MS
from tests.cli.processes import HANGS_AFTER_S
from tests.long_runs.control_requests import control_request
from tests.long_runs.spoiled_requests import FRAMED, UNFRAMED
from tests.server.api.calls import CODES
from tests.server.app.connection import Connection, WireResponse, read_responses
from tests.server.app.drawn_requests import (
    KINDS,
    ValidRequest,
    conversation,
    cut,
    pauses,
)
from tests.world import LIVE_KEY, OTHER_TEST_KEY, TEST_KEY, World, world

UNIT = "requests"
COUNT = 1_000_000
CONTROL_STATUSES = {200, 201, 202, 204, 400, 403, 404, 409}
KEYS = (TEST_KEY, LIVE_KEY, OTHER_TEST_KEY)
# The status of each response, and its error code.
Codes = list[tuple[int, str]]
# Of each world, before what it has stored is compared.
CONVERSATIONS = 100


def check_responses(
    received: bytes, expected: list[ValidRequest], is_tail_invalid: bool
) -> list[WireResponse]:
    """The responses are those of the requests, in their order, and of an invalid tail."""
    heads = [place for place, request in enumerate(expected) if request.is_head]
    responses = read_responses(received, to_head=heads)
    if is_tail_invalid and not expected[-1].ends_connection:
        last = responses.pop()
        assert last.status == 400
        assert json.loads(last.body)["error"]["code"] == "invalid_request_body"
    assert [response.status for response in responses] == [item.status for item in expected]
    for request, response in zip(expected, responses, strict=True):
        check_response(response, request)
    return responses


def check_response(response: WireResponse, request: ValidRequest) -> None:
    assert response.status == request.status
    assert b"request-id" in response.headers
    if request.members:
        body = json.loads(response.body)
        assert {name: body.get(name) for name in request.members} == request.members


def check_refusal(response: WireResponse) -> str:
    """A response to a hostile request has a form of the contract; its code."""
    assert response.status in {200, 201, 400, 401, 403, 404, 409}, response
    if response.status < 400:
        return ""
    error = json.loads(response.body)["error"]
    assert error.keys() <= {"code", "message", "param"}, error
    assert 0 < len(error["message"]) < 20_000, error
    assert CODES.get(error["code"], 403) == response.status, response
    return str(error["code"])


def is_refused_early(whole: Codes, in_packets: Codes) -> bool:
    """Whether a request was refused before the invalid part of its body had arrived."""
    last = {whole[-1], in_packets[-1]}
    is_other = whole[:-1] == in_packets[:-1] and (400, "invalid_request_body") in last
    return is_other and min(last)[0] >= 400


class Client:
    """Has conversations with one world, and compares what it stores."""

    def __init__(self, emulator: World, draws: Random, seen: Counter[str]) -> None:
        self.emulator = emulator
        self.draws = draws
        self.seen = seen
        self.created: set[str] = set()
        # The statuses of valid requests by key and identifier.
        self.journaled: dict[str, int] = {}

    async def have_valid_conversation(self) -> None:
        """Valid requests get their responses, whatever their packets and neighbours are."""
        drawn = conversation(self.draws)
        expected = drawn.answered()
        async with self._sent(drawn.packets) as client:
            assert client.is_closed == drawn.ends_connection
        responses = check_responses(bytes(client.transport.sent), expected, drawn.is_tail_invalid)
        self._note(responses)
        for request, response in zip(expected, responses, strict=True):
            if request.key is not None:
                name = f"{request.key} {response.headers[b'request-id'].decode()}"
                self.journaled[name] = request.status
        self.seen["valid"] += len(drawn.requests)

    async def have_framed_conversation(self) -> None:
        """A refused request does not affect the next one on its connection."""
        hostile = self.draws.choice(FRAMED)(self.draws)
        valid = self.draws.choice(KINDS)(self.draws)
        async with self._sent(cut(self.draws, hostile + valid.sent)) as client:
            assert client.is_closed == valid.ends_connection
        responses = client.responses(to_head=[1] if valid.is_head else [])
        assert len(responses) == 2, (hostile, responses)
        check_refusal(responses[0])
        check_response(responses[1], valid)
        self._note(responses)
        self.seen["hostile"] += 1
        self.seen["valid"] += 1

    async def have_unframed_conversation(self) -> None:
        """The responses do not depend on the packets, and the next client gets its response."""
        hostile = self.draws.choice(UNFRAMED)(self.draws)
        ending = self.draws.choice(["time", "end of file", "loss"])
        seen = [
            await self._codes(packets, ending) for packets in ((hostile,), cut(self.draws, hostile))
        ]
        assert seen[0] == seen[1] or is_refused_early(*seen), (hostile, seen)
        valid = self.draws.choice(KINDS)(self.draws)
        async with self._sent((valid.sent,)) as client:
            pass
        self._note(check_responses(bytes(client.transport.sent), [valid], is_tail_invalid=False))
        self.seen["hostile"] += 2
        self.seen["valid"] += 1

    async def _codes(self, packets: tuple[bytes, ...], ending: str) -> Codes:
        """Send something hostile; the statuses and codes of the responses."""
        async with self._sent(packets) as client:
            if ending == "end of file" and not client.is_closed:
                if not client.protocol.eof_received():
                    client.transport.close()
            elif ending == "loss":
                client.transport.close()
        responses = client.responses()
        self._note(responses)
        return [(response.status, check_refusal(response)) for response in responses]

    @asynccontextmanager
    async def _sent(self, packets: tuple[bytes, ...]) -> AsyncIterator[Connection]:
        """A client that sends packets, and is disconnected in the end, because it stays silent."""
        client = Connection(self.emulator)
        await client.send(*packets, pauses=pauses(self.draws, packets))
        await client.settled()
        yield client
        await client.settled()
        for _ in range(3):
            if not client.is_closed:
                client.pass_time(KEEP_ALIVE_MS)
        assert client.is_closed
        client.transport.close()
        async with asyncio.timeout(HANGS_AFTER_S):
            await client.ended()

    def _note(self, responses: list[WireResponse]) -> None:
        for response in responses:
            self.seen[f"status {response.status}"] += 1
            if response.status == 201:
                self.created.add(json.loads(response.body)["id"])

    async def compare_stored(self) -> None:
        """The payments are those of the responses 201, and the journal has the valid requests."""
        created: list[str] = []
        entries: dict[str, int] = {}
        for key in KEYS:
            events = await self.emulator.shown("/events?limit=1000", key)
            requests = await self.emulator.shown("/requests?limit=1000", key)
            assert not events["has_more"] | requests["has_more"]
            created += [event["data"]["id"] for event in events["data"]]
            entries |= {f"{key} {entry['id']}": entry["status"] for entry in requests["data"]}
        assert set(created) == self.created, set(created) ^ self.created
        assert len(created) == len(self.created)
        assert self.journaled.items() <= entries.items(), self.journaled.items() - entries.items()


async def call_control_api(draws: Random, seen: Counter[str]) -> None:
    """No request makes the control API fail, and each refusal has the form of the contract."""
    async with world() as emulator:
        await emulator.create()
        for _ in range(CONVERSATIONS):
            sent, call = control_request(draws)
            client = Connection(emulator)
            await client.send(sent)
            async with asyncio.timeout(HANGS_AFTER_S):
                await client.ended()
            head, _, body = bytes(client.transport.sent).partition(b"\r\n\r\n")
            status = int(head[len("HTTP/1.1 ") :][:3] or b"0")
            assert status in CONTROL_STATUSES, (call, sent, head, body, emulator.log)
            if status >= 400:
                error = json.loads(body)["error"]
                assert len(error["message"].splitlines()) == 1, (call, sent, error)
            seen["control"] += 1
            seen[f"status {status}"] += 1


async def in_a_world(draws: Random, seen: Counter[str]) -> None:
    async with world() as emulator:
        client = Client(emulator, draws, seen)
        for _ in range(CONVERSATIONS):
            converse = draws.choice(
                [
                    client.have_valid_conversation,
                    client.have_framed_conversation,
                    client.have_unframed_conversation,
                ]
            )
            await converse()
        await client.compare_stored()


@contextmanager
def without_warnings() -> Iterator[None]:
    """Leaves out the log lines about the endpoints, where nothing listens."""
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def run(seed: int, count: int) -> dict[str, str]:
    wall = RealClock()
    began_ms = wall.monotonic_ms()
    seen: Counter[str] = Counter()
    worlds = 0
    with without_warnings(), asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        while seen["valid"] + seen["hostile"] + seen["control"] < count:
            converse = call_control_api if worlds % 5 == 4 else in_a_world
            try:
                runner.run(converse(Random(f"{seed} {worlds}"), seen))  # noqa: S311
            except Exception as error:
                error.add_note(f"in the world {worlds} of the seed {seed}")
                raise
            worlds += 1
    statuses = {name: number for name, number in sorted(seen.items()) if name.startswith("status")}
    return {
        "Valid requests": f"{seen['valid']:,}",
        "Hostile requests": f"{seen['hostile']:,}",
        "Requests to the control API": f"{seen['control']:,}",
        "Responses": ", ".join(f"{number:,} of {name}" for name, number in statuses.items()),
        "Duration": f"{(wall.monotonic_ms() - began_ms) / 60_000:.0f} minutes",
    }
