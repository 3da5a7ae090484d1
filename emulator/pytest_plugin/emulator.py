"""One emulator as the tests of a process see it: it has an account for whoever asks."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from hashlib import blake2b
from typing import Any
from urllib.parse import urlsplit

from .account import Keys, PaymentsAccount
from .control_client import ControlClient, PaymentsEmulatorError
from .receiver import Receiver
from .webhook_subscription import WebhookSubscription

CLOCK = "frozen@2026-01-01T00:00:00Z"
MAX_CONNECT_S = 10

_USUAL_PORTS = {"http": 80, "https": 443}


class PaymentsEmulator:
    """An emulator that runs; `base_url` is the API root that a merchant's code is given."""

    def __init__(
        self, control: ControlClient, *, is_foreign: bool, webhook_host: str | None
    ) -> None:
        self.base_url = control.base_url
        self._control = control
        self._webhook_host = webhook_host
        # Our own server is on this machine, and reaches whatever listens here.
        self._is_tried_out = not is_foreign
        self._why_deaf: str | None = None
        self._opened: Receiver | None = None

    def __repr__(self) -> str:
        return f"<PaymentsEmulator at {self.base_url}>"

    @contextmanager
    def account(self, name: str | None = None, *, clock: str = CLOCK) -> Iterator[PaymentsAccount]:
        """A fresh account for the length of the block.

        One with a name has the same keys, ids and secrets in every run. The clock is written as
        for `serve --clock`. Raises PaymentsEmulatorError.
        """
        keys = self._create(name, clock)
        control = replace(self._control, key=keys.test_key)
        inbox = self._receiver.open_inbox()
        try:
            ear = WebhookSubscription(control, inbox)
            self._let_hear(ear)
            yield PaymentsAccount(control, keys, ear)
        finally:
            self._delete(keys.id)
            self._receiver.close_inbox(inbox)

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()

    def _create(self, name: str | None, clock: str) -> Keys:
        wanted: dict[str, Any] = {"clock": clock}
        if name is not None:
            digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).digest()
            wanted["seed"] = int.from_bytes(digest[:8], "big", signed=True)
            wanted["test_key"] = f"test_{digest.hex()}"
        try:
            told = self._control.call("POST", "/accounts", wanted)
        except PaymentsEmulatorError as error:
            if error.param != "test_key":
                raise
            # Another run has it, on the same emulator: here ids are not the same, then.
            told = self._control.call("POST", "/accounts", {"clock": clock})
        return Keys(id=told["id"], test_key=told["test_key"], live_key=told["live_key"])

    def _delete(self, account_id: str) -> None:
        try:
            self._control.call("DELETE", f"/accounts/{account_id}")
        except PaymentsEmulatorError as error:
            if error.code != "account_not_found":  # A test may have reset everything.
                raise

    def _let_hear(self, ear: WebhookSubscription) -> None:
        """Let an account's webhooks come here, if they can, which the first of them shows."""
        if self._why_deaf is None:
            ear.listen()
        if not self._is_tried_out:
            self._is_tried_out = True
            why = ear.try_out()
            self._why_deaf = None if why is None else self._told(why)
        if self._why_deaf is not None:
            ear.give_up(self._why_deaf)

    def _told(self, why: str) -> str:
        return (
            f"webhooks of the payments emulator at {self.base_url} do not reach the tests at"
            f" {self._receiver.base_url}: {why}; --payments-emulator-webhook-host names the host"
            " by which it can reach them, such as host.docker.internal"
        )

    @property
    def _receiver(self) -> Receiver:
        if self._opened is None:
            self._opened = Receiver(self._near_address(), self._webhook_host)
        return self._opened

    def _near_address(self) -> str:
        """The address of this machine that the emulator sees. Raises PaymentsEmulatorError."""
        url = urlsplit(self.base_url)
        address = (url.hostname or "", url.port or _USUAL_PORTS[url.scheme])
        try:
            with socket.create_connection(address, timeout=MAX_CONNECT_S) as connection:
                return str(connection.getsockname()[0])
        except OSError as error:
            raise PaymentsEmulatorError(
                f"the payments emulator at {self.base_url} does not answer: {error}"
            ) from None
