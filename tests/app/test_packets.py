"""A valid request gets its response, whatever its packets, headers and neighbours are.

Run `python -m tests.app.test_packets MINUTES` to go on for longer than a test may take.
"""

import asyncio
import json
import sys
from collections import Counter

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from emulator.clock import SystemWall
from tests.app.connection import Connection
from tests.app.drawn_requests import Conversation, ValidRequest, conversations
from tests.depth import usually
from tests.world import LIVE_KEY, OTHER_TEST_KEY, TEST_KEY, World, world

pytestmark = pytest.mark.deep
EXAMPLES = usually(150, deep=3_000)
EXAMPLES_A_SEED = 2_000


async def check(conversation: Conversation) -> None:
    async with world() as emulator:
        client = Connection(emulator)
        await client.send(*conversation.packets, pauses=conversation.pauses)
        await check_responses(client, conversation)


async def check_responses(client: Connection, conversation: Conversation) -> None:
    """The responses on the wire, and the journals, are those of the requests, in their order."""
    expected = answered(conversation)
    heads = [place for place, request in enumerate(expected) if request.is_head]
    responses = client.responses(to_head=heads)
    if conversation.is_tail_invalid and not expected[-1].ends_connection:
        last = responses.pop()
        assert last.status == 400
        assert json.loads(last.body)["error"]["code"] == "invalid_request_body"
        assert client.is_closed
    assert [response.status for response in responses] == [item.status for item in expected]
    for request, response in zip(expected, responses, strict=True):
        assert b"request-id" in response.headers
        if request.members:
            body = json.loads(response.body)
            assert {name: body.get(name) for name in request.members} == request.members
    assert client.is_closed == (expected[-1].ends_connection or conversation.is_tail_invalid)
    assert not client.is_answering
    await check_journals(client.world, expected)


def answered(conversation: Conversation) -> list[ValidRequest]:
    """The requests up to the first after which the connection ends."""
    expected: list[ValidRequest] = []
    for request in conversation.requests:
        expected.append(request)
        if request.ends_connection:
            break
    return expected


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


def go_on_for(minutes: float) -> None:
    """Check conversations of ever new seeds; raises at the first that fails."""
    wall = SystemWall()
    end_ms = wall.monotonic_ms() + minutes * 60_000
    seen: Counter[str] = Counter()
    with asyncio.Runner() as runner:

        def one(conversation: Conversation) -> None:
            seen["conversations"] += 1
            seen["requests"] += len(conversation.requests)
            runner.run(check(conversation))

        number = 0
        while wall.monotonic_ms() < end_ms:
            number += 1
            run = settings(
                max_examples=EXAMPLES_A_SEED,
                deadline=None,
                database=None,
                phases=[Phase.generate, Phase.shrink],
                suppress_health_check=list(HealthCheck),
            )(given(conversations())(one))
            seed(number)(run)()
            print(f"seed {number}: {dict(seen)}", flush=True)  # noqa: T201


if __name__ == "__main__":
    go_on_for(float(sys.argv[1]))
