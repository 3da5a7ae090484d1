"""Servers that are wrong in one thing each, and the clauses that must drift with them.

Each module has tables of changes. The key of a change is the server's name and, after a colon, the
clauses in which it breaks the contract, and in parentheses those in which it merely differs from
what we have assumed: `"creates with 202: 4.1.16 7.6 (1.3)"`.
"""

from dataclasses import dataclass

from tests.tools.verify.payer import Seen
from tests.tools.verify.runs import unchanged
from tests.tools.verify.servers import creation, customers, listing, objects, refusals
from tests.tools.verify.wrong import Change


@dataclass(frozen=True, kw_only=True)
class Server:
    """A change, with the clauses of its key; `seen` is what a customer sees, if there is one."""

    name: str
    change: Change
    states: frozenset[str]
    assumes: frozenset[str]
    seen: Seen | None = None


def _server(key: str, change: Change, seen: Seen | None = None) -> Server:
    name, _, clauses = key.partition(": ")
    states, _, assumes = clauses.partition("(")
    return Server(
        name=name,
        change=change,
        states=frozenset(states.split()),
        assumes=frozenset(assumes.removesuffix(")").split()),
        seen=seen,
    )


SERVERS = [
    _server(key, change)
    for module in (creation, refusals, objects, listing)
    for table in module.TABLES
    for key, change in table.items()
]
SERVERS += [_server(key, change, Seen()) for key, change in customers.CHANGES.items()]
SERVERS += [_server(key, unchanged, seen) for key, seen in customers.SEEN.items()]
