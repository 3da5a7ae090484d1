"""Summarises a payment in one line; `summary_html` writes it as a row or a text."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from emulator.domain.message_text import escape_controls
from emulator.domain.webhooks import DeliveryState

# The names of metadata that identify an order, the first one first.
ORDER_NAMES = ("order", "order_id", "reference", "invoice")
MAX_ORDER_LENGTH = 23
REFERENCE_LENGTH = 8


class PaymentSummary(Struct, frozen=True, kw_only=True):
    """A payment as a merchant recognises it, with its webhooks that are due or sent.

    `at` is the instant of its creation, as in the API.
    """

    id: str
    order: str
    amount: str
    status: str
    reason: str | None = None
    acknowledged: int = 0
    failed: int = 0
    due: int = 0
    at: str = ""

    @property
    def text(self) -> str:
        """The line for a terminal."""
        state = f"{self.status} {self.reason}" if self.reason else self.status
        webhooks = f"webhooks {self.acknowledged} of {self.due}" if self.due else ""
        at = f"{moment_text(self.at)} UTC"
        amount = self.amount.replace("\u00a0", " ")
        parts = (self.order, amount, state, webhooks, at, f"…{self.id[-REFERENCE_LENGTH:]}")
        return "  ".join(filter(None, parts))


def payment_summary(
    payment: Mapping[str, Any], reason: str | None = None, deliveries: Iterable[str] = ()
) -> PaymentSummary:
    """The summary of a payment in JSON; `deliveries` are the states of its deliveries."""
    states = Counter(map(DeliveryState, deliveries))
    acknowledged, failed = states[DeliveryState.SUCCEEDED], states[DeliveryState.FAILED]
    return PaymentSummary(
        id=payment["id"],
        order=order_text(payment["id"], payment["metadata"]),
        amount=amount_text(payment["amount"]),
        status=payment["status"],
        reason=reason,
        acknowledged=acknowledged,
        failed=failed,
        due=acknowledged + failed + states[DeliveryState.PENDING],
        at=payment["created_at"],
    )


def order_text(payment_id: str, metadata: Mapping[str, str]) -> str:
    """The merchant's name of a payment; a long one is cut in its middle."""
    named = next((metadata[name] for name in ORDER_NAMES if metadata.get(name)), None)
    first = next((f"{name}={value}" for name, value in metadata.items()), None)
    text = escape_controls(named or first or payment_id[-REFERENCE_LENGTH:])
    if len(text) <= MAX_ORDER_LENGTH:
        return text
    half = MAX_ORDER_LENGTH // 2
    return f"{text[:half]}…{text[-half:]}"


def amount_text(amount_minor: int) -> str:
    """An amount as `ETB 1,234.50`, with a no-break space."""
    return f"ETB\u00a0{amount_minor // 100:,}.{amount_minor % 100:02}"


def moment_text(instant: str) -> str:
    """An instant of the API without `T`, `Z` and milliseconds of zero."""
    return instant.replace("T", " ").replace(".000Z", "").replace("Z", "")
