"""A short name for the fixture that most tests of the plugin use."""

import pytest
from etb_payments_emulator_pytest import PaymentsAccount


@pytest.fixture
def account(payments_account: PaymentsAccount) -> PaymentsAccount:
    return payments_account
