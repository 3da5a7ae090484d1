"""Parses URLs, and recognises the hosts of local machines."""

import re
from functools import lru_cache
from ipaddress import ip_address

ACCEPTED_URL = "an absolute http or https URL"
# The names by which containers reach the machine that they run on.
DOCKER_HOST = "host.docker.internal"
PODMAN_HOST = "host.containers.internal"
ADD_DOCKER_HOST = f"--add-host={DOCKER_HOST}:host-gateway"

_LOCAL_NAMES = frozenset({DOCKER_HOST, PODMAN_HOST})
_LOCAL_SUFFIXES = (".localhost", ".test")
# Only a host of these characters can be resolved; browsers refuse others, too.
_NAME = r"[\w-]+(\.[\w-]+)*"
_USUAL_PORTS = {"http": ":80", "https": ":443"}
# Every request outside the contract needs these, nearly always for the same host.
_MAX_CACHED_HOSTS = 64

MAX_PORT = 65_535


def parse_url(text: str) -> str:
    """An absolute http or https URL, unchanged. Raises ValueError."""
    from urllib.parse import urlsplit

    # urlsplit removes some of these silently.
    if any(character.isspace() or not character.isprintable() for character in text):
        raise ValueError(text)
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.port == 0:
        raise ValueError(text)
    return text


@lru_cache(_MAX_CACHED_HOSTS)
def is_ip_literal(host: str) -> bool:
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


@lru_cache(_MAX_CACHED_HOSTS)
def is_local_name(host: str) -> bool:
    """Whether a host is IP loopback, a name without a dot (a compose service), or reserved."""
    bare = host.strip("[]").rstrip(".").lower()
    if is_ip_literal(bare):
        return ip_address(bare).is_loopback
    return re.fullmatch(_NAME, bare) is not None and (
        "." not in bare or bare in _LOCAL_NAMES or bare.endswith(_LOCAL_SUFFIXES)
    )


def authority(url: str) -> str:
    """Host and port of a URL or an origin, as browsers write them: without the usual port."""
    scheme, _, rest = url.partition("://")
    named = rest.partition("/")[0].rpartition("@")[2].lower()
    return named.removesuffix(_USUAL_PORTS.get(scheme.lower(), ""))


def hide_url_secrets(text: str) -> str:
    """The text with only the scheme, host and port of each URL; the rest may be secret."""
    return " ".join(public_part(word) if "://" in word else word for word in text.split(" "))


def public_part(url: str) -> str:
    """The scheme, if there is one, the host and the port of a URL, which may be invalid."""
    before, separator, after = url.partition("://")
    scheme, rest = (before, after) if separator else ("", before)
    netloc = re.split("[/?#]", rest, maxsplit=1)[0]
    hidden = rest[len(netloc) :]
    shown = hidden if hidden in ("", "/") else "/…"
    return f"{scheme}{separator}{netloc.rpartition('@')[2]}{shown}"


def split_host(host_header: str) -> str:
    """The host of a `Host` header, without its port and in lower case."""
    host = host_header.strip().lower()
    if host.startswith("["):
        return host[: host.find("]") + 1]
    return host.partition(":")[0].rstrip(".")
