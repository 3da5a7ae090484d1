"""The test's own endpoint at an account: how it is registered, and what it hears."""

from collections.abc import Mapping
from typing import Any

from .control_client import ControlClient, PaymentsEmulatorError
from .receiver import Inbox


class WebhookSubscription:
    """Hears what an account's merchant is told; of it alone nobody else need know."""

    def __init__(self, control: ControlClient, inbox: Inbox) -> None:
        self._control = control
        self._inbox = inbox
        self._endpoint_id: str | None = None
        self._why_deaf = ""

    @property
    def inbox(self) -> Inbox:
        """Raises PaymentsEmulatorError where nothing can arrive."""
        if self._why_deaf:
            raise PaymentsEmulatorError(self._why_deaf)
        return self._inbox

    def listen(self) -> None:
        """Begin, or begin anew where the account has lost its endpoints; not where it is deaf."""
        if self._why_deaf:
            return
        self._inbox.webhooks.clear()
        endpoint = self._control.call("POST", "/webhook_endpoints", {"url": self._inbox.url})
        self._inbox.secret = endpoint["secret"]
        self._endpoint_id = endpoint["id"]

    def try_out(self) -> str | None:
        """Ask the emulator to send something: None, or why it does not arrive."""
        ping = self._control.call("POST", f"/webhook_endpoints/{self._endpoint_id}/ping")
        self._inbox.webhooks.clear()
        if ping["status"] == "succeeded":
            return None
        last = ping["attempts"][-1]
        return str(last["cause"] or last["error"] or f"{self._inbox.url} answered otherwise")

    def give_up(self, why: str) -> None:
        """Hear nothing, and say so to who asks for it; the emulator need not try."""
        self._why_deaf = why
        if self._endpoint_id is not None:
            self._control.call("DELETE", f"/webhook_endpoints/{self._endpoint_id}")

    def is_own(self, told: Mapping[str, Any]) -> bool:
        """Whether an effect or a delivery is of this endpoint."""
        return self._endpoint_id is not None and told.get("endpoint") == self._endpoint_id
