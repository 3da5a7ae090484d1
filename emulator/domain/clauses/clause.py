"""The type of a clause of the contract."""

from dataclasses import dataclass
from enum import StrEnum


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
    configured_by: tuple[str, ...] = ()

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
