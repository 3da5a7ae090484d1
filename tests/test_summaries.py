"""The line of a payment: order, amount, status with reason, webhooks, time, id."""

from typing import Any

import pytest

from emulator.summaries import payment_summary

PAYMENT: dict[str, Any] = {
    "id": "pay_000001A70iyBPdr1D1jfs4zA",
    "amount": 123_450,
    "status": "failed",
    "metadata": {"colour": "red", "order": "17"},
    "created_at": "2026-01-01T00:00:05.000Z",
}


def test_the_line_has_the_order_the_amount_the_reason_and_the_webhooks() -> None:
    states = ["succeeded", "failed", "pending", "dropped"]
    summary = payment_summary(PAYMENT, "timeout", states)
    assert (summary.acknowledged, summary.failed, summary.due) == (1, 1, 3)
    assert summary.text == (
        "17  ETB 1,234.50  failed timeout  webhooks 1 of 3  2026-01-01 00:00:05 UTC  …D1jfs4zA"
    )


@pytest.mark.parametrize(
    ("metadata", "order"),
    [
        ({}, "D1jfs4zA"),
        ({"colour": "red", "size": "xl"}, "colour=red"),
        ({"invoice": "INV-1", "reference": "REF-2"}, "REF-2"),
        ({"order": "a" * 12 + "b" * 12}, "aaaaaaaaaaa…bbbbbbbbbbb"),
        ({"order": "\x1b[31m"}, r"\u001b[31m"),
    ],
)
def test_the_order_is_what_the_merchant_calls_it(metadata: dict[str, str], order: str) -> None:
    summary = payment_summary({**PAYMENT, "status": "completed", "metadata": metadata})
    assert summary.order == order
    assert "webhooks" not in summary.text
