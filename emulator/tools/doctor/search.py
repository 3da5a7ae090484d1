"""Searches for the emulator at its address and around this machine, also as containers see it."""

import asyncio
import os
import socket
import struct
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from emulator.clock import SystemClock
from emulator.domain.hosts import ADD_DOCKER_HOST, DOCKER_HOST, PODMAN_HOST
from emulator.http.addresses import BaseUrl, is_in_container, is_loopback
from emulator.http.client import EmulatorClient, HttpClient
from emulator.http.emulator_calls import HEALTH
from emulator.http.name_lookup import NameLookups
from emulator.http.response import HttpResponse
from emulator.tools.doctor.report import DoctorFinding, good, note

SERVICE = "emulator"
MAX_INTERFACES = 8

_BRIDGES = ("docker", "br-", "podman", "cni", "nerdctl")
# Reserved for documentation: no machine has it, and nothing is sent to it.
_REMOTE_ADDRESS = ("192.0.2.1", 9)
_SIOCGIFADDR = 0x8915
_MAX_NAME_LENGTH = 15


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
    interfaces = [
        NetworkInterface(name=name, address=address)
        for name, address in _addresses()
        if not is_loopback(address)
    ]
    # Bridges first, since the number of interfaces that are tried is limited.
    interfaces.sort(key=lambda interface: not interface.is_bridge)
    return LocalNetwork(
        is_in_container=in_container,
        interfaces=tuple(interfaces[:MAX_INTERFACES]),
        outside=(DOCKER_HOST, PODMAN_HOST, SERVICE) if in_container else (),
    )


def _addresses() -> Iterator[tuple[str, str]]:
    """The interfaces that have an address; outside Linux the one that leads to others."""
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


MAX_LOOKUP_S = 2.0
# Every response of an emulator has one, responses of other programs probably not.
_REQUEST_ID = "req_"

_WRONG_ADDRESS = (
    "Use the address that `serve` prints as API: its port is not the port of the checkout "
    "pages, and it does not end in /v1."
)
_OTHER_PROGRAM = "Another program uses this port: pass the emulator's port in --url."


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """How long to wait for a response, and the clock that measures durations.

    `probe_s` is for any server; an emulator may take longer, since its first requests load modules,
    and so may a merchant's handler.
    """

    clock: SystemClock
    probe_s: float = 2.0
    response_s: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResult:
    """The server at an address; `description` of an emulator is its version.

    `fix` is advice that follows from the response alone.
    """

    base_url: BaseUrl
    is_emulator: bool
    description: str
    fix: str | None
    duration_ms: float

    @property
    def finding(self) -> DoctorFinding:
        if not self.is_emulator:
            return note(f"{self.base_url}: {self.description}")
        return good(f"{self.base_url} responds: payments emulator {self.description}")


def server_at(base_url: BaseUrl, timeout_s: float) -> EmulatorClient:
    """A server that may be an emulator; each request has its own connection."""
    http = HttpClient(keeps_connections=False)
    return EmulatorClient(base_url, timeout_s=timeout_s, http=http)


async def lookup(host: str) -> list[str]:
    """The addresses of a name; none when it is unknown or the name server is slow."""
    try:
        async with asyncio.timeout(MAX_LOOKUP_S):
            return await NameLookups().ip_addresses(host.encode("ascii"))
    except (OSError, UnicodeError):  # TimeoutError is an OSError.
        return []


async def search(
    base_url: BaseUrl, network: LocalNetwork, timeouts: Timeouts
) -> tuple[ProbeResult, list[ProbeResult]]:
    """Probe an address; if a loopback address has no emulator, also this machine's addresses."""
    given = await probe(base_url, timeouts)
    if given.is_emulator or not is_loopback(base_url.host):
        return given, []
    own = (interface.address for interface in network.interfaces)
    hosts = dict.fromkeys((*network.outside, *own))
    return given, await probe_hosts(base_url, hosts, timeouts)


async def probe_hosts(
    base_url: BaseUrl, hosts: Iterable[str], timeouts: Timeouts
) -> list[ProbeResult]:
    """Probe the same port of several hosts concurrently."""
    urls = [base_url._replace(host=host) for host in hosts]
    return await asyncio.gather(*(probe(url, timeouts) for url in urls))


async def probe(base_url: BaseUrl, timeouts: Timeouts) -> ProbeResult:
    started_ms = timeouts.clock.monotonic_ms()
    server = server_at(base_url, timeouts.probe_s)
    is_emulator, description, fix = _identify(await server.try_to_send(HEALTH))
    return ProbeResult(
        base_url=base_url,
        is_emulator=is_emulator,
        description=description,
        fix=fix,
        duration_ms=timeouts.clock.monotonic_ms() - started_ms,
    )


def _identify(response: HttpResponse) -> tuple[bool, str, str | None]:
    """Whether an emulator has responded, a description, and advice."""
    if response.failure is not None:
        return False, response.failure, None
    status, version = response.member("status"), response.member("version")
    if response.status == 200 and status == "ok" and isinstance(version, str):
        return True, version, None
    if response.status == 503 and status == "unavailable":
        advice = "Try again in a second; else see its log."
        return False, "an emulator that is starting or stopping, or has lost its database", advice
    detail = f"(GET {HEALTH.path}: {response.description})"
    if (response.header("request-id") or "").startswith(_REQUEST_ID):
        return False, f"an emulator, but this is not its base URL {detail}", _WRONG_ADDRESS
    return False, f"not an emulator {detail}", _OTHER_PROGRAM


def advice(given: ProbeResult, network: LocalNetwork) -> str:
    """What to do when no emulator was found."""
    if given.fix is not None:
        return given.fix
    base_url = given.base_url
    if base_url.scheme == "https":
        return (
            "Only an emulator that was started with --tls-cert uses https. A private authority of "
            "its certificate must be in the file of SSL_CERT_FILE."
        )
    if not is_loopback(base_url.host):
        return (
            "Are the host and the port correct? Does the emulator listen on another address than "
            "127.0.0.1 (--host)? Is the port of a container published?"
        )
    if network.is_in_container:
        return (
            f"{base_url.host} is this container itself. For an emulator in a container of the same "
            "network, use --url http://SERVICE:8080. For an emulator on the host, start the "
            f"emulator with --host 0.0.0.0 and this container with {ADD_DOCKER_HOST}."
        )
    return (
        "Has the emulator started (payments-emulator serve)? Use --url for another port. To "
        f"publish the port of a container: docker run -p 127.0.0.1:{base_url.port}:8080"
    )


async def probe_containers(
    base_url: BaseUrl, tried: Sequence[ProbeResult], network: LocalNetwork, timeouts: Timeouts
) -> list[DoctorFinding]:
    """The findings; `tried` are the addresses that were already probed for the emulator."""
    hosts = [interface.address for interface in network.interfaces]
    if tried:
        findings = [result.finding for result in tried]
    elif any(ip in hosts or is_loopback(ip) for ip in await lookup(base_url.host)):
        results = await probe_hosts(base_url, hosts, timeouts)
        findings = _interface_findings(base_url, network, results)
    elif network.is_in_container:
        findings = [good(f"{base_url} responds in this container")]
    else:
        text = f"{base_url} is not an address of this machine, so nothing was tested"
        findings = [note(text, f"In the container: curl {base_url}{HEALTH.path}")]
    return findings if network.is_in_container else [*findings, _container_names(base_url)]


def _interface_findings(
    base_url: BaseUrl, network: LocalNetwork, results: Sequence[ProbeResult]
) -> list[DoctorFinding]:
    """What the responses at this machine's addresses mean for containers."""
    pairs = list(zip(network.interfaces, results, strict=True))
    if not pairs:
        return [note("This machine has only loopback addresses, so nothing was tested")]
    findings = [
        good(f"{result.base_url} responds: {_use(interface)}")
        for interface, result in pairs
        if result.is_emulator
    ]
    if findings:
        return findings
    tried = ", ".join(f"{interface}: {result.description}" for interface, result in pairs)
    text = f"The emulator responds at {base_url.host} only (port {base_url.port} of {tried})"
    return [note(text, _host_advice(base_url, network))]


def _use(interface: NetworkInterface) -> str:
    if interface.is_bridge:
        return f"the address for containers behind {interface.name}"
    name = f" ({interface.name})" if interface.name else ""
    return f"an address for containers and other machines{name}"


def _host_advice(base_url: BaseUrl, network: LocalNetwork) -> str:
    if network.is_in_container:
        return "For other containers, start the emulator with --host 0.0.0.0 (EMULATOR_HOST)."
    bridge = next(iter(network.bridges), None)
    narrow = "" if bridge is None else f"--host {bridge.address} (for this machine alone) or "
    return (
        f"For containers, start the emulator with {narrow}--host 0.0.0.0 (only in a trusted "
        "network), or as a container in their network, with the URL "
        f"{base_url.scheme}://{SERVICE}:8080."
    )


def _container_names(base_url: BaseUrl) -> DoctorFinding:
    """The addresses that only a container can try."""
    scheme = base_url.scheme
    url = f"{scheme}://{DOCKER_HOST}:{base_url.port}{base_url.path}"
    return note(
        f"{url} and, in Compose, {scheme}://{SERVICE}:8080 are for containers, not tested from"
        " here",
        f"In the container: curl {url}{HEALTH.path}"
        f" (Docker on Linux: start it with {ADD_DOCKER_HOST})",
    )
