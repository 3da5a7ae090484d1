"""Two replays of a file have equal bytes, journal and webhooks included."""

import asyncio
import re

import pytest

from emulator.tools.replay.report import report
from emulator.tools.replay.results import Case, CaseResult
from tests.depth import usually
from tests.tools.replay.player import case
from tests.tools.replay.thousand import event_loops, hashes, replay, result_bytes

TIMES = usually(4, deep=30)
# Several payments at once, so that the order of their webhooks would depend on chance.
RULES = """
webhooks:
  - {when: {event: payment.created}, then: {copies: 2}}
  - {when: {event: payment.processing}, then: {hold: true}}
  - {when: {event: payment.completed}, then: {tamper: timestamp, copies: 3, concurrent: true}}
  - {when: {event: payment.expired}, then: {delay: 1m}}
faults:
  - {when: {request: create_payment, nth: 3}, then: {status: 500, point: after_commit}}
  - {when: {request: retrieve_payment, chance: 0.5}, then: {status: 503}}
"""
SCRIPT = """
- repeat: {times: 2, steps: [{create: {as: order, metadata: {name: "አበበ"}}}]}
- create: {as: lost, idempotency_key: k}
- expect: {http_status: 500}
- create: {as: lost, idempotency_key: k}
- create: {as: third}
- repeat: {times: 5, steps: [{retrieve: order}, {expect: {lost: false}}]}
- pay: {payment: order, phone: "0900000001"}
- pay: {payment: third, phone: "0900000003"}
- advance: 1h
- expect: {webhooks: []}
"""
ODD = case(SCRIPT, RULES, name="odd")
PLAIN = case("- create: {as: order}\n- expect: {webhooks: [payment.created]}", name="plain")


def results(*cases: Case, max_concurrent: int = 1) -> list[CaseResult]:
    return asyncio.run(replay(cases, max_concurrent=max_concurrent))


@pytest.fixture(scope="module")
def alone() -> CaseResult:
    [odd] = results(ODD)
    return odd


@pytest.mark.sampled
def test_replays_are_byte_identical_on_each_event_loop() -> None:
    loops = event_loops()
    assert len({loops[time % len(loops)](hashes((ODD,)))[0] for time in range(TIMES)}) == 1


def test_the_compared_result_contains_everything_that_happened(alone: CaseResult) -> None:
    trace = alone.trace
    assert len(trace.requests) == 10
    assert {request.status for request in trace.requests} == {200, 201, 500, 503}
    # The events of each payment: four created, two paid with two more events each, two expired.
    assert len(trace.events) == 4 + 2 + 2 + 2
    assert len(trace.webhooks) == 4 * 2 + 2 + (3 + 1) + 2
    assert {webhook.is_genuine for webhook in trace.webhooks} == {True, False}


def test_a_result_does_not_depend_on_other_cases_and_contains_no_port(alone: CaseResult) -> None:
    reports = set()
    for max_concurrent in (1, 4):
        played = results(PLAIN, ODD, max_concurrent=max_concurrent)
        assert result_bytes(played[1]) == result_bytes(alone)
        reports.add(report(played, skipped=0))
    assert len(reports) == 1
    for content in (*reports, *map(result_bytes, played)):
        assert set(re.findall(rb"127\.0\.0\.1:(\d+)", content)) == {b"8081"}
