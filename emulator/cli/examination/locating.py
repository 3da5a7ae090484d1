"""Whether an emulator is at an address, what is there instead, and where else it may be."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum, auto

from emulator.cli.examination.asking import HEALTH, Patience, told
from emulator.cli.examination.surroundings import Surroundings
from emulator.domain.hosts import DOCKER_HOST
from emulator.http.addresses import is_loopback
from emulator.replay.client import Address, Answer

# What every answer of an emulator has, that of no other program is likely to.
_REQUEST_ID = "req_"


class There(Enum):
    """Who is at an address."""

    EMULATOR = auto()
    UNREADY = auto()
    """An emulator that is starting or stopping."""
    MISADDRESSED = auto()
    """An emulator, by its pages' port or with a path behind its base URL."""
    STRANGER = auto()
    NOBODY = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Who is at an address that was tried, told in words; of an emulator that is its version."""

    address: Address
    there: There
    told: str
    duration_ms: float

    @property
    def is_emulator(self) -> bool:
        return self.there is There.EMULATOR


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What was asked for, and the other places that were tried because it was not there."""

    given: Found
    others: tuple[Found, ...] = ()

    @property
    def emulator(self) -> Found | None:
        """The first emulator that was found."""
        found = (self.given, *self.others)
        return next((one for one in found if one.is_emulator), None)


async def look_for(address: Address, surroundings: Surroundings, patience: Patience) -> Search:
    """Look at an address; where it is a loopback one in vain, look around this machine, too."""
    given = await look_at(address, patience)
    if given.is_emulator or not is_loopback(address.host):
        return Search(given=given)
    own = (interface.address for interface in surroundings.interfaces)
    hosts = dict.fromkeys((*surroundings.outside, *own))
    return Search(given=given, others=await look_at_all(address, hosts, patience))


async def look_at_all(
    address: Address, hosts: Iterable[str], patience: Patience
) -> tuple[Found, ...]:
    """The same address at other hosts, all at a time."""
    places = [replace(address, host=host) for host in hosts]
    return tuple(await asyncio.gather(*(look_at(place, patience) for place in places)))


async def look_at(address: Address, patience: Patience) -> Found:
    started_ms = patience.wall.monotonic_ms()
    answer = await patience.stranger(address).ask("GET", HEALTH)
    duration_ms = patience.wall.monotonic_ms() - started_ms
    there, words = _who(answer)
    return Found(address=address, there=there, told=words, duration_ms=duration_ms)


def _who(answer: Answer) -> tuple[There, str]:
    if answer.lost is not None:
        return There.NOBODY, answer.lost
    version = answer.member("version")
    if answer.status == 200 and answer.member("status") == "ok" and isinstance(version, str):
        return There.EMULATOR, version
    if answer.status == 503 and answer.member("status") == "unavailable":
        return There.UNREADY, "an emulator that is starting or stopping"
    asked = f"(GET {HEALTH}: {told(answer)})"
    if answer.headers.get("request-id", "").startswith(_REQUEST_ID):
        return There.MISADDRESSED, f"an emulator, but this is not its base URL {asked}"
    return There.STRANGER, f"something else than the emulator {asked}"


def advice(search: Search, surroundings: Surroundings) -> str:
    """What to do where no emulator was found."""
    given = search.given
    if given.there is There.UNREADY:
        return "Try again in a second."
    if given.there is There.MISADDRESSED:
        return (
            "Give the address that `serve` prints as API: its port is not that of the checkout "
            "pages, and it does not end in /v1."
        )
    if given.there is There.STRANGER:
        return "Another program has that port: name the emulator's with --url."
    if given.address.scheme == "https":
        return "The emulator speaks http; https is only where something in front of it does."
    if not is_loopback(given.address.host):
        return (
            "Is that its name and port, as known here? Does it listen on more than 127.0.0.1 "
            "(--host), and is the port of a container published?"
        )
    if surroundings.is_in_container:
        return (
            f"Here {given.address.host} is this container itself. An emulator in a container of "
            f"the same network is --url http://SERVICE:8080; for one on the host start that with "
            f"--host 0.0.0.0 and this container with --add-host={DOCKER_HOST}:host-gateway."
        )
    return (
        "Is it started (payments-emulator serve)? On another port, name it with --url; of a "
        f"container the port is published by: docker run -p 127.0.0.1:{given.address.port}:8080"
    )
