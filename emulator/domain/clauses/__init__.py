"""The contract, clause by clause: what it says, what we do, what we assumed, what proves it."""

from emulator.domain.clauses.clause import Basis, Clause
from emulator.domain.clauses.creating import CLAUSES as CREATING
from emulator.domain.clauses.errors import CLAUSES as ERRORS
from emulator.domain.clauses.payment import CLAUSES as PAYMENT
from emulator.domain.clauses.reading import CLAUSES as READING
from emulator.domain.clauses.sandbox import CLAUSES as SANDBOX
from emulator.domain.clauses.service import CLAUSES as SERVICE

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

CLAUSES: tuple[Clause, ...] = (
    *SERVICE,
    *PAYMENT,
    *CREATING,
    *READING,
    *SANDBOX,
    *ERRORS,
)
"""Every clause, in the order of the contract."""

__all__ = ["CLAUSES", "SECTIONS", "Basis", "Clause"]
