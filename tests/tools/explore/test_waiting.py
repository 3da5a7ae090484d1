"""Explore waits for a shop that works later, and not for one that works at once."""

import asyncio
import sys
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from heapq import heappop, heappush
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from emulator.cli.explore import exit_code
from emulator.clock import RealClock
from emulator.domain.instants import Instant, parse_instant
from emulator.domain.payment_methods import DEFAULT_ORDER
from emulator.domain.user_error import UserError
from emulator.http import emulator_calls as calls
from emulator.http.addresses import BaseUrl
from emulator.http.client import EmulatorClient
from emulator.http.response import HttpResponse
from emulator.server.app.server import private_emulator
from emulator.settings import resolve
from emulator.tools.explore.ends import Concurrency
from emulator.tools.explore.executor import OBSERVED_MS, HistoryRun
from emulator.tools.explore.exploration import MAX_BEFORE, PATIENCE, Exploration, Limits
from emulator.tools.explore.integration import Run
from emulator.tools.explore.integration_file import parse_integration, read_integration
from emulator.tools.explore.report import saved_file, summary_lines
from emulator.tools.explore.service import MAX_SHARED, Service
from emulator.tools.explore.session import AnomalyLeftOut, ExploreSession
from emulator.tools.explore.shop import Shop
from emulator.tools.explore.shop_client import HUNG, MAX_RESPONSE_S, Request, ShopClient
from emulator.tools.explore.shop_process import MAX_START_S, ShopProcess
from emulator.tools.explore.steps import StepAction
from tests.tools.explore.small_shop import KEY, SECRET, SmallShop, integration_text, small_shop
from tests.tools.explore.test_histories import history

MIN_A_SECOND, MAX_OTHER_ORDERS = 12, 20


class WaitingClock(RealClock):
    """Stands still except for waits, which take no real time."""

    def __init__(self) -> None:
        super().__init__()
        self._now_ms = super().now_ms()
        self.waited_ms = 0

    def now_ms(self) -> Instant:
        return self._now_ms + self.waited_ms

    def monotonic_ms(self) -> float:
        return self.waited_ms

    async def wait(self, event: asyncio.Event, *, until: Instant | None) -> None:  # noqa: ARG002
        assert until is not None
        self.waited_ms += until - self.now_ms()


class SilentClient(ShopClient):
    """Receives no response to the requests of one path."""

    def __init__(self, clock: RealClock, path: str) -> None:
        super().__init__(clock)
        self.path = path
        self.unanswered = 0

    def is_silent(self, request: Request) -> bool:
        is_silent = urlsplit(request.url).path.startswith(self.path)
        self.unanswered += is_silent
        return is_silent

    async def send(self, request: Request, *, timeout_s: float = MAX_RESPONSE_S) -> HttpResponse:
        return HUNG if self.is_silent(request) else await super().send(request, timeout_s=timeout_s)

    async def deliver(
        self, *requests: Request, timeout_s: float = MAX_RESPONSE_S
    ) -> list[HttpResponse]:
        if any(map(self.is_silent, requests)):
            return [HUNG] * len(requests)
        return await super().deliver(*requests, timeout_s=timeout_s)


@asynccontextmanager
async def exploring(
    shop: SmallShop, directory: Path, clock: RealClock, *, depth: int = 0, **more: Any
) -> AsyncIterator[Exploration]:
    async with sharing(shop, directory, clock, **more) as session:
        limits = Limits(depth=depth, seed=1, max_failures=1, max_time_ms=None)
        yield Exploration(session, limits, lambda _: None)


@asynccontextmanager
async def sharing(
    shop: SmallShop,
    directory: Path,
    clock: RealClock,
    *,
    more: str = "",
    sender: ShopClient | None = None,
) -> AsyncIterator[ExploreSession]:
    flags = {"port": shop.api_port, "checkout-port": 0, "test-key": KEY, "clock": "frozen"}
    settings = resolve({**flags, "allow-http-localhost": True}, {})
    integration = read_integration(Path(shop.write(directory, more)))
    async with (
        private_emulator(settings) as url,
        EmulatorClient(BaseUrl.parse(url), key=KEY) as client,
    ):
        yield ExploreSession(
            shop=Shop(
                integration,
                sender or ShopClient(clock),
                secret=SECRET,
                wall=clock,
                variables={},
            ),
            service=Service(client),
            wall=clock,
        )


async def test_the_time_until_the_required_size_is_complete_is_a_limit_of_its_own(
    tmp_path: Path,
) -> None:
    clock = WaitingClock()

    def pass_time(order: int) -> None:
        clock.waited_ms += 1_000 * (order == 2)

    with small_shop() as shop:
        shop.on_start = pass_time
        async with sharing(shop, tmp_path, clock) as session:
            limits = Limits(depth=1, seed=1, max_failures=1, max_time_ms=500)
            exploration = Exploration(session, limits, lambda _: None)
            await exploration.run()
    assert (exploration.done[0], exploration.done[1], exit_code(exploration)) == (4, 0, 0)


HANGING = [
    ("/webhooks", "never-acknowledged"),
    ("/paid", "request-failed"),
    ("/job", "request-failed"),
]


@pytest.mark.parametrize(("path", "verdict"), HANGING)
async def test_a_request_that_hangs_is_named_after_two_attempts(
    path: str, verdict: str, tmp_path: Path
) -> None:
    """That is after 30 s."""
    with small_shop() as shop:
        job = f"settle: {{request: POST {shop.url}/job}}\n"
        client = SilentClient(WaitingClock(), path)
        async with exploring(shop, tmp_path, WaitingClock(), more=job, sender=client) as run:
            await run.run()
    [failure] = run.failures
    assert (failure.verdict.id, HUNG.text in failure.seen) == (verdict, True)
    assert client.unanswered * MAX_RESPONSE_S <= 30


# The path that is always answered 500, the job, and the history that shows it.
FAILING = [
    ("/paid", "/job", ("paid",)),
    ("/cancelled", "/job", ("paid", "cancel-opened")),
    ("/job", "/job", ("paid",)),
    ("-", "/jbo", ("paid",)),
    ("-", "/job", ("paid", "cancel-opened-paid")),
]


@pytest.mark.parametrize(("path", "job", "names"), FAILING)
async def test_a_page_or_job_that_fails_is_a_failure(
    path: str, job: str, names: tuple[str, ...], tmp_path: Path
) -> None:
    is_right = (path, job) == ("-", "/job")
    with small_shop() as shop:
        shop.fails, settle = path, f"settle: {{request: POST {shop.url}{job}}}\n"
        async with exploring(shop, tmp_path, WaitingClock(), more=settle) as exploration:
            failure = (await exploration.replay(history(*names))).failure
    assert (failure and failure.verdict.id) == (None if is_right else "request-failed")


async def test_pages_of_a_host_that_the_file_does_not_name_are_not_opened(tmp_path: Path) -> None:
    with small_shop() as shop:
        shop.pages = "https://pages.example:9"
        async with exploring(shop, tmp_path, WaitingClock()) as exploration:
            await exploration.run()
            for name, page in (("return-at-once", "success_url"), ("cancel-opened", "cancel_url")):
                with pytest.raises(AnomalyLeftOut, match=f"{page} is on pages.example:9, a host"):
                    await exploration.observe(history("paid", name))
    assert exploration.failures == []
    reason = "success_url is on pages.example:9, a host that the file does not name"
    assert f"left out: return; {reason}" in summary_lines(exploration)


HOSTS = [("http://localhost:3000/x", True), ("http://[::1]:3000/", True)]
HOSTS += [("http://127.0.0.1:3001/x", False), ("http://shop.example:3000/", False)]


@pytest.mark.parametrize(("url", "is_named"), HOSTS)
def test_a_file_names_a_host_by_any_name_of_this_machine(url: str, is_named: bool) -> None:
    text = integration_text("http://127.0.0.1:3000")
    assert parse_integration(text, "shop.yaml").names(url) is is_named


TITLES = [
    ("paid",),
    ("paid", "lost payment.processing"),
    ("paid", "twice payment.completed"),
    ("failed", "at-once payment.failed"),
    ("expired", "forged"),
    ("expired", "other-amount"),
]


async def test_each_payment_is_a_moment_later_than_the_one_before(tmp_path: Path) -> None:
    with small_shop() as shop:
        async with exploring(shop, tmp_path, WaitingClock()) as exploration:
            await exploration.run()
    payments = [run.orders[0].payments[0] for run in exploration.usual.values()]
    instants = [parse_instant(payment["created_at"]) for payment in payments]
    assert instants == sorted({*instants})
    assert instants[-1] - instants[0] < 1_000


async def test_nothing_waits_where_the_expected_state_is_there_at_once(tmp_path: Path) -> None:
    clock = WaitingClock()
    with small_shop() as shop:
        async with exploring(shop, tmp_path, clock) as exploration:
            for outcome, *anomalies in TITLES:
                observation = await exploration.observe(history(outcome, *anomalies))
                assert await exploration.failure_of(observation) is None
    assert clock.waited_ms == 0


async def test_nothing_waits_for_a_failed_read_where_the_shop_reads_before_it_responds(
    tmp_path: Path,
) -> None:
    clock = WaitingClock()
    with small_shop(has_race=True) as shop:
        async with exploring(shop, tmp_path, clock) as exploration:
            await exploration.run()
            waited_ms = clock.waited_ms
            observation = await exploration.observe(history("paid", "read-500 payment.completed"))
            failure = await exploration.failure_of(observation)
    assert (failure, clock.waited_ms - waited_ms) == (None, 0)
    assert waited_ms == OBSERVED_MS * sum(
        step.action is StepAction.DELIVER
        for each in exploration.results
        for step in each.history.steps
    )


async def test_an_order_that_is_late_in_one_run_only_is_no_failure(tmp_path: Path) -> None:
    with small_shop() as shop:
        shop.on_start = lambda order: setattr(shop, "lag_reads", 1_000_000 * (order == 1))
        async with exploring(shop, tmp_path, WaitingClock()) as exploration:
            await exploration.run()
    assert (exploration.failures, exploration.held_alone) == ([], 1)
    assert len(exploration.results) == 4
    first, *_ = summary_lines(exploration)
    assert first == "4 of 4 histories without an anomaly: none failed, 1 held alone"


async def test_a_second_shipment_in_one_run_is_a_failure_although_two_others_hold(
    tmp_path: Path,
) -> None:
    def repeat_until_it_shows(_: int) -> None:
        shop.repeats = all(order["shipments"] < 2 for order in shop.orders.values())

    with small_shop() as shop:
        shop.on_start = repeat_until_it_shows
        async with exploring(shop, tmp_path, WaitingClock(), depth=1) as exploration:
            await exploration.run()
            [failure] = exploration.failures
            ran = [each.history.name for each in exploration.results[:-1]]
            text = saved_file(exploration.integration, failure)
    assert (failure.verdict.id, failure.runs) == ("fulfilled-twice", "seen in 1 of 3 runs")
    assert exploration.held_alone == 0
    saved = parse_integration(text, "saved")
    assert (saved.history, saved.reference) == (failure.observation.history.name, None)
    assert saved.before == tuple(ran[-MAX_BEFORE:])


async def test_a_failure_is_not_lost_when_it_cannot_be_repeated(tmp_path: Path) -> None:
    def lose_orders_after_the_failure(_: int) -> None:
        if any(order["shipments"] > 1 for order in shop.orders.values()):
            shop.orders.clear()

    with small_shop() as shop:
        shop.repeats, shop.on_start = True, lose_orders_after_the_failure
        async with exploring(shop, tmp_path, WaitingClock(), depth=1) as exploration:
            await exploration.run()
    [failure] = exploration.failures
    assert failure.verdict.id == "fulfilled-twice"
    assert failure.runs.startswith("not repeated: cannot read the state of order")


async def test_a_command_that_deletes_the_orders_at_its_start_is_named(tmp_path: Path) -> None:
    async def restart() -> None:
        shop.orders.clear()

    with small_shop() as shop:
        async with sharing(shop, tmp_path, WaitingClock()) as session:
            session.restart = restart
            with pytest.raises(UserError) as caught:
                await HistoryRun(session, history("paid", "killed payment.completed")).run()
    assert str(caught.value) == (
        f"cannot read the state of order 1: GET {shop.url}/orders/{{order}}: 404, after the shop"
        " was killed and started again with run.command; run.command must keep the data of the shop"
    )


async def test_a_failure_whose_repetition_is_interrupted_is_in_the_summary(tmp_path: Path) -> None:
    loop = asyncio.get_running_loop()

    def interrupt_the_repetition(_: int) -> None:
        if any(order["shipments"] > 1 for order in shop.orders.values()):
            loop.call_soon_threadsafe(running.cancel)

    with small_shop() as shop:
        shop.repeats, shop.on_start = True, interrupt_the_repetition
        async with exploring(shop, tmp_path, WaitingClock(), depth=1) as exploration:
            running = asyncio.create_task(exploration.run())
            with pytest.raises(asyncio.CancelledError):
                await running
    first, *_ = summary_lines(exploration)
    assert first.endswith(": none failed, 1 failed and was not repeated")


async def test_a_replay_runs_the_histories_before_where_the_history_alone_holds(
    tmp_path: Path,
) -> None:
    def repeat_from_the_fifth(order: int) -> None:
        shop.repeats = order > 4

    with small_shop() as shop:
        shop.on_start = repeat_from_the_fifth
        async with exploring(shop, tmp_path, WaitingClock()) as exploration:
            twice, usual = history("paid", "twice payment.completed"), history("failed")
            fixed = await exploration.replay(twice)
            result = await exploration.replay(twice, before=[usual])
    assert fixed.failure is None
    assert result.failure is not None
    assert result.failure.before == (usual.name,)


async def test_a_second_effect_is_awaited_where_effects_are_late(tmp_path: Path) -> None:
    with small_shop() as shop:
        shop.repeats, shop.lag_reads = True, 2
        async with exploring(shop, tmp_path, WaitingClock()) as exploration:
            first = await exploration.replay(history("paid"))
            result = await exploration.replay(history("paid", "at-once payment.completed"))
    assert first.failure is None
    assert result.failure is not None
    assert result.failure.verdict.id == "fulfilled-twice"


async def test_a_payment_whose_start_failed_belongs_to_no_order(tmp_path: Path) -> None:
    with small_shop() as shop:
        shop.calls = 1
        async with exploring(shop, tmp_path, WaitingClock()) as exploration:
            result = await exploration.replay(history("paid", "create-500-after"))
    assert result.failure is None


@pytest.mark.parametrize(("option", "kept"), [("-p", 1), ("", 0)])
async def test_entries_that_return_values_are_repeated_only_where_the_second_order_needs_that(
    option: str, kept: int, tmp_path: Path
) -> None:
    customers, name = tmp_path / "customers", tmp_path / "{customer}"
    count = f"echo >> {customers}; echo '{{\"number\": '$(wc -l < {customers})'}}'"
    entries: list[dict[str, Any]] = [
        {"command": count, "values": {"customer": "$.number"}},
        {"command": f"mkdir {option} {name}"},  # Without the option, a customer is accepted once.
    ]
    with small_shop() as shop:
        async with sharing(shop, tmp_path, RealClock()) as session:
            document = yaml.safe_load(integration_text(shop.url))
            document["start"] = [*entries, document["start"]]
            session.shop.integration = parse_integration(yaml.safe_dump(document), "shop.yaml")
            observation = await HistoryRun(session, history("paid", "second-order")).run()
    first, second = observation.orders
    assert (first.values == second.values, first.id == second.id) == (False, False)
    is_same = first.values["customer"] == second.values["customer"]
    assert (is_same, len(customers.read_text())) == (bool(kept), 2 - kept)
    starts = [each for each in observation.trace if each.step.action is StepAction.START]
    lines = [count, entries[1]["command"], f"POST {shop.url}/orders"]
    prefix = "the customer starts an order: "
    assert starts[0].text == prefix + ", ".join(lines)
    assert starts[1].text.startswith(prefix + ", ".join(lines[kept:]) + "; the same customer")


@pytest.mark.deep
async def test_histories_of_an_asynchronous_shop_overlap(tmp_path: Path) -> None:
    """If each takes a second, as many run in a second as are in progress at once."""
    in_progress = []
    with small_shop() as shop:
        shop.lag_reads = 2
        async with exploring(shop, tmp_path, WaitingClock(), depth=1) as exploration:
            shop.on_start = lambda order: in_progress.append(order - len(exploration.results))
            await exploration.run()
    assert exploration.failures == []
    # The orders of `other-order` and those after a failed start count, too.
    assert max(in_progress) - MAX_OTHER_ORDERS >= MIN_A_SECOND


async def test_an_event_is_found_behind_those_of_all_histories_that_overlap(tmp_path: Path) -> None:
    with small_shop() as shop:
        async with sharing(shop, tmp_path, WaitingClock()) as session:
            orders = [calls.CREATE_PAYMENT(body=DEFAULT_ORDER) for _ in range(MAX_SHARED + 1)]
            first, *_ = [await session.service.call(order) for order in orders]
            event = await session.service.event("payment.created", first["id"])
    assert first["id"].encode() in event.body


@pytest.mark.parametrize(("metadata", "identifies"), [({"order": "2"}, True), ({}, False)])
async def test_histories_overlap_only_where_metadata_identify_orders(
    metadata: dict[str, str], identifies: bool, tmp_path: Path
) -> None:
    with small_shop() as shop:
        async with sharing(shop, tmp_path, WaitingClock()) as session:
            for own in ({"order": "1"}, metadata):
                order = {**DEFAULT_ORDER, "metadata": own}
                payment = await session.service.call(calls.CREATE_PAYMENT(body=order))
                await session.refresh()
                assert session.begin_order(payment) == [payment]
            assert session.names_orders is identifies
            session.begin_order({**payment, "metadata": {"order": "1"}})
            session.begin_order({**payment, "metadata": {"order": "1"}})
            assert not session.names_orders


# Listens on a port, names it, and never answers what the file calls ready.
LISTENS = """
import socket, time, urllib.request
listener = socket.create_server(("127.0.0.1", 0))
urllib.request.urlopen(f"{URL}/{listener.getsockname()[1]}")
time.sleep(1_000)
"""


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="needs the files of Linux")
async def test_the_port_on_which_the_shop_does_listen_is_named(tmp_path: Path) -> None:
    clock, named = WaitingClock(), asyncio.Future[str]()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = (await reader.readline()).split()[1].decode()
        if path == "/ready":
            await named
            clock.waited_ms += MAX_START_S * 1_000
        else:
            named.set_result(path[1:])
        writer.write(b"HTTP/1.1 %d x\r\n\r\n" % (503 if path == "/ready" else 200))
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        program = tmp_path / "listens.py"
        program.write_text(f"URL = {url!r}\n{LISTENS}")
        run = Run(command=f"exec {sys.executable} {program}", ready=f"GET {url}/ready")
        process = ShopProcess(run, "", {}, ShopClient(clock), clock)
        with pytest.raises(UserError) as caught:
            async with process.running():
                pass
    seen = f"the shop is not ready after 30 s, GET {url}/ready: 503; it listens on port"
    assert str(caught.value).startswith(f"{seen} {await named}: ")


# The time of a job, the workers, whether histories end late, and the most that run together.
QUEUES = [
    (0, 1, False, 64),
    (10, 1, False, 16),
    (33, 1, True, 8),
    (100, 1, False, 2),
    (300, 1, True, 1),
    (0, 4, False, 64),
    (10, 4, False, 64),
    (33, 4, True, 32),
    (100, 4, False, 8),
    (300, 4, False, 2),
]


@pytest.mark.parametrize(("job_ms", "workers", "is_late", "most"), QUEUES)
def test_the_number_of_histories_that_run_together_follows_the_queue_of_the_shop(
    job_ms: int, workers: int, is_late: bool, most: int
) -> None:
    """A scripted queue: each history sends all its events at once; a late one runs again alone."""
    within_ms, now_ms = 1_000, 0
    concurrency, free_at_ms = Concurrency(within_ms), [0] * workers
    running, late_ms, widths = deque[tuple[int, int]](), list[int](), set[int]()
    for number in range(300):
        while len(running) >= concurrency.width:
            began_ms, now_ms = running.popleft()
            concurrency.add(now_ms - began_ms)
        end_ms, events = now_ms, 3 + number % 3
        for _ in range(events):
            end_ms = max(now_ms, heappop(free_at_ms)) + job_ms
            heappush(free_at_ms, end_ms)
        running.append((now_ms, end_ms))
        late_ms.append(end_ms - now_ms)
        widths.add(concurrency.width)
        alone_ms = -(-events // workers) * job_ms
        assert alone_ms <= PATIENCE * within_ms
    assert (max(late_ms) > within_ms, max(widths)) == (is_late, most)
