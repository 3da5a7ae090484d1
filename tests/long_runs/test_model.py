"""Samples of the random calls that are compared with the model of the service."""

import pytest

from tests.depth import usually
from tests.long_runs.checkout_machine import CheckoutMachine
from tests.long_runs.model import run

pytestmark = pytest.mark.sampled


def test_calls_about_payments_have_the_results_of_the_model() -> None:
    run(1, usually(150, deep=300), CheckoutMachine)


def test_calls_of_all_kinds_have_the_results_of_the_model() -> None:
    run(2, usually(100, deep=500))
