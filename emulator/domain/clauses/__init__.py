"""The contract, clause by clause: what it states, what the emulator does, what is assumed.

`WARNINGS` lists the tolerated deviations, each with its error under `--strict` and its clause.

Tests name the clauses that they prove with the marker `clause`.
"""

from collections.abc import Mapping
from typing import NamedTuple

from emulator.domain.clauses.calls import CLAUSES as CALLS
from emulator.domain.clauses.clause import Basis, Clause
from emulator.domain.clauses.conventions import CLAUSES as CONVENTIONS
from emulator.domain.clauses.payments import CLAUSES as PAYMENTS

SECTIONS = {
    "1": "What the service does",
    "2.1": "Payment object",
    "2.2": "List envelope",
    "2.3": "Error object",
    "3": "States and transitions",
    "4": "Endpoints, general rules",
    "4.1": "Create a payment",
    "4.2": "Retrieve a payment",
    "4.3": "List payments",
    "4.4": "Sandbox test scenarios",
    "5": "Authentication",
    "6": "Events",
    "7": "Errors",
    "8": "Limits",
    "9": "Versioning",
}
"""The sections of the contract that have clauses, with their titles."""

CLAUSES: tuple[Clause, ...] = (*PAYMENTS, *CALLS, *CONVENTIONS)
"""Every clause, in the order of the contract."""


class Tolerance(NamedTuple):
    """A deviation that gets a warning; `strict_code` is None where it stays a warning.

    Backquotes in `tolerated` mark code.
    """

    tolerated: str
    strict_code: str | None
    clause: str


_URL = (
    "with user info or a backslash, over 2048 characters, or with a host or port that no browser"
    " opens"
)
_TIMESTAMP = (
    "without offset (parsed as UTC), as a date only (midnight UTC), with a space instead of `+`, or"
    " in a rare form of ISO 8601 such as `2026-W01-4` or an offset with seconds"
)

WARNINGS: Mapping[str, Tolerance] = {
    "unknown-parameter:NAME": Tolerance(
        "unknown body or query parameter", "unknown_parameter", "4.1.14"
    ),
    "duplicate-parameter:NAME": Tolerance(
        "JSON member or query parameter given twice; the last one is used",
        "duplicate_parameter",
        "1.1",
    ),
    "duplicate-method": Tolerance(
        "the same entry twice in `methods`; it is listed once", "invalid_methods", "4.1.5"
    ),
    "long-metadata": Tolerance(
        "metadata key over 40 or value over 500 characters", "invalid_metadata", "4.1.8"
    ),
    "unusual-success-url": Tolerance(f"success URL {_URL}", "invalid_success_url", "4.1.6"),
    "unusual-cancel-url": Tolerance(f"cancel URL {_URL}", "invalid_cancel_url", "4.1.7"),
    "loose-timestamp:created_gte": Tolerance(
        f"`created_gte` {_TIMESTAMP}", "invalid_created_gte", "4.3.14"
    ),
    "loose-timestamp:created_lte": Tolerance(
        f"`created_lte` {_TIMESTAMP}", "invalid_created_lte", "4.3.14"
    ),
    "idempotency-key-header": Tolerance(
        "an `Idempotency-Key` header; the contract puts the key in the body",
        "idempotency_key_header",
        "4.1.10",
    ),
    "long-idempotency-key": Tolerance(
        "idempotency key over 255 characters", "invalid_idempotency_key", "4.1.10"
    ),
    "unusual-expires-in": Tolerance(
        "`expires_in` under 60 or over 86,400", "invalid_expires_in", "8.9"
    ),
    "frequent-polling": Tolerance("one live payment read more than 30 times", None, "4.2.4"),
}
"""Every warning, by its slug; NAME stands for the name of a parameter."""


def clauses_of_code(code: str) -> tuple[Clause, ...]:
    """The clauses whose text names an error code of `/v1`."""
    return tuple(clause for clause in CLAUSES if f"`{code}`" in clause.here)


def tolerance_of(slug: str) -> Tolerance:
    """The deviation with a warning, as in the header `Emulator-Warning`. Raises KeyError."""
    kind = slug.partition(":")[0]
    return WARNINGS.get(slug) or WARNINGS[f"{kind}:NAME"]


__all__ = [
    "CLAUSES",
    "SECTIONS",
    "WARNINGS",
    "Basis",
    "Clause",
    "Tolerance",
    "clauses_of_code",
    "tolerance_of",
]
