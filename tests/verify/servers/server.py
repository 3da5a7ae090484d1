"""What a wrong server is."""

from dataclasses import dataclass

from tests.verify.wrong import MakeChange


@dataclass(frozen=True, kw_only=True)
class Server:
    """A change, the clauses in which it breaks the contract, and those in which it merely
    differs from what we have assumed."""

    name: str
    make: MakeChange
    states: frozenset[str]
    assumes: frozenset[str]


def server(name: str, make: MakeChange, *states: str, assumes: tuple[str, ...] = ()) -> Server:
    return Server(name=name, make=make, states=frozenset(states), assumes=frozenset(assumes))
