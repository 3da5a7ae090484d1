"""A sample of the random calls that are compared with the model of the service."""

import pytest

from tests.depth import usually
from tests.long_runs.model import run


@pytest.mark.clause("2.1.8", "3.2", "3.4", "4.4.7", "8.6")
@pytest.mark.sampled
def test_calls_about_payments_have_the_results_of_the_model() -> None:
    run(1, usually(300, deep=800))
