"""What a clause of the contract is: its number, what it says, what we do, and what proves it."""

from dataclasses import dataclass
from enum import StrEnum


class Basis(StrEnum):
    """What our behaviour stands on."""

    STATED = "stated"
    ASSUMED = "assumed"
    """The contract is silent, and the real service may differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A sentence or a table row of the contract, or what it leaves open.

    `number` is that of the section and an ordinal; the general rules of section 4, which stand
    before 4.1, are 4.0. In a clause that is stated, `assumed` is the detail that is not. Each
    of `knobs` is an option of `serve`, a parameter, a call of the control API, or a section of
    a scenario file. Backquotes in texts are marks of code.
    """

    number: str
    says: str
    here: str
    basis: Basis = Basis.STATED
    assumed: str | None = None
    knobs: tuple[str, ...] = ()
    tests: tuple[str, ...]

    @property
    def section(self) -> str:
        return self.number.rpartition(".")[0].removesuffix(".0")

    @property
    def order(self) -> tuple[int, ...]:
        """Where it stands in the contract."""
        return tuple(map(int, self.number.split(".")))
