"""Builds payments for tests of functions that need no database."""

from typing import Any

from emulator.domain.payment import Payment, Status
from tests.world import START_MS


def sample_payment(status: Status = Status.PENDING, **members: Any) -> Payment:
    """A payment without terms, unless `terms_json` has some."""
    usual = {
        "position": 1,
        "id": "pay_x",
        "amount_minor": 15_000,
        "methods": ("mpesa", "telebirr"),
        "terms_json": "{}",
        "created_at": START_MS,
        "expires_at": START_MS + 1_800_000,
    }
    return Payment(**{**usual, "status": status, **members})
