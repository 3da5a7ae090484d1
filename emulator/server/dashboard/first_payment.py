"""Determines which steps of its first payment a new account has completed."""

from collections.abc import Mapping, Sequence
from typing import Any

from emulator.server.dashboard.view_request import ROWS_PER_PAGE, ViewRequest

# An account with more payments is not new.
MAX_GUIDED = 3


async def first_payment_steps(
    page: ViewRequest, payments: Sequence[Mapping[str, Any]]
) -> Mapping[str, Any] | None:
    """What happened so far; None for an account that is not new, or has completed all steps."""
    if len(payments) > MAX_GUIDED:
        return None
    endpoints = (await page.get("/webhook_endpoints"))["data"]
    deliveries = (await page.get("/deliveries", limit=ROWS_PER_PAGE))["data"]
    attempts = [attempt for each in deliveries for attempt in each["attempts"][::-1]]
    steps = {
        "payment": next(iter(payments), None),
        "is_paid": any(each["completed_at"] for each in payments),
        "endpoint": next(iter(endpoints), None),
        "attempt": next(iter(attempts), None),
        "is_received": any(200 <= (attempt["status"] or 0) < 300 for attempt in attempts),
    }
    return None if steps["is_paid"] and steps["is_received"] else steps
