"""Searches for the emulator at its address and at other addresses around this machine."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, replace

from emulator.domain.hosts import ADD_DOCKER_HOST
from emulator.http.addresses import BaseUrl, is_loopback
from emulator.http.emulator_calls import HEALTH
from emulator.http.response import HttpResponse
from emulator.tools.doctor.network import LocalNetwork
from emulator.tools.doctor.report import DoctorFinding, good, note
from emulator.tools.doctor.requests import TargetServer, Timeouts, describe

# Every response of an emulator has one, those of other programs probably not.
_REQUEST_ID = "req_"


_WRONG_ADDRESS = (
    "Use the address that `serve` prints as API: its port is not that of the checkout "
    "pages, and it does not end in /v1."
)
_OTHER_PROGRAM = "Another program uses this port: pass the emulator's port in --url."


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
    is_emulator, description, fix = _identify(await server.send(HEALTH))
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
    detail = f"(GET {HEALTH.path}: {describe(response)})"
    if (response.header("request-id") or "").startswith(_REQUEST_ID):
        return False, f"an emulator, but this is not its base URL {detail}", _WRONG_ADDRESS
    return False, f"not an emulator {detail}", _OTHER_PROGRAM


def advice(given: ProbeResult, network: LocalNetwork) -> str:
    """What to do when no emulator was found."""
    if given.fix is not None:
        return given.fix
    base_url = given.base_url
    if base_url.scheme == "https":
        return "The emulator uses http; https needs a proxy in front of it."
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
