"""Measures creates while an endpoint never responds, compared with no endpoint."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from tests.benchmarks.http_measures import Measure, compare_as, row_of
from tests.benchmarks.pairs import Generator, Plan, Quantity
from tests.benchmarks.report import Gate, Row
from tests.benchmarks.servers import emulator

CREATES = (
    Measure(name="p99 of create, an endpoint silent", connections=1, quantity=Quantity.P99),
    Measure(
        name="p99 of create, an endpoint silent",
        connections=16,
        quantity=Quantity.P99,
        gate=Gate(at_most=1.5),
    ),
    Measure(name="create, an endpoint silent", connections=16),
)


def creates(plan: Plan, generator: Generator) -> list[Row]:
    """Creates with and without an endpoint; here the limit is the emulator without."""
    with (
        silent_endpoint() as url,
        emulator(plan.tree) as without,
        emulator(plan.tree, "--webhook-url", url) as with_endpoint,
    ):
        return [
            row_of(
                measure,
                compare_as(
                    measure,
                    plan,
                    generator,
                    lambda _: generator.creates(),
                    (without, with_endpoint),
                ),
            )
            for measure in CREATES
        ]


@contextmanager
def silent_endpoint() -> Iterator[str]:
    """The URL of a server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/hook"
