"""Summarises a payment in one line, as a text and in HTML."""

from collections import Counter
from collections.abc import Iterable, Mapping
from html import escape
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


def summary_html(each: PaymentSummary, link: str = "", time: str = "", tag: str = "span") -> str:
    """The summary in HTML: the cells of a row, or with the default tag the parts of a line.

    `link` is the address of its order, `time` the element of its instant. A page has dozens of
    these, and a macro of a template takes ten times as long.
    """
    css = "hooks bad" if each.failed else "hooks"
    webhooks = f'<span class="word">webhooks </span>{each.acknowledged} of {each.due}'
    at = f'<{tag} class="at">{time}</{tag}>' if time else ""
    return (
        f"{order_html(each, link, tag)}{state_html(each, tag)}"
        f'<{tag} class="{css}">{webhooks if each.due else ""}</{tag}>\n{at}\n'
        f'<{tag} class="id"><bdi><code>{escape(each.id)}</code></bdi></{tag}>\n'
    )


def order_html(each: PaymentSummary, link: str, tag: str = "span") -> str:
    """The order, with a link, and the amount."""
    order = f"<bdi>{escape(each.order)}</bdi>"
    if link:
        order = f'<a href="{escape(link)}">{order}</a>'
    return (
        f'<{tag} class="order">{order}</{tag}>\n'
        f'<{tag} class="amount" data-testid="amount">{each.amount}</{tag}>\n'
    )


def state_html(each: PaymentSummary, tag: str = "span") -> str:
    """The status and its reason."""
    status, reason = escape(each.status), escape(each.reason or "")
    chip = f'<span class="chip status-{status}" data-testid="status">{status}</span>'
    reason = f' <code data-testid="reason">{reason}</code>' if reason else ""
    return f'<{tag} class="state">{chip}{reason}</{tag}>\n'


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
