"""Servers that are wrong in one thing each, and the clauses that must drift with them.

Each module has tables of changes. The key of a change is the server's name and, after a colon, the
clauses in which it breaks the contract, and in parentheses those in which it merely differs from
what we have assumed: `"creates with 202: 4.1.16 7.6 (1.3)"`.
"""

from dataclasses import dataclass

from tests.tools.verify.servers import creation, listing, objects, refusals
from tests.tools.verify.wrong import Change


@dataclass(frozen=True, kw_only=True)
class Server:
    """A change, with the clauses of its key."""

    name: str
    change: Change
    states: frozenset[str]
    assumes: frozenset[str]


def _server(key: str, change: Change) -> Server:
    name, _, clauses = key.partition(": ")
    states, _, assumes = clauses.partition("(")
    return Server(
        name=name,
        change=change,
        states=frozenset(states.split()),
        assumes=frozenset(assumes.removesuffix(")").split()),
    )


SERVERS = [
    _server(key, change)
    for module in (creation, refusals, objects, listing)
    for table in module.TABLES
    for key, change in table.items()
]
