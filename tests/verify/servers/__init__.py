"""Servers that are wrong in one thing each, and the clauses that must drift with them."""

from tests.verify.servers.creation import SERVERS as CREATION
from tests.verify.servers.listing import SERVERS as LISTING
from tests.verify.servers.objects import SERVERS as OBJECTS
from tests.verify.servers.refusals import SERVERS as REFUSALS
from tests.verify.servers.responses import SERVERS as RESPONSES
from tests.verify.servers.server import Server
from tests.verify.servers.values import SERVERS as VALUES

SERVERS: tuple[Server, ...] = (
    *CREATION,
    *REFUSALS,
    *OBJECTS,
    *LISTING,
    *RESPONSES,
    *VALUES,
)

__all__ = ["SERVERS", "Server"]
