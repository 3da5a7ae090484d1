"""Writes the summary of a payment as HTML: the cells of a row, or the parts of a line.

These are filters of templates. A page has dozens of them, and a macro takes ten times as long.
"""

from markupsafe import Markup, escape

from emulator.summaries import PaymentSummary


def summary_html(each: PaymentSummary, link: str = "", time: str = "", tag: str = "span") -> Markup:
    """The whole summary; `link` is the address of its order, `time` the element of its instant."""
    css = "hooks bad" if each.failed else "hooks"
    webhooks = f'<span class="word">webhooks </span>{each.acknowledged} of {each.due}'
    at = f'<{tag} class="at">{escape(time)}</{tag}>' if time else ""
    html = (
        f"{_order(each, link, tag)}{_state(each, tag)}"
        f'<{tag} class="{css}">{webhooks if each.due else ""}</{tag}>\n{at}\n'
        f'<{tag} class="id"><bdi><code>{each.id}</code></bdi></{tag}>\n'
    )
    return Markup(html)  # noqa: S704 - what a merchant writes is escaped


def order_html(each: PaymentSummary, link: str) -> Markup:
    """The order, with a link, and the amount."""
    return Markup(_order(each, link, "span"))  # noqa: S704 - as above


def state_html(each: PaymentSummary) -> Markup:
    """The status and its reason."""
    return Markup(_state(each, "span"))  # noqa: S704 - words of the contract


def _order(each: PaymentSummary, link: str, tag: str) -> str:
    order = f"<bdi>{escape(each.order)}</bdi>"
    if link:
        order = f'<a href="{escape(link)}">{order}</a>'
    return (
        f'<{tag} class="order">{order}</{tag}>\n'
        f'<{tag} class="amount" data-testid="amount">{each.amount}</{tag}>\n'
    )


def _state(each: PaymentSummary, tag: str) -> str:
    reason = f' <code data-testid="reason">{each.reason}</code>' if each.reason else ""
    chip = f'<span class="chip status-{each.status}" data-testid="status">{each.status}</span>'
    return f'<{tag} class="state">{chip}{reason}</{tag}>\n'
