"""Reads the network of this machine: its addresses, and in a container the addresses outside."""

import os
import socket
import struct
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from emulator.domain.hosts import DOCKER_HOST, PODMAN_HOST
from emulator.http.addresses import is_in_container, is_loopback

SERVICE = "emulator"
MAX_INTERFACES = 8

_ROUTES = Path("/proc/net/route")
_BRIDGES = ("docker", "br-", "podman", "cni", "nerdctl")
# Reserved for documentation: no machine has it, and nothing is sent to it.
_REMOTE_ADDRESS = ("192.0.2.1", 9)
_SIOCGIFADDR = 0x8915
_MAX_NAME_LENGTH = 15
_DEFAULT_ROUTE = "00000000"


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkInterface:
    """An interface of this machine, with its address; never a loopback address."""

    name: str
    address: str

    @property
    def is_bridge(self) -> bool:
        """Whether it has the name of a bridge to containers."""
        return self.name.startswith(_BRIDGES)

    def __str__(self) -> str:
        return f"{self.address} ({self.name})" if self.name else self.address


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalNetwork:
    """Where this program runs; `outside` are hosts that a container may reach."""

    is_in_container: bool
    interfaces: tuple[NetworkInterface, ...] = ()
    outside: tuple[str, ...] = ()

    @property
    def bridges(self) -> tuple[NetworkInterface, ...]:
        return tuple(interface for interface in self.interfaces if interface.is_bridge)


def read_network() -> LocalNetwork:
    """Read the network of this process. It sends nothing and starts no program."""
    in_container = is_in_container(os.environ)
    # Bridges first, since the number of interfaces that are tried is limited.
    interfaces = sorted(_interfaces(), key=lambda interface: not interface.is_bridge)
    routes = ""
    if in_container:
        with suppress(OSError):
            routes = _ROUTES.read_text(encoding="ascii")
    names = (DOCKER_HOST, PODMAN_HOST, default_gateway(routes), SERVICE)
    return LocalNetwork(
        is_in_container=in_container,
        interfaces=tuple(interfaces[:MAX_INTERFACES]),
        outside=tuple(filter(None, names)) if in_container else (),
    )


def default_gateway(routes: str) -> str | None:
    """The gateway in a routing table of Linux; None when there is none."""
    for line in routes.splitlines()[1:]:
        match line.split():
            case [_, destination, gateway, *_] if destination == _DEFAULT_ROUTE != gateway:
                # A number in the byte order of this machine.
                return socket.inet_ntoa(struct.pack("=I", int(gateway, 16)))
    return None


def _interfaces() -> Iterator[NetworkInterface]:
    """Yield the interfaces that have an address; outside Linux the one that leads to others."""
    for name, address in _addresses():
        if not is_loopback(address):
            yield NetworkInterface(name=name, address=address)


def _addresses() -> Iterator[tuple[str, str]]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        if sys.platform != "linux":
            with suppress(OSError):
                datagrams.connect(_REMOTE_ADDRESS)  # A datagram socket: this sends nothing.
                yield "", str(datagrams.getsockname()[0])
            return
        import fcntl

        for _, name in socket.if_nameindex():
            request = struct.pack("256s", name.encode()[:_MAX_NAME_LENGTH])
            with suppress(OSError):  # An interface without an address.
                response = fcntl.ioctl(datagrams.fileno(), _SIOCGIFADDR, request)
                yield name, socket.inet_ntoa(response[20:24])
