"""Measures a test with the pytest plugin: an account, a create, a payment and its webhooks."""

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.benchmarks.pairs import Plan
from tests.benchmarks.report import Gate, Row
from tests.benchmarks.servers import REPOSITORY, ServerFailed, environment
from tests.benchmarks.traffic import create_body

TEST_GATE = Gate(at_most=20.0)
_TESTS = """
import http.client, json, statistics, time
from urllib.parse import urlsplit

BODY, HEADERS = {body!r}, {{"Content-Type": "application/json"}}

def pay(emulator, number):
    started = time.perf_counter()
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
    return (time.perf_counter() - started) * 1000

def test_payments(payments_emulator):
    print("measured", statistics.median(pay(payments_emulator, n) for n in range(50)))
"""


def measure(plan: Plan) -> Row:
    """The median time of a test in each of several runs of pytest."""
    with TemporaryDirectory(prefix="benchmark-") as directory:
        body = create_body("plugin").decode()
        Path(directory, "test_payments.py").write_text(_TESTS.format(body=body), encoding="utf-8")
        values = tuple(_median_ms(directory) for _ in range(plan.pairs))
    return Row(measure="test with the plugin", values=values, gate=TEST_GATE, unit=" ms")


def _median_ms(directory: str) -> float:
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "test_payments.py"],
        cwd=directory,
        env=environment() | {"PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        encoding="utf-8",
    )
    if ended.returncode != os.EX_OK:
        raise ServerFailed(f"pytest: {ended.stdout[-2000:]}{ended.stderr[-2000:]}")
    milliseconds: float = json.loads(ended.stdout.partition("measured ")[2].splitlines()[0])
    return milliseconds
