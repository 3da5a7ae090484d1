"""Summarises a payment in one line, as a text and as HTML."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from emulator.domain.message_text import escape_controls
from emulator.domain.webhooks import DeliveryState

if TYPE_CHECKING:
    from markupsafe import Markup

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


# A page has dozens of these: a macro of a template would take ten times as long.
def order_html(each: PaymentSummary, link: str = "", tag: str = "span") -> "Markup":
    """The order and the amount, the order with a link."""
    from markupsafe import Markup, escape

    order = f"<bdi>{escape(each.order)}</bdi>"
    linked = f'<a href="{escape(link)}">{order}</a>' if link else order
    html = (
        f'<{tag} class="order">{linked}</{tag}>\n'
        f'<{tag} class="amount" data-testid="amount">{each.amount}</{tag}>\n'
    )
    return Markup(html)  # noqa: S704 - what a merchant writes is escaped


def state_html(each: PaymentSummary, tag: str = "span") -> "Markup":
    """The status and its reason."""
    from markupsafe import Markup

    reason = f' <code data-testid="reason">{each.reason}</code>' if each.reason else ""
    chip = f'<span class="chip status-{each.status}" data-testid="status">{each.status}</span>'
    html = f'<{tag} class="state">{chip}{reason}</{tag}>\n'
    return Markup(html)  # noqa: S704 - words of the contract


def summary_html(
    each: PaymentSummary, link: str = "", time: str = "", tag: str = "span"
) -> "Markup":
    """The cells of a row, or with the default tag the parts of a line.

    `link` is the address of its order, `time` the element of its instant.
    """
    from markupsafe import Markup, escape

    word = '<span class="word">webhooks </span>'
    webhooks = f"{word}{each.acknowledged} of {each.due}" if each.due else ""
    css = "hooks bad" if each.failed else "hooks"
    at = f'<{tag} class="at">{escape(time)}</{tag}>' if time else ""
    html = (
        f"{order_html(each, link, tag)}{state_html(each, tag)}"
        f'<{tag} class="{css}">{webhooks}</{tag}>\n{at}\n'
        f'<{tag} class="id"><bdi><code>{each.id}</code></bdi></{tag}>\n'
    )
    return Markup(html)  # noqa: S704 - as above


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
