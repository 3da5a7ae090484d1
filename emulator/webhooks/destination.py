"""Parses the URL of an endpoint into what a connection and a request need."""

import re
from base64 import b64encode
from functools import lru_cache
from ipaddress import ip_address
from urllib.parse import quote, unquote, urlsplit

from msgspec import Struct

from emulator.http.addresses import DEFAULT_PORTS, host_with_port

_MAX_CACHED_TARGETS = 64
_IPV4_FORM = re.compile(r"[0-9]+(\.[0-9]+){3}", re.ASCII)
# All printable ASCII characters that a request line may contain; percent signs stay as they are.
_SENT_VERBATIM = "!$%&'()*+,-./:;=?@[\\]^_|~"


class Destination(Struct, frozen=True, kw_only=True):
    """A parsed URL: `host` is ASCII, `address` is the value of the header `Host`.

    `path` has the query. `authorization` is the header's value for a user in the URL.
    """

    is_tls: bool
    host: str
    port: int
    address: str
    path: str
    authorization: str | None


@lru_cache(_MAX_CACHED_TARGETS)
def parse_destination(url: str) -> Destination:
    """Raises ValueError, also for a name that the domain name system cannot contain."""
    parts = urlsplit(url)
    host, port = _ascii_host(parts.netloc, parts.hostname or ""), parts.port
    usual_port = DEFAULT_PORTS[parts.scheme]
    authorization = None
    if parts.username or parts.password:
        user = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
        authorization = f"Basic {b64encode(user.encode()).decode('ascii')}"
    path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    return Destination(
        is_tls=parts.scheme == "https",
        host=host,
        port=port or usual_port,
        address=host_with_port(host, None if port == usual_port else port),
        path=quote(path, safe=_SENT_VERBATIM),
        authorization=authorization,
    )


def _ascii_host(netloc: str, host: str) -> str:
    """Raises ValueError; UnicodeError is one."""
    if not host.isascii():
        import idna

        return idna.encode(host).decode("ascii")
    if "[" in netloc or _IPV4_FORM.fullmatch(host):
        ip_address(host)
    return host
