"""Servers that are wrong in one thing each, and the clauses that must drift with them."""

from tests.tools.verify.servers.creation import SERVERS as CREATION
from tests.tools.verify.servers.listing import SERVERS as LISTING
from tests.tools.verify.servers.objects import SERVERS as OBJECTS
from tests.tools.verify.servers.refusals import SERVERS as REFUSALS
from tests.tools.verify.servers.responses import SERVERS as RESPONSES
from tests.tools.verify.servers.server import Server
from tests.tools.verify.servers.values import SERVERS as VALUES

SERVERS: tuple[Server, ...] = (
    *CREATION,
    *REFUSALS,
    *OBJECTS,
    *LISTING,
    *RESPONSES,
    *VALUES,
)

__all__ = ["SERVERS", "Server"]
