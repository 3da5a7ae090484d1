"""`PaymentsEmulator`: creates and deletes the accounts of tests in one emulator.

The emulator of a run is a running one, or a new server that all workers share.
"""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from pathlib import Path

import pytest

from ..http import emulator_calls as calls
from ..http.addresses import BaseUrl
from ..http.blocking_client import BlockingEmulator, IdleConnections
from ..http.emulator_calls import TEST_KEY_VARIABLE, Json, PaymentsEmulatorError, without_none
from .account import PaymentsAccount
from .server import ServerLease, join_or_start, start
from .webhooks import ReceiverThread, WebhookSubscription

_NAME = "payments-emulator"
CLOCK = "frozen@2026-01-01T00:00:00Z"
MAX_CONNECT_S = 10


class PaymentsEmulator:
    """A running emulator; `base_url` is the API root for the merchant's code."""

    def __init__(
        self, control: BlockingEmulator, *, is_external: bool, webhook_host: str | None
    ) -> None:
        self.base_url = control.base_url
        self._connections = IdleConnections()
        self._control = replace(control, idle_connections=self._connections)
        self._webhook_host = webhook_host
        # The key of an application which is configured by its environment.
        self._shared_key = os.environ.get(TEST_KEY_VARIABLE) if is_external else None
        # A server that this run has started is on this machine, and reaches the receiver.
        self._is_webhook_tested = not is_external
        self._no_webhooks_reason: str | None = None
        self._started_receiver: ReceiverThread | None = None

    def __repr__(self) -> str:
        return f"<PaymentsEmulator at {self.base_url}>"

    @contextmanager
    def account(
        self, name: str | None = None, *, clock: str = CLOCK, vary: str | int | None = None
    ) -> Iterator[PaymentsAccount]:
        """A new account for the length of the block.

        An account with a name has the same keys, ids and secrets in every run. The clock and the
        variants are written as for `serve`. At a running emulator, requests with the key of the
        variable PAYMENTS_EMULATOR_TEST_KEY belong to the account, too, unless they belong to
        another one. Raises PaymentsEmulatorError.
        """
        created = self._create(name, without_none({"clock": clock, "vary": vary}))
        control = replace(self._control, key=created["test_key"])
        subscription = WebhookSubscription(control, self._receiver)
        try:
            self._subscribe(subscription)
            yield PaymentsAccount(control, created, subscription)
        finally:
            self._delete(created["id"])
            subscription.close()

    def close(self) -> None:
        if self._started_receiver is not None:
            self._started_receiver.close()
        self._connections.close()

    def _create(self, name: str | None, settings: Json) -> Json:
        named: Json = {}
        if name is not None:
            digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).digest()
            named["seed"] = int.from_bytes(digest[:8], "big", signed=True)
            named["test_key"] = f"test_{digest.hex()}"
        shared = without_none({"takes_over": self._shared_key})
        while True:
            try:
                body = {**settings, **named, **shared}
                return self._control.call(calls.CREATE_ACCOUNT(body=body))
            except PaymentsEmulatorError as error:
                if error.param in named:
                    # Another run with the same emulator uses it, so that ids differ from others.
                    named = {}
                elif error.param in shared:
                    # Another account of this run has it, or the first account has another value.
                    shared = {}
                else:
                    raise

    def _delete(self, account_id: str) -> None:
        try:
            self._control.call(calls.DELETE_ACCOUNT(account_id))
        except PaymentsEmulatorError as error:
            if error.code != "account_not_found":  # A test may have deleted it.
                raise

    def _subscribe(self, subscription: WebhookSubscription) -> None:
        """Subscribe, unless the first subscription has shown that webhooks do not arrive."""
        if self._no_webhooks_reason is None:
            subscription.subscribe()
        if not self._is_webhook_tested:
            self._is_webhook_tested = True
            if reason := subscription.ping():
                self._no_webhooks_reason = (
                    f"webhooks of the payments emulator at {self.base_url} do not reach the tests"
                    f" at {self._receiver.base_url}: {reason}; --payments-emulator-webhook-host"
                    " names the host by which it can reach them, such as host.docker.internal"
                )
        if self._no_webhooks_reason is not None:
            subscription.give_up(self._no_webhooks_reason)

    @property
    def _receiver(self) -> ReceiverThread:
        if self._started_receiver is None:
            self._started_receiver = ReceiverThread(self._local_address(), self._webhook_host)
        return self._started_receiver

    def _local_address(self) -> str:
        """The address of this machine that the emulator sees. Raises PaymentsEmulatorError."""
        url = BaseUrl.parse(self.base_url)
        try:
            with socket.create_connection((url.host, url.port), MAX_CONNECT_S) as connection:
                return str(connection.getsockname()[0])
        except OSError as error:
            raise PaymentsEmulatorError(
                f"the payments emulator at {self.base_url} does not respond: {error}"
            ) from None


@contextmanager
def session_emulator(
    config: pytest.Config, directories: pytest.TempPathFactory, url: str | None, source: str
) -> Iterator[PaymentsEmulator]:
    """The emulator of a run; without an emulator, the tests that need it fail with a sentence.

    `source` is the option or the variable that has the URL of a running one.
    """
    lease = None
    try:
        if url is None:
            lease = _lease_server(config, directories.getbasetemp())
            control = BlockingEmulator(base_url=lease.server.base_url, log=Path(lease.server.log))
            emulator = PaymentsEmulator(control, is_external=False, webhook_host=None)
        else:
            host = config.getoption("payments_emulator_webhook_host")
            emulator = _external(url, source, host)
    except PaymentsEmulatorError as error:
        # `from None`: pytest would also show the cause, which says the same.
        raise pytest.fail.Exception(str(error), pytrace=False) from None
    try:
        yield emulator
    finally:
        emulator.close()
        if lease is not None:
            lease.release()


def _external(url: str, source: str, webhook_host: str | None) -> PaymentsEmulator:
    """Raises PaymentsEmulatorError when it does not respond; `source` names the URL."""
    try:
        BlockingEmulator(base_url=url, timeout_s=calls.MAX_IDENTIFICATION_S).call(calls.HEALTH)
    except PaymentsEmulatorError as error:
        raise PaymentsEmulatorError(
            f"{source} {url}: {error}; expected what `serve` prints as API"
        ) from None
    control = BlockingEmulator(base_url=url)
    return PaymentsEmulator(control, is_external=True, webhook_host=webhook_host)


def _lease_server(config: pytest.Config, temporary: Path) -> ServerLease:
    """The server of this run, which all workers of pytest-xdist share."""
    start_server = partial(start, config.getini("payments_emulator_options"), config.rootpath)
    worker = getattr(config, "workerinput", None)
    files = temporary / _NAME
    if worker is not None:
        # Workers' directories are side by side; on another machine, beside other runs' directories.
        files = temporary.parent / f"{_NAME}-{worker['testrunuid']}"
    lease = join_or_start(files, start_server)
    # Not in the fixture: there one worker would wait for all tests of the others.
    config.add_cleanup(partial(lease.wait, is_shared=worker is not None))
    return lease
