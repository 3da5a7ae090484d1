"""Where an endpoint is: its host and port, its name looked up, what is local in a container."""

import socket
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from emulator.domain.hosts import is_ip_literal
from emulator.webhooks.threads import on_a_thread

MAX_ADDRESSES = 4
_USUAL_PORTS = {"http": 80, "https": 443}


def is_in_container(environment: Mapping[str, str], root: Path = Path("/")) -> bool:
    """Whether this process seems to run in a container (Docker, Podman, Kubernetes)."""
    marks = (root / ".dockerenv", root / "run" / ".containerenv")
    return "KUBERNETES_SERVICE_HOST" in environment or any(mark.exists() for mark in marks)


def is_loopback(host: str) -> bool:
    """Whether a host is what calls it, on whichever machine and in whichever container."""
    bare = host.rstrip(".")
    if is_ip_literal(bare):
        return ip_address(bare).is_loopback or ip_address(bare).is_unspecified
    return bare == "localhost" or bare.endswith(".localhost")


def host_and_port(url: str) -> str:
    """Where a URL leads, the port told also when it is the usual one."""
    parts = urlsplit(url)
    return _netloc(parts.hostname or "", parts.port or _USUAL_PORTS.get(parts.scheme))


def with_host(url: str, host: str) -> str:
    """The same URL at another host; without user and password."""
    parts = urlsplit(url)
    return parts._replace(netloc=_netloc(host, parts.port)).geturl()


def with_scheme(url: str, scheme: str) -> str:
    """The URL of the same host and port by another scheme; without user and password."""
    return urlsplit(url)._replace(scheme=scheme, netloc=host_and_port(url)).geturl()


def _netloc(host: str, port: int | None) -> str:
    named = f"[{host}]" if ":" in host else host
    return named if port is None else f"{named}:{port}"


async def ip_addresses(host: bytes) -> list[str]:
    """The addresses of a host, the first to be tried first. Raises `socket.gaierror`.

    The end of the program does not wait for it: a dead name server takes ten seconds and more.
    """
    if is_ip_literal(host.decode("ascii")):
        return [host.decode("ascii")]
    return await on_a_thread(lambda: _looked_up(host), name="webhook-name")


def _looked_up(host: bytes) -> list[str]:
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    # IPv4 first: where IPv6 is set up but leads nowhere, its packets are lost, and with them the
    # time of the attempt.
    found.sort(key=lambda entry: entry[0] is not socket.AF_INET)
    return [str(address[0]) for *_, address in found[:MAX_ADDRESSES]]
