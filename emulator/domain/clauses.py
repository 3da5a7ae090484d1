"""The contract, clause by clause: what it states, what the emulator does, what is assumed.

The clauses are prose, in `clauses.json`; the members of each are those of `Clause`. `WARNINGS`
lists the tolerated deviations, each with its error under `--strict` and its clause.

Tests name the clauses that they prove with the marker `clause`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

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


class Basis(StrEnum):
    """Whether the contract states a behaviour."""

    STATED = "stated"
    ASSUMED = "assumed"
    """The contract is silent, and the real service may differ."""


@dataclass(frozen=True, slots=True)
class Clause:
    """A sentence or a table row of the contract, or something that it leaves open.

    `number` is the section and an ordinal; the general rules of section 4, before 4.1, are 4.0.
    `says` ends in "not shown" where the contract is silent. Of a stated clause, `assumed` is the
    detail that is not stated. `configured_by` has options of `serve`, parameters, calls of the
    control API and sections of a scenario file. Backquotes in texts mark code.
    """

    number: str
    says: str
    here: str
    assumed: str | None = None
    configured_by: Sequence[str] = ()

    @property
    def basis(self) -> Basis:
        return Basis.ASSUMED if self.says.endswith("not shown") else Basis.STATED

    @property
    def section(self) -> str:
        return self.number.rpartition(".")[0].removesuffix(".0")

    @property
    def order(self) -> tuple[int, ...]:
        """The position in the contract."""
        return tuple(map(int, self.number.split(".")))


def _read_clauses() -> tuple[Clause, ...]:
    texts = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
    return tuple(Clause(number, **members) for number, members in texts.items())


CLAUSES = _read_clauses()
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
