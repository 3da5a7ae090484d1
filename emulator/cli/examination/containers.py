"""How it is from a container: by which addresses of this machine the emulator is reached."""

from collections.abc import Iterable

from emulator.cli.examination.asking import HEALTH, Patience, ips_of
from emulator.cli.examination.findings import Finding, Section, View, good, note
from emulator.cli.examination.locating import Found, Search, look_at_all
from emulator.cli.examination.surroundings import SERVICE, Interface, Surroundings
from emulator.domain.hosts import DOCKER_HOST
from emulator.http.addresses import is_loopback
from emulator.replay.client import Address

_ADD_HOST = f"--add-host={DOCKER_HOST}:host-gateway"


async def examine_containers(
    search: Search, found: Found, surroundings: Surroundings, patience: Patience
) -> tuple[Section, tuple[Interface, ...]]:
    """The second view, and those of this machine's addresses that the emulator answers at."""
    reached: tuple[Interface, ...] = ()
    if search.others:
        reached = _reached(surroundings, search.others)
        findings = [tried_finding(other) for other in search.others]
    elif await _is_own(found.address, surroundings):
        hosts = [interface.address for interface in surroundings.interfaces]
        looked = await look_at_all(found.address, hosts, patience)
        reached = _reached(surroundings, looked)
        findings = _inward(found.address, surroundings, looked)
    elif surroundings.is_in_container:
        findings = [good(f"{found.address} answers in this container")]
    else:
        findings = [_elsewhere(found.address)]
    if not surroundings.is_in_container:
        findings.append(_names(found.address))
    return Section(view=View.CONTAINER, findings=tuple(findings)), reached


def tried_finding(found: Found) -> Finding:
    if not found.is_emulator:
        return note(f"{found.address}: {found.told}")
    return good(f"{found.address} answers: payments emulator {found.told}")


def _reached(surroundings: Surroundings, looked: Iterable[Found]) -> tuple[Interface, ...]:
    hosts = {found.address.host for found in looked if found.is_emulator}
    return tuple(one for one in surroundings.interfaces if one.address in hosts)


async def _is_own(address: Address, surroundings: Surroundings) -> bool:
    """Whether an address is one of this machine, or of this container."""
    if address.scheme != "http":
        return False  # What speaks TLS for the emulator may be anywhere.
    own = {interface.address for interface in surroundings.interfaces}
    return any(ip in own or is_loopback(ip) for ip in await ips_of(address.host))


def _elsewhere(address: Address) -> Finding:
    return note(
        f"{address} is not an address of this machine, so that nothing was tried",
        f"In the container: curl {address}{HEALTH}",
    )


def _inward(address: Address, surroundings: Surroundings, looked: Iterable[Found]) -> list[Finding]:
    """What follows for containers from what is at this machine's addresses."""
    pairs = list(zip(surroundings.interfaces, looked, strict=True))
    answering = [(one, found) for one, found in pairs if found.is_emulator]
    if not pairs:
        return [note("This machine has no address but its loopback ones to be tried at")]
    if not answering:
        tried = ", ".join(f"{interface}: {found.told}" for interface, found in pairs)
        text = f"It answers at {address.host} only (port {address.port} of {tried})"
        return [note(text, _opening(surroundings))]
    return [good(f"{found.address} answers: {_use(one)}") for one, found in answering]


def _use(interface: Interface) -> str:
    if interface.is_bridge:
        return f"the address for containers behind {interface.name}"
    named = f" ({interface.name})" if interface.name else ""
    return f"an address for containers and other machines{named}"


def _opening(surroundings: Surroundings) -> str:
    if surroundings.is_in_container:
        return "For other containers start it with --host 0.0.0.0 (EMULATOR_HOST)."
    bridge = next(iter(surroundings.bridges), None)
    narrow = "" if bridge is None else f"--host {bridge.address} (for this machine alone) or "
    return (
        f"For containers start it with {narrow}--host 0.0.0.0 (only on a network you trust), or as "
        f"a container in their network: http://{SERVICE}:8080 there."
    )


def _names(address: Address) -> Finding:
    """What only a container can try."""
    url = f"http://{DOCKER_HOST}:{address.port}{address.path}"
    return note(
        f"{url} and, in Compose, http://{SERVICE}:8080 are for containers, not tried from here",
        f"In the container: curl {url}{HEALTH} (Docker on Linux: started with {_ADD_HOST})",
    )
