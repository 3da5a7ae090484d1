"""A valid request gets its response over a socket, whatever its packets and neighbours are.

`tests/long_runs/hostile.py` has the same conversations without sockets.
"""

import socket
from collections.abc import Iterator
from random import Random  # noqa: TID251 - what is drawn follows from a seed

import pytest

from tests.cli.processes import HANGS_AFTER_S, Server, serving
from tests.depth import usually
from tests.long_runs.hostile import check_responses
from tests.server.app.drawn_requests import LAST_REQUEST, conversation

pytestmark = pytest.mark.sampled
SEEDS = range(usually(20, deep=150))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(logs=tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.mark.parametrize("seed", SEEDS)
def test_a_valid_request_gets_its_response_over_a_socket(server: Server, seed: int) -> None:
    received = b""
    drawn = conversation(Random(seed), tails=[LAST_REQUEST.sent])  # noqa: S311
    expected = drawn.answered()
    with socket.create_connection(("127.0.0.1", server.api_port), HANGS_AFTER_S) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
        for packet in drawn.packets:
            client.sendall(packet)
        while part := client.recv(65_536):
            received += part
    if not drawn.ends_connection:
        expected.append(LAST_REQUEST)
    check_responses(received, expected, drawn.is_tail_invalid)
