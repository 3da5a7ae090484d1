"""Builds payments for tests of functions that need no database."""

from typing import Any

from emulator.domain.payment import Payment, Status, Terms
from tests.world import START_MS

NO_TERMS = Terms(checkout_url="", success_url="", cancel_url="", metadata={})


def sample_payment(status: Status = Status.PENDING, **members: Any) -> Payment:
    """A payment with empty terms, unless `terms` has others."""
    usual = {
        "position": 1,
        "id": "pay_x",
        "amount_minor": 15_000,
        "methods": ("mpesa", "telebirr"),
        "terms": NO_TERMS,
        "created_at": START_MS,
        "expires_at": START_MS + 1_800_000,
    }
    return Payment(**{**usual, "status": status, **members})
