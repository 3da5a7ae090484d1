"""What a wrong server is."""

from dataclasses import dataclass

from tests.tools.verify.wrong import Change


@dataclass(frozen=True, kw_only=True)
class Server:
    """A change, the clauses in which it breaks the contract, and those in which it merely
    differs from what we have assumed."""

    name: str
    change: Change
    states: frozenset[str]
    assumes: frozenset[str]


def server(name: str, change: Change, states: str = "", assumes: str = "") -> Server:
    """A server with its clauses, separated by blanks."""
    return Server(
        name=name,
        change=change,
        states=frozenset(states.split()),
        assumes=frozenset(assumes.split()),
    )
