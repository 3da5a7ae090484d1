"""The script of the long run `determinism`: its bytes are equal in each environment."""

import asyncio
import re

import pytest

from emulator.scenarios.runner.results import CaseResult
from emulator.tools.replay.report import report
from tests.long_runs.determinism import compare
from tests.long_runs.one_script import odd_case, replay, result_bytes
from tests.tools.replay.player import case

ODD = odd_case()
PLAIN = case("- create: {as: order}\n- expect: {webhooks: [payment.created]}", name="plain")


@pytest.fixture(scope="module")
def alone() -> CaseResult:
    [odd] = asyncio.run(replay([ODD]))
    return odd


@pytest.mark.deep
def test_two_environments_have_the_same_bytes() -> None:
    assert compare(seed=1, count=4)["serve"].total() == 4


def test_the_compared_result_contains_everything_that_happens(alone: CaseResult) -> None:
    trace = alone.trace
    assert {request.status for request in trace.requests} == {200, 201, 500, 503}
    types = {event.type.removeprefix("payment.") for event in trace.events}
    assert types == {"created", "processing", "completed", "failed", "expired", "refunded"}
    assert {webhook.type for webhook in trace.webhooks} == {f"payment.{each}" for each in types}
    assert {webhook.is_genuine for webhook in trace.webhooks} == {True, False}


def test_a_result_does_not_depend_on_other_cases_and_contains_no_port(alone: CaseResult) -> None:
    played = asyncio.run(replay([PLAIN, ODD]))
    assert result_bytes(played[1]) == result_bytes(alone)
    for content in (report(played, skipped=0), *map(result_bytes, played)):
        assert set(re.findall(rb"127\.0\.0\.1:(\d+)", content)) == {b"8081"}
