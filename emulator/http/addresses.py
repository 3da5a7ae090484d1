"""Parses and rewrites the addresses of servers, as text and without network access."""

from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from ..domain.hosts import is_ip_literal, parse_url

DEFAULT_PORTS = {"http": 80, "https": 443}


class BaseUrl(NamedTuple):
    """The address of a server; `path` is the prefix that a proxy adds to all paths."""

    scheme: str
    host: str
    port: int
    path: str = ""

    @classmethod
    def parse(cls, url: str) -> "BaseUrl":
        """Parse an absolute URL that was validated before."""
        parts = urlsplit(url)
        return cls(
            scheme=parts.scheme,
            host=parts.hostname or "",
            port=parts.port or DEFAULT_PORTS[parts.scheme],
            path=parts.path.rstrip("/"),
        )

    def __str__(self) -> str:
        return f"{self.scheme}://{host_with_port(self.host, self.port)}{self.path}"


def is_web_url(text: str) -> bool:
    """Whether a text is an absolute http or https URL in ASCII, with a host and a usable port."""
    try:
        return parse_url(text).isascii()
    except ValueError:  # such as a port that is too large
        return False


def host_with_port(host: str, port: int | None) -> str:
    """Join a host and a port, with brackets around an IPv6 address."""
    bracketed = f"[{host}]" if ":" in host else host
    return bracketed if port is None else f"{bracketed}:{port}"


def host_and_port(url: str) -> str:
    """Return the host and port of a URL, also when the port is the default of its scheme."""
    parts = urlsplit(url)
    return host_with_port(parts.hostname or "", parts.port or DEFAULT_PORTS.get(parts.scheme))


def with_host(url: str, host: str) -> str:
    """Replace the host of a URL; user and password are dropped."""
    parts = urlsplit(url)
    return parts._replace(netloc=host_with_port(host, parts.port)).geturl()


def without_password(url: str) -> str:
    """The URL without its user and password."""
    parts = urlsplit(url)
    return with_host(url, parts.hostname or "") if "@" in parts.netloc else url


def with_scheme(url: str, scheme: str) -> str:
    """Replace the scheme of a URL but not its port; user and password are dropped."""
    return urlsplit(url)._replace(scheme=scheme, netloc=host_and_port(url)).geturl()


def is_loopback(host: str) -> bool:
    """Whether a host always means the machine or the container that connects to it."""
    bare = host.rstrip(".")
    if is_ip_literal(bare):
        return ip_address(bare).is_loopback or ip_address(bare).is_unspecified
    return bare == "localhost" or bare.endswith(".localhost")


def is_in_container(environment: Mapping[str, str], root: Path = Path("/")) -> bool:
    """Whether this process probably runs in a container (Docker, Podman, Kubernetes)."""
    files = (root / ".dockerenv", root / "run" / ".containerenv")
    return "KUBERNETES_SERVICE_HOST" in environment or any(file.exists() for file in files)
