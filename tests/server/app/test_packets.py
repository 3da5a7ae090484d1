"""A valid request gets its response, whatever its packets, headers and neighbours are.

Run `python -m tests.server.app.test_packets MINUTES` to go on for longer than a test may take.
"""

import asyncio
import json
import socket
import sys
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from emulator.clock import RealClock
from tests.cli.processes import HANGS_AFTER_S, Server, serving
from tests.depth import usually
from tests.server.app.connection import Connection, read_responses
from tests.server.app.drawn_requests import LAST_REQUEST, Conversation, ValidRequest, conversations
from tests.world import LIVE_KEY, OTHER_TEST_KEY, TEST_KEY, World, world

pytestmark = pytest.mark.sampled
EXAMPLES = usually(40, deep=600)
SOCKET_EXAMPLES = usually(20, deep=150)
EXAMPLES_A_SEED = 2_000


async def check(conversation: Conversation) -> None:
    """One client sends it, without a socket."""
    async with world() as emulator:
        client = Connection(emulator)
        await client.send(*conversation.packets, pauses=conversation.pauses)
        expected = conversation.answered()
        check_responses(bytes(client.transport.sent), expected, conversation.is_tail_invalid)
        assert client.is_closed == conversation.ends_connection
        assert not client.is_answering
        await check_journals(emulator, expected)


def check_responses(received: bytes, expected: list[ValidRequest], is_tail_invalid: bool) -> None:
    """The responses are those of the requests, in their order, and of an invalid tail."""
    heads = [place for place, request in enumerate(expected) if request.is_head]
    responses = read_responses(received, to_head=heads)
    if is_tail_invalid and not expected[-1].ends_connection:
        last = responses.pop()
        assert last.status == 400
        assert json.loads(last.body)["error"]["code"] == "invalid_request_body"
    assert [response.status for response in responses] == [item.status for item in expected]
    for request, response in zip(expected, responses, strict=True):
        assert b"request-id" in response.headers
        if request.members:
            body = json.loads(response.body)
            assert {name: body.get(name) for name in request.members} == request.members


async def check_journals(emulator: World, expected: list[ValidRequest]) -> None:
    for key in (TEST_KEY, LIVE_KEY, OTHER_TEST_KEY):
        listed = await emulator.control("GET", "/requests", key=key)
        kept = [entry["status"] for entry in listed.json()["data"]]
        assert kept[::-1] == [request.status for request in expected if request.key == key]


@settings(max_examples=EXAMPLES)
@given(conversations())
def test_a_valid_request_gets_its_response_in_any_packets_and_company(
    conversation: Conversation,
) -> None:
    asyncio.run(check(conversation))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(logs=tmp_path_factory.mktemp("server")) as server:
        yield server


@settings(max_examples=SOCKET_EXAMPLES)
@given(conversation=conversations(tails=[LAST_REQUEST.sent]))
def test_a_valid_request_gets_its_response_over_a_socket(
    server: Server, conversation: Conversation
) -> None:
    received = b""
    expected = conversation.answered()
    with socket.create_connection(("127.0.0.1", server.api_port), HANGS_AFTER_S) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
        for packet in conversation.packets:
            client.sendall(packet)
        while part := client.recv(65_536):
            received += part
    if not conversation.ends_connection:
        expected.append(LAST_REQUEST)
    check_responses(received, expected, conversation.is_tail_invalid)


def go_on_for(minutes: float) -> None:
    """Check conversations of further seeds; raises at the first that fails."""
    wall = RealClock()
    end_ms = wall.monotonic_ms() + minutes * 60_000
    seen: Counter[str] = Counter()
    with asyncio.Runner() as runner:

        def check_one(conversation: Conversation) -> None:
            seen["conversations"] += 1
            seen["requests"] += len(conversation.requests)
            runner.run(check(conversation))

        number = 0
        while wall.monotonic_ms() < end_ms:
            number += 1
            check_many = settings(
                max_examples=EXAMPLES_A_SEED,
                deadline=None,
                database=None,
                phases=[Phase.generate, Phase.shrink],
                suppress_health_check=list(HealthCheck),
            )(given(conversations())(check_one))
            seed(number)(check_many)()
            print(f"seed {number}: {dict(seen)}", flush=True)  # noqa: T201


if __name__ == "__main__":
    go_on_for(float(sys.argv[1]))
