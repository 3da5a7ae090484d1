"""What machine this is: its own addresses, and the way out if it is a container."""

import os
import socket
import struct
import sys
from dataclasses import dataclass
from pathlib import Path

from emulator.domain.hosts import DOCKER_HOST, PODMAN_HOST
from emulator.http.addresses import is_in_container, is_loopback

SERVICE = "emulator"
MAX_INTERFACES = 8

_ROUTES = Path("/proc/net/route")
_BRIDGES = ("docker", "br-", "podman", "cni", "nerdctl")
# Set aside for documentation, so that no machine has it; nothing is sent there either.
_ELSEWHERE = ("192.0.2.1", 9)
_SIOCGIFADDR = 0x8915
_MAX_NAME_LENGTH = 15
_DEFAULT_ROUTE = "00000000"


@dataclass(frozen=True, slots=True, kw_only=True)
class Interface:
    """An address of this machine that is no loopback, and the interface that has it."""

    name: str
    address: str

    @property
    def is_bridge(self) -> bool:
        """Whether containers are on its other side, by its name."""
        return self.name.startswith(_BRIDGES)

    def __str__(self) -> str:
        return f"{self.address} ({self.name})" if self.name else self.address


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Where this program runs; `outside` are names of what is around a container."""

    is_in_container: bool
    interfaces: tuple[Interface, ...] = ()
    outside: tuple[str, ...] = ()

    @property
    def bridges(self) -> tuple[Interface, ...]:
        return tuple(interface for interface in self.interfaces if interface.is_bridge)


def look_around() -> Surroundings:
    """The surroundings of this process. It sends nothing and starts no program."""
    is_inside = is_in_container(os.environ)
    # Those to containers first: of many the last are not looked at.
    interfaces = sorted(_interfaces(), key=lambda interface: not interface.is_bridge)
    gateway = default_gateway(_routes()) if is_inside else None
    names = (DOCKER_HOST, PODMAN_HOST, *([gateway] if gateway else []), SERVICE)
    return Surroundings(
        is_in_container=is_inside,
        interfaces=tuple(interfaces[:MAX_INTERFACES]),
        outside=names if is_inside else (),
    )


def default_gateway(routes: str) -> str | None:
    """The gateway in a routing table as Linux tells it; None where there is none."""
    for line in routes.splitlines()[1:]:
        match line.split():
            case [_, destination, gateway, *_] if destination == _DEFAULT_ROUTE != gateway:
                # Written as a number in the order of this machine.
                return socket.inet_ntoa(struct.pack("=I", int(gateway, 16)))
    return None


def _routes() -> str:
    try:
        return _ROUTES.read_text(encoding="ascii")
    except OSError:
        return ""


def _interfaces() -> list[Interface]:
    if sys.platform == "linux":
        named = [(name, _address_of(name)) for _, name in socket.if_nameindex()]
    else:
        named = [("", _outward_address())]
    return [
        Interface(name=name, address=address)
        for name, address in named
        if address is not None and not is_loopback(address)
    ]


def _address_of(name: str) -> str | None:
    if sys.platform != "linux":
        return None
    import fcntl

    wanted = struct.pack("256s", name.encode()[:_MAX_NAME_LENGTH])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            return socket.inet_ntoa(fcntl.ioctl(asking.fileno(), _SIOCGIFADDR, wanted)[20:24])
        except OSError:
            return None  # An interface without an address.


def _outward_address() -> str | None:
    """The address by which this machine would reach others."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect(_ELSEWHERE)  # of a datagram socket: it sends nothing
            return str(asking.getsockname()[0])
        except OSError:
            return None
