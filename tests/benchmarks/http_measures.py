"""Measures creates, retrieves and lists over HTTP, with their gates."""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass

from tests.benchmarks.load import Outcome
from tests.benchmarks.pairs import Comparison, Generator, Plan, Quantity, compare
from tests.benchmarks.report import Gate, Row
from tests.benchmarks.servers import Server, ServerFailed, bare, emulator
from tests.benchmarks.traffic import COLLECTION, TEST_KEY, Reads, Traffic, create_body

# Retrieves are drawn at random from so many payments: none is read often enough in a run to be
# answered as one that is polled, and no small cache holds them all.
RETRIEVED_PAYMENTS = 20_000
RETRIEVES_DRAWN = 60_000
CONTROL_BAND = Gate(at_least=0.95, at_most=1.05)
HEADERS = {"Authorization": f"Bearer {TEST_KEY}", "Content-Type": "application/json"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One line of the table: of which quantity; without a gate it is only reported."""

    name: str
    connections: int
    gate: Gate | None = None
    quantity: Quantity = Quantity.RATE


CREATES = (
    Measure(name="create", connections=1, gate=Gate(at_least=0.40)),
    Measure(name="create", connections=16, gate=Gate(at_least=0.80)),
    Measure(name="create", connections=64),
)
# Of the same bursts as the rate.
CREATE_P99 = Measure(
    name="p99 of create", connections=16, gate=Gate(at_most=3.0), quantity=Quantity.P99
)
RETRIEVES = (
    Measure(name="retrieve", connections=1),
    Measure(name="retrieve", connections=16, gate=Gate(at_least=1.30)),
    Measure(name="retrieve", connections=64),
)
LISTS = (Measure(name="list of 10", connections=16, gate=Gate(at_least=1.20)),)
LIST = Reads(paths=(f"{COLLECTION}?limit=10",))


def control(plan: Plan, generator: Generator) -> list[Row]:
    """The limit against a second process of the limit, both verbs: is this machine quiet enough?"""
    rows = []
    with bare() as limit, bare() as twin:
        for name, traffic in (("POST", _new_creates(generator)), ("GET", _always(LIST))):
            measure = Measure(name=f"limit itself {name}", connections=16, gate=CONTROL_BAND)
            comparison = compare_as(measure, plan, generator, traffic, (limit, twin))
            rows.append(row_of(measure, comparison, is_control=True))
    return rows


def creates(plan: Plan, generator: Generator) -> list[Row]:
    """Creates on a store that is empty at first, and the memory that they leave behind."""
    with bare() as limit, emulator(plan.tree) as subject:
        _prove(subject)
        rows, created = [], 0
        for measure in CREATES:
            traffic = _new_creates(generator)
            comparison = compare_as(measure, plan, generator, traffic, (limit, subject))
            rows.append(row_of(measure, comparison))
            if measure.connections == CREATE_P99.connections:
                rows.append(row_of(CREATE_P99, comparison))
            created += comparison.subject.answered
        memory = Row(
            measure="memory, after creates",
            values=(subject.rss_mib(),),
            unit=" MiB",
            absolute=f"{created:,} payments",
            numbers={"payments": created},
        )
    return [*rows, memory]


def reads(plan: Plan, generator: Generator, wanted: frozenset[str]) -> list[Row]:
    """Retrieves and lists on a store filled for them."""
    rows = []
    with bare() as limit, emulator(plan.tree) as subject:
        _prove(subject)
        ids = _fill(generator, subject)
        drawn = random.Random(1).choices(ids, k=RETRIEVES_DRAWN)
        retrieve = Reads(paths=tuple(f"{COLLECTION}/{payment_id}" for payment_id in drawn))
        plans = [(m, retrieve) for m in RETRIEVES if "retrieve" in wanted]
        plans += [(m, LIST) for m in LISTS if "list" in wanted]
        for measure, traffic in plans:
            rows.append(measured(measure, plan, generator, _always(traffic), (limit, subject)))
    return rows


def measured(
    measure: Measure,
    plan: Plan,
    generator: Generator,
    traffic: Callable[[Server], Traffic],
    servers: tuple[Server, Server],
) -> Row:
    """The line of a measure, for which nothing else of the comparison is needed."""
    return row_of(measure, compare_as(measure, plan, generator, traffic, servers))


def compare_as(
    measure: Measure,
    plan: Plan,
    generator: Generator,
    traffic: Callable[[Server], Traffic],
    servers: tuple[Server, Server],
) -> Comparison:
    """Compare the limit and the subject; `traffic` returns the requests of each burst."""

    def burst(server: Server) -> Outcome:
        return generator.burst(server, traffic(server), measure.connections, plan.burst_s)

    return compare(plan, burst, *servers)


def row_of(measure: Measure, comparison: Comparison, *, is_control: bool = False) -> Row:
    """The line of a measure: its quantity's ratios, with rates, latencies and CPU behind them."""
    a, b = comparison.limit, comparison.subject
    absolute = (
        f"{a.per_s:,.0f} → {b.per_s:,.0f}/s; p50 {a.p50_ms:.2f} → {b.p50_ms:.2f} ms, "
        f"p99 {a.p99_ms:.2f} → {b.p99_ms:.2f} ms; CPU {a.cpu_us:.0f} → {b.cpu_us:.0f} µs"
    )
    numbers = {
        f"{who}_{name}": getattr(side, name)
        for who, side in (("limit", a), ("subject", b))
        for name in ("per_s", "p50_ms", "p99_ms", "cpu_us")
    }
    return Row(
        measure=f"{measure.name} c{measure.connections}",
        values=comparison.ratios[measure.quantity],
        gate=measure.gate,
        absolute=absolute,
        is_control=is_control,
        numbers=numbers,
    )


def _new_creates(generator: Generator) -> Callable[[Server], Traffic]:
    return lambda _: generator.creates()


def _always(traffic: Traffic) -> Callable[[Server], Traffic]:
    return lambda _: traffic


def _prove(subject: Server) -> None:
    """What is about to be measured is the real thing: a create, stored, retrieved and listed."""
    sent = create_body("proof")
    status, body = subject.call("POST", COLLECTION, HEADERS, sent)
    payment = json.loads(body)
    if status != 201 or payment["metadata"] != json.loads(sent)["metadata"]:
        raise ServerFailed(f"a create was answered {status}: {body[:600]!r}")
    read_status, read = subject.call("GET", f"{COLLECTION}/{payment['id']}", HEADERS)
    if read_status != 200 or json.loads(read) != payment:
        raise ServerFailed(f"the payment reads back differently: {read_status} {read[:600]!r}")
    _, page = subject.call("GET", f"{COLLECTION}?limit=10", HEADERS)
    if json.loads(page)["data"] != [payment]:
        raise ServerFailed(f"the payment is not what the list holds: {page[:600]!r}")


def _fill(generator: Generator, subject: Server) -> list[str]:
    """Create until there are enough payments, and answer their ids, found by paging."""
    created = 0
    while created < RETRIEVED_PAYMENTS:
        created += generator.burst(subject, generator.creates(), 16, 0.5).answered
    ids: list[str] = []
    cursor = ""
    while len(ids) < RETRIEVED_PAYMENTS:
        path = f"{COLLECTION}?limit=100{cursor}"
        status, body = subject.call("GET", path, HEADERS)
        if status != 200:
            raise ServerFailed(f"{path} was answered {status}: {body[:600]!r}")
        page = json.loads(body)
        ids += [payment["id"] for payment in page["data"]]
        cursor = f"&after={page['next_cursor']}"
    return ids
