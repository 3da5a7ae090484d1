"""What a list of the dashboard costs, relative to a bare Starlette route."""

from collections.abc import Iterator

import pytest

from tests.benchmarks.dashboard_measures import lists
from tests.benchmarks.pairs import Generator, Plan
from tests.benchmarks.servers import REPOSITORY


@pytest.fixture
def generator() -> Iterator[Generator]:
    generator = Generator()
    yield generator
    generator.close()


@pytest.mark.deep
def test_a_list_costs_a_limited_amount_with_10_000_payments(generator: Generator) -> None:
    plan = Plan(pairs=5, burst_s=0.25, starts=0, tree=REPOSITORY)
    missed = [row for row in lists(plan, generator) if row.gate and not row.gate.admits(row.median)]
    assert not missed
