"""Servers that are wrong in one thing each, and the clauses that must drift with them."""

from tests.verify.servers.creating import SERVERS as CREATING
from tests.verify.servers.listing import SERVERS as LISTING
from tests.verify.servers.objects import SERVERS as OBJECTS
from tests.verify.servers.places import SERVERS as PLACES
from tests.verify.servers.refusing import SERVERS as REFUSING
from tests.verify.servers.responses import SERVERS as RESPONSES
from tests.verify.servers.server import Server

SERVERS: tuple[Server, ...] = (*CREATING, *REFUSING, *OBJECTS, *LISTING, *PLACES, *RESPONSES)

__all__ = ["SERVERS", "Server"]
