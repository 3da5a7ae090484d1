"""Webhooks in the form of the emulator, and in that of an endpoint of the merchant."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from etb_payments_emulator_pytest import PaymentsAccount, PaymentsEmulatorError

from emulator.http.blocking_client import BlockingEmulator
from emulator.pytest_plugin.account import PaymentsAccount as ExternalAccount
from emulator.pytest_plugin.emulator import PaymentsEmulator
from emulator.scenarios.webhook_form_file import SHIPPED_FORMS, shipped_form
from tests.cli.processes import serving
from tests.pytest_plugin.merchant import create
from tests.pytest_plugin.test_webhooks import application


@contextmanager
def external_account(form: str, logs: Path) -> Iterator[ExternalAccount]:
    """An account in an emulator with a form of webhooks."""
    with serving(f"--webhook-format={form}", logs=logs) as server:
        control = BlockingEmulator(base_url=server.url)
        emulator = PaymentsEmulator(control, is_external=True, webhook_host=None)
        try:
            with emulator.account() as account:
                yield account
        finally:
            emulator.close()


@pytest.mark.parametrize("form", SHIPPED_FORMS)
def test_webhooks_are_read_and_verified_in_the_form_of_the_emulator(
    form: str, tmp_path: Path
) -> None:
    is_signed = shipped_form(form).is_signed
    with external_account(form, tmp_path) as account:
        payment_id = create(account)
        account.pay(payment_id)
        webhooks = account.webhooks
        types = [event["type"] for event in account.events]
        assert [each.type for each in webhooks] == [*filter(shipped_form(form).sends, types)]
        for webhook in webhooks:
            assert (webhook.payment, webhook.data["id"]) == (payment_id, payment_id)
            assert webhook.is_verified is is_signed
            names = {name for name, _ in shipped_form(form).headers}
            assert webhook.headers.keys() == {"content-type", "user-agent", *names}
        rule = {"when": {"event": "payment.completed"}, "then": {"tamper": "body"}}
        account.use_scenario({"name": "forged", "webhooks": [rule]})
        account.pay(create(account))
        assert not account.webhooks[-1].is_verified


def test_a_stale_webhook_is_not_verified(payments_account: PaymentsAccount) -> None:
    rule = {"when": {"event": "payment.created"}, "then": {"tamper": "stale"}}
    payments_account.use_scenario({"name": "stale", "webhooks": [rule]})
    create(payments_account)
    [stale] = payments_account.webhooks
    assert stale.is_signed_with(payments_account.webhook_secret)
    assert not stale.is_verified


def test_an_endpoint_may_have_its_own_form(payments_account: PaymentsAccount) -> None:
    mine = {
        "version": 1,
        "name": "mine",
        "body": "{payment.id}",
        "signature": {"algorithm": "none"},
    }
    with application() as app:
        endpoint = payments_account.deliver_to(app.url, secret="a" * 24, format="hex-header")
        payments_account.deliver_to(f"{app.url}/other", format=mine)
        payment_id = create(payments_account)
        payments_account.pay(payment_id)
        assert endpoint.secret == "a" * 24
        signed = [headers.get("x-signature", "") for headers in app.headers]
        assert [len(signature) for signature in signed if signature] == [128]
        assert app.bodies.count(f'"{payment_id}"'.encode()) == 3
        assert all(webhook.is_verified for webhook in payments_account.webhooks)
        with pytest.raises(PaymentsEmulatorError, match="format"):
            payments_account.deliver_to(app.url, format="hex")
