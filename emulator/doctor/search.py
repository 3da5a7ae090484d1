"""Searches for the emulator at its address and at other addresses around this machine."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum, auto

from emulator.doctor.network import LocalNetwork
from emulator.doctor.report import DoctorFinding, good, note
from emulator.doctor.requests import HEALTH, TargetServer, Timeouts, describe
from emulator.domain.hosts import ADD_DOCKER_HOST
from emulator.http.addresses import BaseUrl, is_loopback
from emulator.http.client import HttpResponse

# Every response of an emulator has one, those of other programs probably not.
_REQUEST_ID = "req_"


class ServerKind(Enum):
    EMULATOR = auto()
    NOT_READY = auto()
    """An emulator that is starting or stopping."""
    WRONG_ADDRESS = auto()
    """An emulator, at the port of its checkout pages or with a path after its base URL."""
    OTHER_PROGRAM = auto()
    UNREACHABLE = auto()


_ADVICE = {
    ServerKind.NOT_READY: "Try again in a second.",
    ServerKind.WRONG_ADDRESS: (
        "Give the address that `serve` prints as API: its port is not that of the checkout "
        "pages, and it does not end in /v1."
    ),
    ServerKind.OTHER_PROGRAM: "Another program has that port: name the emulator's with --url.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResult:
    """The server at an address; `description` of an emulator is its version."""

    base_url: BaseUrl
    kind: ServerKind
    description: str
    duration_ms: float

    @property
    def is_emulator(self) -> bool:
        return self.kind is ServerKind.EMULATOR

    @property
    def finding(self) -> DoctorFinding:
        if not self.is_emulator:
            return note(f"{self.base_url}: {self.description}")
        return good(f"{self.base_url} answers: payments emulator {self.description}")


async def search(
    base_url: BaseUrl, network: LocalNetwork, timeouts: Timeouts
) -> tuple[ProbeResult, list[ProbeResult]]:
    """Probe an address; without an emulator at a loopback address, also those of this machine."""
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
    urls = [replace(base_url, host=host) for host in hosts]
    return await asyncio.gather(*(probe(url, timeouts) for url in urls))


async def probe(base_url: BaseUrl, timeouts: Timeouts) -> ProbeResult:
    started_ms = timeouts.clock.monotonic_ms()
    server = TargetServer(base_url=base_url, timeout_s=timeouts.probe_s)
    kind, description = _identify(await server.request("GET", HEALTH))
    duration_ms = timeouts.clock.monotonic_ms() - started_ms
    return ProbeResult(
        base_url=base_url, kind=kind, description=description, duration_ms=duration_ms
    )


def _identify(response: HttpResponse) -> tuple[ServerKind, str]:
    if response.failure is not None:
        return ServerKind.UNREACHABLE, response.failure
    status, version = response.member("status"), response.member("version")
    if response.status == 200 and status == "ok" and isinstance(version, str):
        return ServerKind.EMULATOR, version
    if response.status == 503 and status == "unavailable":
        return ServerKind.NOT_READY, "an emulator that is starting or stopping"
    detail = f"(GET {HEALTH}: {describe(response)})"
    if response.headers.get("request-id", "").startswith(_REQUEST_ID):
        return ServerKind.WRONG_ADDRESS, f"an emulator, but this is not its base URL {detail}"
    return ServerKind.OTHER_PROGRAM, f"something else than the emulator {detail}"


def advice(given: ProbeResult, network: LocalNetwork) -> str:
    """What to do when no emulator was found."""
    if given.kind in _ADVICE:
        return _ADVICE[given.kind]
    base_url = given.base_url
    if base_url.scheme == "https":
        return "The emulator speaks http; https is only where something in front of it does."
    if not is_loopback(base_url.host):
        return (
            "Is that its name and port, as known here? Does it listen on more than 127.0.0.1 "
            "(--host), and is the port of a container published?"
        )
    if network.is_in_container:
        return (
            f"Here {base_url.host} is this container itself. An emulator in a container of "
            f"the same network is --url http://SERVICE:8080; for one on the host start that with "
            f"--host 0.0.0.0 and this container with {ADD_DOCKER_HOST}."
        )
    return (
        "Is it started (payments-emulator serve)? On another port, name it with --url; of a "
        f"container the port is published by: docker run -p 127.0.0.1:{base_url.port}:8080"
    )
