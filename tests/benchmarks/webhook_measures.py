"""Measures attempts to deliver, and creates while an endpoint never responds."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

from tests.benchmarks.http_measures import HEADERS, Measure, measured
from tests.benchmarks.pairs import Generator, Plan, Quantity
from tests.benchmarks.report import Gate, Row
from tests.benchmarks.servers import Server, ServerFailed, bare, emulator
from tests.benchmarks.traffic import COLLECTION, create_body

ATTEMPTS = 2_000
ATTEMPT_GATE = Gate(at_most=4.0)
LATE = {
    "version": 1,
    "name": "late",
    "webhooks": [{"when": {"event": "payment.created"}, "then": {"delay": "10s"}}],
}

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


def attempts(plan: Plan) -> list[Row]:
    """The processor time of an attempt, over that of its receiver, which is the bare route."""
    ratios, texts = [], []
    with bare() as receiver:
        url = f"http://127.0.0.1:{receiver.port}{COLLECTION}"
        for _ in range(plan.pairs):
            with emulator(plan.tree, "--webhook-url", url, "--clock", "frozen") as server:
                _call(server, "PUT", "/_emulator/scenarios/late", LATE)
                for number in range(ATTEMPTS):
                    server.call("POST", COLLECTION, HEADERS, create_body(f"attempt-{number}"))
                before_s, received_s = server.cpu_s(), receiver.cpu_s()
                started = perf_counter()
                effects = _call(server, "POST", "/_emulator/clock/advance", {"seconds": 10})
                seconds = perf_counter() - started
                cpu_s, received_s = server.cpu_s() - before_s, receiver.cpu_s() - received_s
            if len(effects["effects"]) != ATTEMPTS:
                raise ServerFailed(f"{len(effects['data'])} attempts instead of {ATTEMPTS}")
            ratios.append(cpu_s / received_s)
            texts.append(f"{ATTEMPTS / seconds:,.0f}/s, {cpu_s / ATTEMPTS * 1e6:.0f} µs")
    text = "; ".join(texts) + "; 1.00 is a request to the bare route"
    return [Row(measure="attempt, CPU", values=tuple(ratios), gate=ATTEMPT_GATE, absolute=text)]


def _call(server: Server, method: str, path: str, content: object) -> dict[str, list[object]]:
    body = json.dumps(content).encode()
    status, response = server.call(method, path, {"content-type": "application/json"}, body)
    if status not in {200, 201}:
        raise ServerFailed(f"{method} {path} was answered {status}: {response!r}")
    decoded: dict[str, list[object]] = json.loads(response)
    return decoded


def creates(plan: Plan, generator: Generator) -> list[Row]:
    """Creates with and without an endpoint; here the limit is the emulator without."""
    with (
        silent_endpoint() as url,
        emulator(plan.tree) as without,
        emulator(plan.tree, "--webhook-url", url) as with_endpoint,
    ):
        servers = (without, with_endpoint)
        return [
            measured(measure, plan, generator, lambda _: generator.creates(), servers)
            for measure in CREATES
        ]


@contextmanager
def silent_endpoint() -> Iterator[str]:
    """The URL of a server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/hook"
