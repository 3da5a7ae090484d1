"""What pages of the dashboard cost, relative to a bare Starlette route."""

from collections.abc import Iterator

import pytest

from tests.benchmarks.dashboard_measures import pages
from tests.benchmarks.pairs import Generator, Plan
from tests.benchmarks.servers import REPOSITORY


@pytest.fixture
def generator() -> Iterator[Generator]:
    generator = Generator()
    yield generator
    generator.close()


@pytest.mark.deep
def test_a_page_costs_no_more_with_10_000_payments_than_with_100(generator: Generator) -> None:
    plan = Plan(pairs=9, burst_s=0.25, starts=0, tree=REPOSITORY)
    missed = [row for row in pages(plan, generator) if row.gate and not row.gate.admits(row.median)]
    assert not missed
