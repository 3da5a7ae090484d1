"""The contract, clause by clause: what it states, what the emulator does, what is assumed.

Tests name the clauses that they prove with the marker `clause`.
"""

from emulator.domain.clauses.calls import CLAUSES as CALLS
from emulator.domain.clauses.clause import Basis, Clause
from emulator.domain.clauses.conventions import CLAUSES as CONVENTIONS
from emulator.domain.clauses.payments import CLAUSES as PAYMENTS
from emulator.domain.clauses.warnings import WARNINGS, Tolerance

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
