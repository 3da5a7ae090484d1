"""Measures attempts to deliver webhooks."""

import json
from time import perf_counter

from tests.benchmarks.pairs import Plan
from tests.benchmarks.report import Gate, Row
from tests.benchmarks.servers import Server, ServerFailed, bare, emulator
from tests.benchmarks.traffic import COLLECTION, HEADERS, create_body

ATTEMPTS = 2_000
ATTEMPT_GATE = Gate(at_most=1.0)
LATE = {
    "version": 1,
    "name": "late",
    "webhooks": [{"when": {"event": "payment.created"}, "then": {"delay": "10s"}}],
}


def attempts(plan: Plan) -> Row:
    """The processor time of the emulator for an attempt."""
    values, rates = [], []
    with bare() as receiver:
        url = f"http://127.0.0.1:{receiver.port}{COLLECTION}"
        for _ in range(plan.pairs):
            with emulator("--webhook-url", url, "--clock", "frozen") as server:
                _call(server, "PUT", "/_emulator/scenarios/late", LATE)
                for number in range(ATTEMPTS):
                    server.call("POST", COLLECTION, HEADERS, create_body(f"attempt-{number}"))
                before_s, started = server.cpu_s(), perf_counter()
                effects = _call(server, "POST", "/_emulator/clock/advance", {"seconds": 10})
                values.append((server.cpu_s() - before_s) / ATTEMPTS * 1000)
                rates.append(f"{ATTEMPTS / (perf_counter() - started):,.0f}/s")
            if len(effects["effects"]) != ATTEMPTS:
                raise ServerFailed(f"{len(effects['effects'])} attempts instead of {ATTEMPTS}")
    return Row(
        measure="webhook attempt, CPU",
        values=tuple(values),
        gate=ATTEMPT_GATE,
        unit=" ms",
        absolute="; ".join(rates),
    )


def _call(server: Server, method: str, path: str, content: object) -> dict[str, list[object]]:
    body = json.dumps(content).encode()
    status, response = server.call(method, path, {"content-type": "application/json"}, body)
    if status not in {200, 201}:
        raise ServerFailed(f"{method} {path} was answered {status}: {response!r}")
    decoded: dict[str, list[object]] = json.loads(response)
    return decoded
