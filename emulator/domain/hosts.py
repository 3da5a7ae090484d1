"""Which host names can only mean this machine or its private network of containers."""

import re
from functools import lru_cache
from ipaddress import ip_address

# The names by which containers reach the machine that they run on.
DOCKER_HOST = "host.docker.internal"
PODMAN_HOST = "host.containers.internal"
ADD_DOCKER_HOST = f"--add-host={DOCKER_HOST}:host-gateway"

_LOCAL_NAMES = frozenset({DOCKER_HOST, PODMAN_HOST})
_LOCAL_SUFFIXES = (".localhost", ".test")
# A host of these alone can be looked up; browsers refuse others, too.
_NAME = re.compile(r"[\w-]+(\.[\w-]+)*")
_USUAL_PORTS = {"http": ":80", "https": ":443"}
# Asked of every request but the contract's, nearly always of the same host.
_REMEMBERED = 64


@lru_cache(_REMEMBERED)
def is_ip_literal(host: str) -> bool:
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


@lru_cache(_REMEMBERED)
def is_local_name(host: str) -> bool:
    """Whether a host is IP loopback, a name without a dot (a compose service), or reserved."""
    bare = host.strip("[]").rstrip(".").lower()
    if is_ip_literal(bare):
        return ip_address(bare).is_loopback
    return _NAME.fullmatch(bare) is not None and (
        "." not in bare or bare in _LOCAL_NAMES or bare.endswith(_LOCAL_SUFFIXES)
    )


def authority(url: str) -> str:
    """Host and port of a URL or an origin, as browsers write them: without the usual port."""
    scheme, _, rest = url.partition("://")
    named = rest.partition("/")[0].rpartition("@")[2].lower()
    return named.removesuffix(_USUAL_PORTS.get(scheme.lower(), ""))


def split_host(host_header: str) -> str:
    """The host of a `Host` header, without its port and in lower case."""
    host = host_header.strip().lower()
    if host.startswith("["):
        return host[: host.find("]") + 1]
    return host.partition(":")[0].rstrip(".")
