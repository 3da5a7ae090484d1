"""Measures the dashboard: processor time of its lists, and creates while it is open."""

import asyncio
import multiprocessing
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count, pairwise
from statistics import geometric_mean, median
from typing import NamedTuple

from tests.benchmarks.http_measures import HEADERS, LIST, Measure, measured
from tests.benchmarks.load import p99_ms
from tests.benchmarks.pairs import Generator, Plan, Quantity
from tests.benchmarks.report import Gate, Row
from tests.benchmarks.servers import Server, ServerFailed, bare, emulator
from tests.benchmarks.traffic import COLLECTION, Creates, Reads, create_body
from tests.benchmarks.webhook_measures import silent_endpoint

FEW, MANY = 100, 10_000
ROWS = 25
CPU_GATE = Gate(at_most=25.0)
# "No more than with few": two processes with equal accounts differ by up to 5 %.
GROWTH_GATE = Gate(at_most=1.05)
LISTS = {"payments": "payment-row", "webhooks": "delivery-row", "requests": "request-row"}
# The pages that are not lists, and may cost more.
OTHER_PAGES = ("payments/latest", "fidelity")

OPEN_DASHBOARDS = 100
CREATES_PER_S = 1_000
P99_GATE = Gate(at_most=1.5)
# With none open; a machine with two free cores needs 1 to 3.
MAX_QUIET_P99_MS = 10.0
# What the payments themselves occupy.
MEMORY_GATE = Gate(at_most=4.0)
_VIEW = "/_emulator/view"
# What the script of the pages does: it fetches the page at most so often.
_MIN_UPDATE_S = 0.5


def pages(plan: Plan, generator: Generator) -> list[Row]:
    """Pages of an account with many records, over the limit and over an account with a few.

    The deliveries wait for an endpoint that never responds, so no attempt is made meanwhile.
    """
    rows = []
    with (
        silent_endpoint() as url,
        bare() as limit,
        emulator(plan.tree, "--webhook-url", url) as small,
        emulator(plan.tree, "--webhook-url", url) as large,
    ):
        _fill(small, FEW)
        _fill(large, MANY)
        for name in (*LISTS, *OTHER_PAGES):
            page = Reads(paths=(f"{_VIEW}/{name}",), key=None)
            # Each server's first page compiles its templates, which may take longer than a burst.
            small.call("GET", page.paths[0], {"Accept": "text/html"})
            status, html = large.call("GET", page.paths[0], {"Accept": "text/html"})
            is_list = name in LISTS
            found = html.decode().count(f'data-testid="{LISTS.get(name)}"')
            if status != 200 or found != (ROWS if is_list else 0):
                raise ServerFailed(f"{name} has {found} rows: {html.decode()}")
            cpu_gate = CPU_GATE if is_list else None
            for other, gate in ((limit, cpu_gate), (small, GROWTH_GATE)):
                # One connection, since simultaneous requests share a page.
                measure = Measure(
                    name=f"dashboard: {name}, CPU over {other.name}",
                    connections=1,
                    gate=gate,
                    quantity=Quantity.CPU,
                )

                def traffic(server: Server, page: Reads = page) -> Reads:
                    return LIST if server is limit else page

                rows.append(measured(measure, plan, generator, traffic, (other, large)))
    return rows


def _fill(server: Server, payments: int) -> None:
    """Create payments, each with its request and its delivery."""
    for number in range(payments):
        body = create_body(f"dashboard-{number}")
        status, response = server.call("POST", COLLECTION, HEADERS, body)
        if status != 201:
            raise ServerFailed(f"a create was answered {status}: {response!r}")


class PacedCreates(NamedTuple):
    """The p99 of creates at a fixed rate.

    `latency_ms` counts from the instant at which each was to be sent. `cpu_ms` is the processor
    time of the server from each request to its response, so that other programs do not matter.
    """

    latency_ms: float
    cpu_ms: float


def open_dashboards(plan: Plan) -> list[Row]:
    """Creates at a fixed rate while many dashboards are open, between creates with none open."""
    alone: list[PacedCreates] = []
    watched: list[PacedCreates] = []
    growth = []
    seconds = 4 * plan.burst_s
    serials = count(1)
    with emulator(plan.tree) as server:
        for _ in range(plan.pairs + 1):
            alone.append(paced_creates(server, next(serials), seconds))
            with viewers(server):
                paced_creates(server, next(serials), seconds)
                rss_mib = server.rss_mib()
                watched.append(paced_creates(server, next(serials), seconds))
                growth.append(server.rss_mib() - rss_mib)
        alone.append(paced_creates(server, next(serials), seconds))
    latencies_ms = [each.latency_ms for each in alone]
    is_quiet = median(latencies_ms) <= MAX_QUIET_P99_MS
    return [
        _p99_row(
            "p99",
            # Without a free core, creates are late for other reasons.
            P99_GATE if is_quiet else None,
            latencies_ms,
            [each.latency_ms for each in watched],
        ),
        _p99_row(
            "p99 in processor time",
            P99_GATE,
            [each.cpu_ms for each in alone],
            [each.cpu_ms for each in watched],
        ),
        Row(
            measure=f"{OPEN_DASHBOARDS} dashboards: memory",
            values=tuple(growth[1:]),
            gate=MEMORY_GATE,
            unit=" MiB",
            absolute=f"growth in {seconds} s of creates, median {median(growth):.1f} MiB",
        ),
    ]


def _p99_row(
    title: str, gate: Gate | None, alone: Sequence[float], watched: Sequence[float]
) -> Row:
    """Each burst over those before and after it, without the first, which fills caches."""
    neighbours = [geometric_mean(pair) for pair in pairwise(alone)]
    pairs = list(zip(neighbours, watched, strict=True))[1:]
    return Row(
        measure=f"{OPEN_DASHBOARDS} dashboards: {title} of {CREATES_PER_S:,} creates/s",
        values=tuple(open_ms / alone_ms for alone_ms, open_ms in pairs),
        gate=gate,
        absolute=", ".join(f"{alone_ms:.2f} → {open_ms:.2f} ms" for alone_ms, open_ms in pairs),
    )


def paced_creates(server: Server, serial: int, seconds: float) -> PacedCreates:
    """Send creates at the rate, as fast as possible while they are late."""
    requests = Creates(serial=serial).requests(server.port)
    latencies_ns, cpu_ns = [], []
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        begun = time.perf_counter_ns()
        for number in range(int(seconds * CREATES_PER_S)):
            due = begun + number * 1_000_000_000 // CREATES_PER_S
            while (early := due - time.perf_counter_ns()) > 0:
                time.sleep(early / 1e9)
            used_s = server.cpu_s()
            connection.sendall(next(requests))
            if not connection.recv(16_384).startswith(b"HTTP/1.1 201"):
                raise ServerFailed("a create was not answered with 201")
            cpu_ns.append(int((server.cpu_s() - used_s) * 1e9))
            latencies_ns.append(time.perf_counter_ns() - due)
    return PacedCreates(latency_ms=p99_ms(sorted(latencies_ns)), cpu_ms=p99_ms(sorted(cpu_ns)))


@contextmanager
def viewers(server: Server) -> Iterator[None]:
    """Open dashboards in a process: each reads the stream, and fetches its page when it changes."""
    context = multiprocessing.get_context("spawn")
    is_open = context.Event()
    process = context.Process(target=_view, args=(server.port, is_open), daemon=True)
    process.start()
    try:
        if not is_open.wait(30):
            raise ServerFailed("the dashboards did not open")
        yield
    finally:
        process.terminate()
        process.join()


def _view(port: int, is_open: "multiprocessing.synchronize.Event") -> None:
    asyncio.run(_view_all(port, is_open))


async def _view_all(port: int, is_open: "multiprocessing.synchronize.Event") -> None:
    opened = [asyncio.Event() for _ in range(OPEN_DASHBOARDS)]
    tasks = [asyncio.create_task(_dashboard(port, each)) for each in opened]
    await asyncio.gather(*(each.wait() for each in opened))
    is_open.set()
    await asyncio.gather(*tasks)


async def _dashboard(port: int, opened: asyncio.Event) -> None:
    stream, stream_writer = await asyncio.open_connection("127.0.0.1", port)
    pages, pages_writer = await asyncio.open_connection("127.0.0.1", port)
    stream_writer.write(_get("/_emulator/stream"))
    changed = asyncio.Event()
    since = ""

    async def listen() -> None:
        nonlocal since
        while line := await stream.readline():
            if line.startswith(b"event: hello"):
                opened.set()
            elif line.startswith(b"id: "):
                since = line[4:].decode().strip()
            elif line.startswith(b"event: payments"):
                changed.set()

    listening = asyncio.create_task(listen())
    with suppress(ConnectionError):
        while not listening.done():
            await changed.wait()
            changed.clear()
            pages_writer.write(_get(f"{_VIEW}/payments", since))
            head = await pages.readuntil(b"\r\n\r\n")
            length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
            await pages.readexactly(int(length))
            await asyncio.sleep(_MIN_UPDATE_S)


def _get(path: str, since: str = "") -> bytes:
    headers = f"Host: 127.0.0.1\r\nAccept: text/html\r\nEmulator-Since: {since}"
    return f"GET {path} HTTP/1.1\r\n{headers}\r\n\r\n".encode()
