"""An emulator that runs elsewhere: it has to find the way to the tests, or they are told."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from etb_payments_emulator_pytest import PaymentsEmulator as Own

from emulator.pytest_plugin.control_client import ControlClient, PaymentsEmulatorError
from emulator.pytest_plugin.emulator import PaymentsEmulator
from tests.pytest_plugin.merchant import create

# Whoever is told this host looks for the tests where they do not listen.
NOT_HERE = "::1"


@contextmanager
def elsewhere(own: Own, webhook_host: str | None) -> Iterator[PaymentsEmulator]:
    """The emulator of this run, as one of which nobody knows where it is."""
    control = ControlClient(base_url=own.base_url)
    emulator = PaymentsEmulator(control, is_foreign=True, webhook_host=webhook_host)
    try:
        yield emulator
    finally:
        emulator.close()


@pytest.mark.parametrize("webhook_host", [None, "localhost"])
def test_it_sends_its_webhooks_to_where_it_is_asked_from_or_to_the_host_that_it_is_told(
    payments_emulator: Own, webhook_host: str | None
) -> None:
    with elsewhere(payments_emulator, webhook_host) as emulator, emulator.account() as account:
        create(account)
        [webhook] = account.webhooks
        assert webhook.is_verified
        [endpoint] = account.control("GET", "/webhook_endpoints")["data"]
        assert endpoint["url"].startswith(f"http://{webhook_host or '127.0.0.1'}:")


def test_where_it_cannot_reach_the_tests_they_hear_nothing_and_are_told_why(
    payments_emulator: Own,
) -> None:
    with elsewhere(payments_emulator, NOT_HERE) as emulator:
        for _ in range(2):
            with emulator.account() as account:
                account.pay(create(account))
                assert account.control("GET", "/webhook_endpoints")["data"] == []
                with pytest.raises(PaymentsEmulatorError) as deaf:
                    _ = account.webhooks
                account.reset()
                assert account.control("GET", "/webhook_endpoints")["data"] == []
                said = str(deaf.value)
    assert "do not reach the tests at http://[::1]:" in said
    assert "--payments-emulator-webhook-host names the host" in said
