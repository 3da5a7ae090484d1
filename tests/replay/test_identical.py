"""Two replays of one file are byte-identical, journal and webhooks included."""

import asyncio
import re

import pytest

from emulator.replay.report import report
from emulator.replay.results import Case, Result
from tests.depth import usually
from tests.replay.stages import case
from tests.replay.thousand import hashes, loops, replayed
from tests.replay.tracing import trace_of

TIMES = usually(8, deep=30)
# Several payments at once, so that chance would have a say in the order of their webhooks.
RULES = """
webhooks:
  - {when: {event: payment.created}, then: {copies: 2}}
  - {when: {event: payment.processing}, then: {hold: true}}
  - {when: {event: payment.completed}, then: {tamper: timestamp}}
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


def results(*cases: Case, at_a_time: int = 1) -> list[Result]:
    return asyncio.run(replayed(cases, at_a_time=at_a_time))


@pytest.mark.sampled
def test_replays_are_byte_identical_on_each_event_loop() -> None:
    run_on = loops()
    seen = {run_on[time % len(run_on)](hashes((ODD,)))[0] for time in range(TIMES)}
    assert len(seen) == 1


def test_what_is_compared_is_all_that_there_is() -> None:
    [odd] = results(ODD)
    assert len(odd.trace.requests) == 10
    assert {request.status for request in odd.trace.requests} == {200, 201, 500, 503}
    # Of each payment, each event: two created twice, of those that were paid two more, ...
    assert len(odd.trace.events) == 4 + 2 + 2 + 2
    assert len(odd.trace.webhooks) == 4 * 2 + 2 + 2 + 2
    assert {webhook.is_genuine for webhook in odd.trace.webhooks} == {True, False}


def test_a_case_does_not_depend_on_what_else_is_played() -> None:
    [alone] = results(ODD)
    for at_a_time in (1, 4):
        [_, beside] = results(PLAIN, ODD, at_a_time=at_a_time)
        assert trace_of(beside) == trace_of(alone)


def test_reports_are_byte_identical_and_no_port_is_in_them() -> None:
    played = results(ODD, PLAIN)
    written = report(played, skipped=0)
    assert report(results(ODD, PLAIN, at_a_time=2), skipped=0) == written
    for content in (written, *map(trace_of, played)):
        assert set(re.findall(rb"127\.0\.0\.1:(\d+)", content)) == {b"8081"}
