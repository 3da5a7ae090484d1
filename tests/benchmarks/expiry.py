"""100,000 payments that expire in one advance, against one set-based UPDATE in the same run.

The limit is a single `UPDATE` of the same rows in a copy of the same file: it writes no event,
fires no timer and notifies no client. Meanwhile a heartbeat measures for how long the event loop of
the subject is ever held.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import uvloop

from emulator.clock import RealClock
from emulator.domain.instants import parse_clock
from emulator.server.app.composition import Running, compose
from emulator.server.app.server import collect_rarely
from emulator.server.engine.accounts.clock_service import Target
from emulator.server.engine.payments.payments import Order
from emulator.settings import Settings
from tests.benchmarks.report import Gate, Row

PAYMENTS = 100_000
RUNS = 3
CREATED_AT_ONCE = 200
EXPIRES_IN_S = 1_800
HEARTBEAT_S = 0.005

ORDER = Order(
    amount_minor=125_000,
    methods=("telebirr", "mpesa", "bank_transfer"),
    success_url="https://shop.example.com/orders/100042/success?source=hosted",
    cancel_url="https://shop.example.com/orders/100042/cancelled?source=hosted",
    metadata={"order_id": "100042", "branch": "Bole"},
    expires_in_s=EXPIRES_IN_S,
)
LIMIT = "UPDATE payments SET status = 'expired' WHERE status = 'pending' AND expires_at <= ?"


def measure() -> list[Row]:
    """The ratio of times, and the longest that the loop was held, over a few runs."""
    collect_rarely()  # as `serve` does
    ratios, held_ms, seconds = [], [], []
    for _ in range(RUNS):
        with TemporaryDirectory() as directory:
            limit_s, subject_s, longest_s = uvloop.run(_expire(Path(directory)))
        ratios.append(subject_s / limit_s)
        held_ms.append(longest_s * 1000)
        seconds.append(f"{limit_s:.2f} → {subject_s:.2f} s")
    return [
        Row(
            measure=f"expiry of {PAYMENTS:,}",
            values=tuple(ratios),
            gate=Gate(at_most=2.5),
            absolute="; ".join(seconds) + "; 1.00 is one UPDATE of the same rows, without events",
        ),
        Row(
            measure="loop held, at most",
            values=tuple(held_ms),
            gate=Gate(at_most=50.0),
            unit=" ms",
            absolute=f"by a heartbeat every {HEARTBEAT_S * 1000:.0f} ms during the advance",
        ),
    ]


async def _expire(directory: Path) -> tuple[float, float, float]:
    async with _populated(directory / "subject.db") as running:
        limit_s = _time_limit(directory)
        account = running.engine.accounts.first
        beating = asyncio.create_task(_heartbeat())
        await asyncio.sleep(0.05)
        started = perf_counter()
        advanced = await running.engine.clock_service.advance(
            account, Target(by_ms=EXPIRES_IN_S * 1000)
        )
        subject_s = perf_counter() - started
        beating.cancel()
        (longest_s,) = await asyncio.gather(beating)
    if len(advanced.effects) != PAYMENTS or not advanced.is_settled:
        raise SystemExit(f"{len(advanced.effects):,} effects instead of {PAYMENTS:,}")
    return limit_s, subject_s, longest_s


@asynccontextmanager
async def _populated(path: Path) -> AsyncIterator[Running]:
    settings = Settings(database=str(path), clock=parse_clock("frozen@2026-01-01T00:00:00Z"))
    async with compose(
        settings, wall=RealClock(), api_port=8080, checkout_port=8081, write_log=lambda _: None
    ) as running:
        owner = running.engine.accounts.first.test
        for _ in range(PAYMENTS // CREATED_AT_ONCE):
            creates = (
                running.engine.payments.create(owner, ORDER, objection=None)
                for _ in range(CREATED_AT_ONCE)
            )
            await asyncio.gather(*creates)
        yield running


def _time_limit(directory: Path) -> float:
    """Copy the database as it stands, through SQLite, and time the one statement."""
    copy = directory / "limit.db"
    source = sqlite3.connect(directory / "subject.db")
    target = sqlite3.connect(copy, isolation_level=None)
    source.backup(target)
    source.close()
    target.execute("PRAGMA journal_mode = WAL")
    target.execute("PRAGMA synchronous = NORMAL")
    started = perf_counter()
    changed = target.execute(LIMIT, (1 << 62,)).rowcount
    elapsed = perf_counter() - started
    target.close()
    if changed != PAYMENTS:
        raise SystemExit(f"the limit changed {changed:,} rows instead of {PAYMENTS:,}")
    copy.unlink()
    return elapsed


async def _heartbeat() -> float:
    """The longest that a beat came late, in seconds."""
    longest_s = 0.0
    before = perf_counter()
    try:
        while True:
            await asyncio.sleep(HEARTBEAT_S)
            now = perf_counter()
            longest_s = max(longest_s, now - before - HEARTBEAT_S)
            before = now
    except asyncio.CancelledError:
        return longest_s
