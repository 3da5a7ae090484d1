"""Probes by which addresses of this machine containers reach the emulator."""

from collections.abc import Sequence

from emulator.domain.hosts import ADD_DOCKER_HOST, DOCKER_HOST
from emulator.http.addresses import BaseUrl, is_loopback
from emulator.http.emulator_calls import HEALTH
from emulator.tools.doctor.network import SERVICE, LocalNetwork, NetworkInterface
from emulator.tools.doctor.report import DoctorFinding, good, note
from emulator.tools.doctor.requests import Timeouts, lookup
from emulator.tools.doctor.search import ProbeResult, probe_hosts


async def probe_containers(
    base_url: BaseUrl, tried: Sequence[ProbeResult], network: LocalNetwork, timeouts: Timeouts
) -> tuple[list[DoctorFinding], list[NetworkInterface]]:
    """The findings, and the interfaces at whose addresses the emulator responds.

    `tried` are the other addresses that were already probed in search of the emulator.
    """
    results = tried
    if tried:
        findings = [result.finding for result in tried]
    elif await _is_local(base_url, network):
        hosts = [interface.address for interface in network.interfaces]
        results = await probe_hosts(base_url, hosts, timeouts)
        findings = _interface_findings(base_url, network, results)
    elif network.is_in_container:
        findings = [good(f"{base_url} responds in this container")]
    else:
        text = f"{base_url} is not an address of this machine, so nothing was tested"
        findings = [note(text, f"In the container: curl {base_url}{HEALTH.path}")]
    if not network.is_in_container:
        findings.append(_container_names(base_url))
    hosts = [result.base_url.host for result in results if result.is_emulator]
    return findings, [interface for interface in network.interfaces if interface.address in hosts]


async def _is_local(base_url: BaseUrl, network: LocalNetwork) -> bool:
    """Whether an address is one of this machine, or of this container."""
    if base_url.scheme != "http":
        return False  # A TLS proxy in front of the emulator may run anywhere.
    own = {interface.address for interface in network.interfaces}
    return any(ip in own or is_loopback(ip) for ip in await lookup(base_url.host))


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
    return [note(text, _host_advice(network))]


def _use(interface: NetworkInterface) -> str:
    if interface.is_bridge:
        return f"the address for containers behind {interface.name}"
    name = f" ({interface.name})" if interface.name else ""
    return f"an address for containers and other machines{name}"


def _host_advice(network: LocalNetwork) -> str:
    if network.is_in_container:
        return "For other containers, start the emulator with --host 0.0.0.0 (EMULATOR_HOST)."
    bridge = next(iter(network.bridges), None)
    narrow = "" if bridge is None else f"--host {bridge.address} (for this machine alone) or "
    return (
        f"For containers, start the emulator with {narrow}--host 0.0.0.0 (only in a trusted "
        f"network), or as a container in their network, with the URL http://{SERVICE}:8080."
    )


def _container_names(base_url: BaseUrl) -> DoctorFinding:
    """The addresses that only a container can try."""
    url = f"http://{DOCKER_HOST}:{base_url.port}{base_url.path}"
    return note(
        f"{url} and, in Compose, http://{SERVICE}:8080 are for containers, not tested from here",
        f"In the container: curl {url}{HEALTH.path}"
        f" (Docker on Linux: start it with {ADD_DOCKER_HOST})",
    )
