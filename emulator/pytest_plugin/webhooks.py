"""Receives the webhooks of accounts in the test process, on a thread with its own event loop."""

import asyncio
import os
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, replace
from threading import Thread
from typing import Any, TypeVar

from ..clock import RealClock
from ..http import emulator_calls as calls
from ..http.addresses import host_with_port
from ..http.blocking_client import BlockingEmulator
from ..http.emulator_calls import WEBHOOK_SECRET_VARIABLE, Json, PaymentsEmulatorError, without_none
from ..http.received_webhooks import ReceivedRequest, ReceivedWebhook, WebhookReceiver

_ALL_ADDRESSES = "0.0.0.0"  # noqa: S104 - only when the user names the host
_FORWARDED_HEADERS = ("content-type", "user-agent")

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, repr=False)
class Webhook(ReceivedWebhook):
    """A received webhook; `headers` and `body` can be passed to a test client.

    Header names are lower case, and headers of the transport are omitted. `is_verified`: the
    signature is correct, and the timestamp is recent.
    """

    is_verified: bool

    def __repr__(self) -> str:
        forged = "" if self.is_verified else ", not verified"
        return f"<Webhook {self.type} of {self.payment}{forged}>"


def register_endpoint(emulator: BlockingEmulator, members: Mapping[str, object]) -> Json:
    """Register an endpoint; its secret is the variable's, unless the members have a secret."""
    common = {"secret": secret} if (secret := os.environ.get(WEBHOOK_SECRET_VARIABLE)) else {}
    return emulator.call(calls.CREATE_ENDPOINT(body=common | without_none(members)))


class ReceiverThread:
    """Receives on a free port of one address of this machine.

    With a `public_host` it receives on all addresses, and that is the host of the URLs. Functions
    that are registered with `receiver` are called on the thread.
    """

    def __init__(self, host: str, public_host: str | None) -> None:
        self._loop = asyncio.new_event_loop()
        self.receiver = WebhookReceiver()
        # A daemon, so that a process that never closes it can end.
        self._thread = Thread(target=self._loop.run_forever, name="payments webhooks", daemon=True)
        self._thread.start()
        try:
            address = host if public_host is None else _ALL_ADDRESSES
            port = self._run(self.receiver.listen(address))
        except BaseException:
            self.close()
            raise
        self.base_url = f"http://{host_with_port(public_host or host, port)}"

    def close(self) -> None:
        self._run(self.receiver.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()


class WebhookSubscription:
    """The test's own endpoint at an account; other views of the account hide it.

    Once unusable, it raises PaymentsEmulatorError when its webhooks are read.
    """

    def __init__(self, control: BlockingEmulator, thread: ReceiverThread) -> None:
        self._control = control
        self._receiver = thread.receiver
        self._path = self._receiver.register(self._receive)
        self._url = thread.base_url + self._path
        self._webhooks: list[Webhook] = []
        self._secret = ""
        self._form: Json = {}
        self._wall = RealClock()
        self._endpoint_id: str | None = None
        self._unusable_reason: str | None = None

    @property
    def webhooks(self) -> list[Webhook]:
        self._check()
        return list(self._webhooks)

    @property
    def secret(self) -> str:
        self._check()
        return self._secret

    def _check(self) -> None:
        if self._unusable_reason is not None:
            raise PaymentsEmulatorError(self._unusable_reason)

    def subscribe(self) -> None:
        """Register the endpoint, again after the account has lost its endpoints."""
        if self._unusable_reason is not None:
            return
        self._webhooks.clear()
        endpoint = register_endpoint(self._control, {"url": self._url})
        self._secret, self._form = endpoint["secret"], endpoint["format"]
        self._endpoint_id = endpoint["id"]

    def ping(self) -> str | None:
        """Make the emulator send a webhook; return why it did not arrive, or None."""
        ping = self._control.call(calls.PING_ENDPOINT(self._endpoint_id or ""))
        self._webhooks.clear()
        if ping["status"] == "succeeded":
            return None
        last = ping["attempts"][-1]
        return str(last["cause"] or last["error"] or f"{self._url} answered with an error")

    def give_up(self, reason: str) -> None:
        """Delete the endpoint, so that the emulator does not try to reach it."""
        self._unusable_reason = reason
        if self._endpoint_id is not None:
            self._control.call(calls.DELETE_ENDPOINT(self._endpoint_id))
            self._endpoint_id = None

    def is_own(self, entry: Mapping[str, Any]) -> bool:
        """Whether an effect or a delivery belongs to this endpoint."""
        return self._endpoint_id is not None and entry.get("endpoint") == self._endpoint_id

    def checklist(self) -> list[Json]:
        """The items of the account's checklist, which ignore this endpoint."""
        ignored = {} if self._endpoint_id is None else {"exclude_endpoint": self._endpoint_id}
        return self._control.call(calls.CHECKLIST(**ignored))

    def close(self) -> None:
        self._receiver.unregister(self._path)

    def _receive(self, request: ReceivedRequest) -> None:
        shown = {*_FORWARDED_HEADERS, *map(str.lower, self._form["headers"])}
        headers = {name: value for name, value in request.headers.items() if name in shown}
        webhook = Webhook(headers=headers, body=request.body, form=self._form, is_verified=False)
        is_recent = webhook.is_recent(self._wall.system_ms() // 1_000)
        is_verified = is_recent and webhook.is_signed_with(self._secret)
        self._webhooks.append(replace(webhook, is_verified=is_verified))
