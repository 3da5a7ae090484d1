"""Ends servers with a file database while clients use them, and compares with one that runs on.

The file is used from round to round. The moments are drawn from the seed: after a number of
requests and some milliseconds.
"""

import re
import shutil
import signal
import subprocess
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from random import Random  # noqa: TID251 - drawn from a seed
from tempfile import TemporaryFile, mkdtemp
from threading import Condition

from tests.cli.invocation import webhook_receiver
from tests.cli.processes import HANGS_AFTER_S, Answer, Server, ended, serving, start
from tests.long_runs.crash_merchants import Merchant
from tests.long_runs.crash_state import check_database, fill_log
from tests.server.storage.test_database_file import limited_files

COUNT = 500
TERMINATIONS_PER_KILL = 0.1
MAX_CALLS = 60
MAX_DELAY_S = 0.03
START_S = 0.2
CLOSED = "http://127.0.0.1:9/closed"
# The database is used by one program after the other, on other ports.
CHECKOUT = ("--checkout-url", "http://127.0.0.1:8081")
MIN_FILE_BYTES, MAX_FILE_BYTES = 32 * 1024, 256 * 1024
KILL, KILL_EARLY, FULL = "kill", "kill at start", "kill after a full disk"
TERMINATE = "SIGTERM"
LOG_LINE = re.compile(r"\d\d:\d\d:\d\d\.\d{3} [A-Z]+ /|WARNING webhook payment")
TWIN_HANGS_AFTER_S = 6 * 3_600


class Progress:
    """Counts the calls of all merchants."""

    def __init__(self) -> None:
        self.is_over = False
        self._count = 0
        self._changed = Condition()

    def add(self, count: int) -> None:
        with self._changed:
            self._count += count
            self._changed.notify_all()

    def may_call(self) -> bool:
        self.add(1)
        return not self.is_over

    def wait_for(self, count: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self._count >= count, HANGS_AFTER_S)


def shop_status(request: BaseHTTPRequestHandler, _: bytes) -> int:
    """Of `/half` the shop refuses half of the events, of `/down` all."""
    is_odd = ord(request.headers["webhook-id"][-1]) % 2
    refuses = request.path == "/down" or (request.path == "/half" and is_odd)
    return 503 if refuses else 200


class Rounds:
    """Servers on one file, one after the other, and the twin."""

    def __init__(self, seed: int, directory: Path, url: str, stack: ExitStack) -> None:
        self._chance = Random(f"{seed} rounds")  # noqa: S311 - no secret
        self._logs = directory
        self.database = directory / "kept.sqlite3"
        self.ends: Counter[str] = Counter()
        self._pool = stack.enter_context(ThreadPoolExecutor(4))
        self._twin = stack.enter_context(
            serving(*CHECKOUT, logs=directory, hangs_after_s=TWIN_HANGS_AFTER_S)
        )
        self.merchants = [
            Merchant("ledger", seed, (f"{url}/half",), keeps=True),
            Merchant("shop", seed, (f"{url}/ok",), keeps=False),
            Merchant("cafe", seed, (f"{url}/down",), keeps=False),
            Merchant("bakery", seed, (f"{url}/half", CLOSED), keeps=False),
        ]

    def open(self) -> None:
        with self._serving() as server:
            for merchant in self.merchants:
                merchant.open(server)
                merchant.open(self._twin)
            assert server.stop() == 0

    def run(self, end: str) -> None:
        """Compare what the server before left, and use this one until it ends."""
        self.ends[end] += 1
        if end == KILL_EARLY:
            self._kill_at_start()
            return
        with self._serving() as server:
            self._compare(server)
            if end == FULL:
                self._fill(server)
                self._compare(server)
            progress = Progress()
            uses = self._use(server, progress)
            progress.wait_for(self._chance.randint(1, MAX_CALLS))
            _pause(server, self._chance.uniform(0, MAX_DELAY_S))
            self._end(server, end)
            assert [use.result() for use in uses] == [None] * len(uses)
            if end != FULL:
                check_log(server)

    def _use(self, server: Server, progress: Progress) -> list[Future[Answer | None]]:
        return [self._pool.submit(each.use, server, progress.may_call) for each in self.merchants]

    def _fill(self, server: Server) -> None:
        """Use a server whose files cannot grow.

        Either hardly anything can be written, or the log can be emptied into the database file.
        """
        progress = Progress()
        limit_bytes = self._chance.randint(MIN_FILE_BYTES, MAX_FILE_BYTES)
        if self._chance.random() < 0.5:
            limit_bytes += fill_log(self.database)
        with limited_files(server, limit_bytes):
            uses = self._use(server, progress)
            for use in uses:
                use.add_done_callback(lambda _: progress.add(MAX_CALLS // 2))
            progress.wait_for(MAX_CALLS)
        progress.is_over = True
        for use in uses:
            answer = use.result()
            assert answer is None or answer.json["error"]["code"] == "internal_error", answer

    def close(self) -> int:
        """Compare everything; returns the number of payments in the file."""
        with self._serving() as server:
            self._compare(server)
            count = sum(each.compare_all(server, self._twin) for each in self.merchants)
            assert server.stop() == 0
        return count

    def _serving(self) -> AbstractContextManager[Server]:
        return serving("--database", str(self.database), *CHECKOUT, logs=self._logs)

    def _compare(self, server: Server) -> None:
        compared = [self._pool.submit(each.compare, server, self._twin) for each in self.merchants]
        for each in compared:
            each.result()
        check_database(self.database)

    def _end(self, server: Server, end: str) -> None:
        if end in {KILL, FULL}:
            server.kill()
            return
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(HANGS_AFTER_S) == 0
        assert not Path(f"{self.database}-wal").exists()

    def _kill_at_start(self) -> None:
        options = ("--database", str(self.database), *CHECKOUT)
        with TemporaryFile("w+") as stderr:
            process = start(*options, stdout=subprocess.DEVNULL, stderr=stderr)
            with ended(process), suppress(subprocess.TimeoutExpired):
                process.wait(self._chance.uniform(0, START_S))


def _pause(server: Server, length_s: float) -> None:
    with suppress(subprocess.TimeoutExpired):
        server.process.wait(length_s)
        raise AssertionError(f"the server has ended: {server.stderr}")


def check_log(server: Server) -> None:
    """The log has only requests and failed deliveries."""
    complete, _, _ = server.stderr.rpartition("\n")  # A kill may cut the last line.
    lines = [line for line in complete.splitlines() if not LOG_LINE.match(line)]
    assert not lines, lines


def drawn_ends(seed: int, count: int) -> list[str]:
    """The ends of all servers, in the order of the rounds; `count` of them are kills."""
    some = max(1, count // 10)
    ends = [KILL] * (count - 2 * some) + [KILL_EARLY, FULL] * some
    ends += [TERMINATE] * max(1, round(count * TERMINATIONS_PER_KILL))
    Random(f"{seed} ends").shuffle(ends)  # noqa: S311 - no secret
    return ends


def run(seed: int, count: int) -> dict[str, str]:
    directory = Path(mkdtemp(prefix="crash-"))
    with ExitStack() as stack:
        rounds = Rounds(seed, directory, stack.enter_context(webhook_receiver(shop_status)), stack)
        rounds.open()
        for number, end in enumerate(drawn_ends(seed, count)):
            try:
                rounds.run(end)
            except AssertionError as error:
                error.add_note(f"seed {seed}, round {number} ({end}); its files: {directory}")
                raise
        payments = rounds.close()
    shutil.rmtree(directory)
    acknowledged = sum(each.acknowledged for each in rounds.merchants)
    unanswered = sum(each.completed_unanswered for each in rounds.merchants)
    return {
        "Ends": ", ".join(f"{number} × {end}" for end, number in sorted(rounds.ends.items())),
        "Acknowledged calls, each with the same answer from the twin": f"{acknowledged:,}",
        "Calls whose answer was lost and that had taken effect": f"{unanswered:,}",
        "Payments in the file at the end": f"{payments:,}",
    }
