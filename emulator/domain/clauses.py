"""The contract, clause by clause: what it states, what the emulator does, what is assumed.

The texts are in `clauses.json`, with the members of `Clause` and `Tolerance`. `WARNINGS`
lists the tolerated deviations, each with its error under `--strict` and its clauses.

Tests name the clauses that they prove with the marker `clause`.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from emulator.domain import payment
from emulator.domain.variants import VARIANTS


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
    control API, and sections of a scenario file, which may have a key of `then`: `faults: hold`.
    `fixed_because` is why nothing changes an assumption, or the part of it that no setting changes.
    Backquotes in texts mark code.
    """

    number: str
    says: str
    here: str
    assumed: str | None = None
    configured_by: Sequence[str] = ()
    fixed_because: str | None = None

    @property
    def basis(self) -> Basis:
        return Basis.ASSUMED if self.says.endswith("not shown") else Basis.STATED

    @property
    def variants(self) -> Sequence[str]:
        """The names of the variants that have other forms of it."""
        return [variant.name for variant in VARIANTS if self.number in variant.clauses]

    @property
    def settings(self) -> Sequence[str]:
        """Everything that changes it, with the options for its variants."""
        return (*self.configured_by, *(f"--vary {name}" for name in self.variants))

    @property
    def section(self) -> str:
        return self.number.rpartition(".")[0].removesuffix(".0")

    @property
    def order(self) -> tuple[int, ...]:
        """The position in the contract."""
        return tuple(map(int, self.number.split(".")))


class Tolerance(NamedTuple):
    """A deviation that gets a warning; `strict_code` is None where it stays a warning.

    Backquotes in `tolerated` mark code.
    """

    tolerated: str
    clauses: Sequence[str]
    strict_code: str | None = None


# `$NAME` in a text is a constant of `payment.py`.
_CONSTANT = re.compile(r"\$([A-Z_]+)")
_TEXTS = json.loads(
    _CONSTANT.sub(
        lambda found: str(getattr(payment, found[1])),
        Path(__file__).with_suffix(".json").read_text(encoding="utf-8"),
    )
)

SECTIONS: Mapping[str, str] = _TEXTS["sections"]
"""The sections of the contract that have clauses, with their titles."""
CLAUSES = tuple(Clause(number, **members) for number, members in _TEXTS["clauses"].items())
"""Every clause, in the order of the contract."""
WARNINGS = {slug: Tolerance(**members) for slug, members in _TEXTS["warnings"].items()}
"""Every warning, by its slug; NAME stands for the name of a parameter."""


def clauses_of_code(code: str) -> tuple[Clause, ...]:
    """The clauses whose text, or whose warning with `--strict`, names an error code of `/v1`."""
    matching = [each for each in WARNINGS.values() if each.strict_code == code]
    of_warnings = {number for each in matching for number in each.clauses}
    return tuple(each for each in CLAUSES if f"`{code}`" in each.here or each.number in of_warnings)


def tolerance_of(slug: str) -> Tolerance:
    """The deviation with a warning, as in the header `Emulator-Warning`. Raises KeyError."""
    kind = slug.partition(":")[0]
    return WARNINGS.get(slug) or WARNINGS[f"{kind}:NAME"]
