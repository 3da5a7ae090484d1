"""An emulator that the test run has not started, which must find a way to the tests."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from etb_payments_emulator_pytest import PaymentsEmulator as StartedEmulator

from emulator.http.blocking_client import BlockingEmulator
from emulator.http.emulator_calls import PaymentsEmulatorError
from emulator.pytest_plugin.emulator import PaymentsEmulator
from tests.pytest_plugin.merchant import create

# At this host the tests do not listen.
WRONG_HOST = "::1"


@contextmanager
def external(started: StartedEmulator, webhook_host: str | None) -> Iterator[PaymentsEmulator]:
    """The emulator of this run, as if the run had not started it."""
    control = BlockingEmulator(base_url=started.base_url)
    emulator = PaymentsEmulator(control, is_external=True, webhook_host=webhook_host)
    try:
        yield emulator
    finally:
        emulator.close()


@pytest.mark.parametrize("webhook_host", [None, "localhost"])
def test_webhooks_are_sent_to_the_address_of_the_tests_or_to_the_named_host(
    payments_emulator: StartedEmulator, webhook_host: str | None
) -> None:
    with external(payments_emulator, webhook_host) as emulator, emulator.account() as account:
        create(account)
        [webhook] = account.webhooks
        assert webhook.is_verified
        [endpoint] = account.control("GET", "/webhook_endpoints")["data"]
        assert endpoint["url"].startswith(f"http://{webhook_host or '127.0.0.1'}:")


def test_webhooks_that_cannot_arrive_are_explained_when_they_are_read(
    payments_emulator: StartedEmulator,
) -> None:
    with external(payments_emulator, WRONG_HOST) as emulator:
        for _ in range(2):
            with emulator.account() as account:
                account.pay(create(account))
                assert account.control("GET", "/webhook_endpoints")["data"] == []
                for read in (lambda: account.webhooks, lambda: account.webhook_secret):
                    with pytest.raises(PaymentsEmulatorError) as raised:
                        read()
                assert account.checklist()[0]["result"] == "not_exercised"
                account.reset()
                assert account.control("GET", "/webhook_endpoints")["data"] == []
    assert "do not reach the tests at http://[::1]:" in str(raised.value)
    assert "--payments-emulator-webhook-host names the host" in str(raised.value)
