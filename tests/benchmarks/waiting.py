"""Measures what a developer waits for: commands, replay, and tests with the pytest plugin."""

import json
import os
import re
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.benchmarks.http_measures import HEADERS
from tests.benchmarks.pairs import Generator, Plan
from tests.benchmarks.report import Gate, Row
from tests.benchmarks.servers import ServerFailed, bare, emulator, environment
from tests.benchmarks.traffic import COLLECTION, create_body

CREATES_IN_MEMORY = 50_000
MEMORY_GATE = Gate(at_most=70.0)
# Of the processor time of a Python that does nothing, such as 13 ms.
COMMANDS = (
    ("--help", ("--help",), Gate(at_most=5.6)),
    ("check of a file", ("check", "scenarios/lost-webhooks.yaml"), Gate(at_most=5.6)),
)
# Of the start of the limit and one request to it for each step.
REPLAY_GATE = Gate(at_most=1.5)
# A test with an account sends 3 requests, and one with a payment and its webhooks 7.
SESSION_GATE = Gate(at_most=1.0)
ACCOUNT_REQUESTS, ACCOUNT_GATE = 3, Gate(at_most=2.0)
PAYMENT_REQUESTS, PAYMENT_GATE = 7, Gate(at_most=2.5)

_STEPS = re.compile(r"(\d+) steps")
_TESTS = """
import http.client, json, statistics, time
from urllib.parse import urlsplit

BODY, HEADERS = {body!r}, {{"Content-Type": "application/json"}}

def timed(function, *arguments):
    started = time.perf_counter()
    function(*arguments)
    return (time.perf_counter() - started) * 1000

def account(emulator, number):
    with emulator.account(f"account {{number}}"):
        pass

def payment(emulator, number):
    with emulator.account(f"payment {{number}}") as account:
        url = urlsplit(emulator.base_url)
        connection = http.client.HTTPConnection(url.hostname, url.port)
        key = {{"Authorization": f"Bearer {{account.test_key}}"}}
        connection.request("POST", "/v1/payments", BODY, HEADERS | key)
        created = json.load(connection.getresponse())
        connection.close()
        account.pay(created["id"])
        webhooks = account.webhooks
        assert len(webhooks) == 3 and all(webhook.is_verified for webhook in webhooks)

def test_waiting(request):
    session = timed(request.getfixturevalue, "payments_emulator")
    emulator = request.getfixturevalue("payments_emulator")
    values = [[timed(test, emulator, n) for n in range(50)] for test in (account, payment)]
    print("measured", json.dumps([session, *map(statistics.median, values)]))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wait:
    """The times of one run of pytest, in milliseconds."""

    session: float
    account: float
    payment: float


def measure(plan: Plan, generator: Generator) -> list[Row]:
    """All rows, each with a limit that was measured in the same turn."""
    rows = [_command_row(plan, *command) for command in COMMANDS]
    return [*rows, _replay_row(plan), *_pytest_rows(plan), _memory_row(plan, generator)]


def _command_row(plan: Plan, name: str, arguments: Sequence[str], gate: Gate) -> Row:
    limit = [sys.executable, "-c", "pass"]
    subject = [sys.executable, "-m", "emulator", *arguments]
    pairs = [(_cpu_ms(limit, plan.tree), _cpu_ms(subject, plan.tree)) for _ in range(plan.starts)]
    return _row(f"{name}, CPU", pairs, gate, "Python without a program")


def _cpu_ms(command: Sequence[str], directory: Path) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _run(command, directory)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000


def _replay_row(plan: Plan) -> Row:
    command = [sys.executable, "-m", "emulator", "replay", "scenarios"]
    pairs = []
    for _ in range(plan.pairs):
        started = time.perf_counter()
        output = _run(command, plan.tree)
        subject_ms = (time.perf_counter() - started) * 1000
        steps = _STEPS.search(output)
        if steps is None:
            raise ServerFailed(f"replay has no steps: {output}")
        pairs.append((_limit_ms(int(steps[1]), includes_start=True), subject_ms))
    return _row("replay", pairs, REPLAY_GATE, "a start and a request for each step")


def _limit_ms(requests: int, *, includes_start: bool = False) -> float:
    """The time that the limit takes for its start, and for requests on new connections."""
    with bare() as limit:
        begun = time.perf_counter()
        for _ in range(requests):
            limit.call("GET", COLLECTION, {})
        requests_ms = (time.perf_counter() - begun) * 1000
        return requests_ms + (limit.ready_after_ms if includes_start else 0)


def _pytest_rows(plan: Plan) -> list[Row]:
    with TemporaryDirectory(prefix="benchmark-") as directory:
        body = create_body("waiting").decode()
        Path(directory, "test_waiting.py").write_text(_TESTS.format(body=body), encoding="utf-8")
        _pytest_wait(plan, directory)
        waits = [(_limit_wait(), _pytest_wait(plan, directory)) for _ in range(plan.pairs)]

    def row(name: str, value: Callable[[_Wait], float], gate: Gate, limit: str) -> Row:
        return _row(f"pytest: {name}", [(value(a), value(b)) for a, b in waits], gate, limit)

    return [
        row("session", lambda wait: wait.session, SESSION_GATE, "the limit's start"),
        row("account", lambda wait: wait.account, ACCOUNT_GATE, f"{ACCOUNT_REQUESTS} requests"),
        row("payment", lambda wait: wait.payment, PAYMENT_GATE, f"{PAYMENT_REQUESTS} requests"),
    ]


def _pytest_wait(plan: Plan, directory: str) -> _Wait:
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider"]
    output = _run([*command, "test_waiting.py"], Path(directory), PYTHONPATH=str(plan.tree))
    _, _, measured = output.partition("measured ")
    session, account, payment = json.loads(measured.splitlines()[0])
    return _Wait(session=session, account=account, payment=payment)


def _limit_wait() -> _Wait:
    with bare() as limit:
        durations = []
        for _ in range(100):
            begun = time.perf_counter()
            limit.call("POST", COLLECTION, HEADERS, b"{}")
            durations.append((time.perf_counter() - begun) * 1000)
        request_ms = statistics.median(durations)
        return _Wait(
            session=limit.ready_after_ms,
            account=ACCOUNT_REQUESTS * request_ms,
            payment=PAYMENT_REQUESTS * request_ms,
        )


def _memory_row(plan: Plan, generator: Generator) -> Row:
    created = 0
    with emulator(plan.tree, "--database", ":memory:") as server:
        while created < CREATES_IN_MEMORY:
            created += generator.burst(server, generator.creates(), 16, plan.burst_s).answered
        memory_mib = server.rss_mib()
    return Row(
        measure="memory, after creates in memory",
        values=(memory_mib,),
        gate=MEMORY_GATE,
        unit=" MiB",
        absolute=f"{created:,} payments",
        numbers={"payments": created},
    )


def _run(command: Sequence[str], directory: Path, **variables: str) -> str:
    ended = subprocess.run(
        command,
        cwd=directory,
        env=environment() | {"NO_COLOR": "1", "TERM": "dumb"} | variables,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if ended.returncode != os.EX_OK:
        raise ServerFailed(f"{' '.join(command)}: {ended.stdout[-2000:]}{ended.stderr[-2000:]}")
    return ended.stdout


def _row(name: str, pairs: Sequence[tuple[float, float]], gate: Gate, limit: str) -> Row:
    a, b = (statistics.median(values) for values in zip(*pairs, strict=True))
    return Row(
        measure=name,
        values=tuple(subject / base for base, subject in pairs),
        gate=gate,
        absolute=f"{a:.1f} → {b:.1f} ms; 1.00 is {limit}",
        numbers={"limit_ms": a, "subject_ms": b},
    )
