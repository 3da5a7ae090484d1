"""Samples of the long runs with hostile requests and mutated inputs."""

import pytest

from tests.depth import usually
from tests.long_runs import hostile, parsers
from tests.long_runs.parser_targets import TARGETS

pytestmark = pytest.mark.sampled


def test_valid_and_hostile_requests_get_their_responses() -> None:
    hostile.run(1, usually(1_000, deep=6_000))


@pytest.mark.parametrize("name", TARGETS)
def test_a_parser_returns_a_value_or_raises_its_own_error(name: str) -> None:
    parsers.check_randomly(name, 1, usually(40, deep=300))
