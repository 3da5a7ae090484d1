"""Parses URLs, and hosts and ports as browsers do, and recognises the hosts of local machines."""

import re
from functools import lru_cache
from ipaddress import IPv4Address, ip_address
from urllib.parse import unquote_to_bytes

ACCEPTED_URL = "an absolute http or https URL"
# The names by which containers reach the machine that they run on.
DOCKER_HOST = "host.docker.internal"
PODMAN_HOST = "host.containers.internal"
ADD_DOCKER_HOST = f"--add-host={DOCKER_HOST}:host-gateway"

_LOCAL_NAMES = frozenset({DOCKER_HOST, PODMAN_HOST})
_LOCAL_SUFFIXES = (".localhost", ".test")
# Only a host of these characters can be resolved; browsers refuse others, too.
_NAME = re.compile(r"[\w-]+(\.[\w-]+)*")
_USUAL_PORTS = {"http": ":80", "https": ":443"}
# Every request except those of the contract needs these, nearly always for the same host.
_MAX_CACHED_HOSTS = 64

MAX_PORT = 65_535
# Chromium, Firefox and the Fetch standard (section 2.9) refuse all of these.
BLOCKED_PORTS = frozenset(
    {
        0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95,
        101, 102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179,
        389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601,
        636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 5060, 5061, 6000, 6566, 6665,
        6666, 6667, 6668, 6669, 6697, 10080,
    }
)  # fmt: skip
# DNS has no longer names and labels; a browser parses them and cannot resolve them.
MAX_NAME_LENGTH = 253
MAX_LABEL_LENGTH = 63

_FORBIDDEN = re.compile(r"[\x00-\x20#%/:<>?@\[\\\]^|\x7f]")
_JOINERS = "\u200c\u200d"
_RIGHT_TO_LEFT = {"R", "AL", "AN"}
_PUNYCODE = "xn--"
# What browsers take for a number, and the hexadecimal, octal and decimal ones of addresses.
_NUMBER = re.compile("[0-9]+|0x[0-9a-f]*")
_IPV4_NUMBER = re.compile("0x([0-9a-f]*)|(0[0-7]*)|([1-9][0-9]*)")
_MAX_IPV4_PARTS = 4


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
    return _NAME.fullmatch(bare) is not None and (
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


def parse_url_host(host: str) -> str | None:
    """The host as a browser resolves it (WHATWG URL standard, section 3.5).

    It is decoded, in lower case, and an IPv4 address has four parts. None for a host that no
    browser opens. An IPv6 address in brackets must be valid already. Names that are not ASCII
    stay in Unicode letters.
    """
    if host.startswith("["):
        return host.lower()
    if "%" in host:
        host = unquote_to_bytes(host).decode("utf-8", "replace")
    if len(host) > MAX_NAME_LENGTH + 1:
        return None
    name = host.lower() if host.isascii() else _mapped(host)
    if name is None or _FORBIDDEN.search(name):
        return None
    labels = name.removesuffix(".").split(".")
    if not all(map(_is_label, labels)):
        return None
    return _parse_ipv4(labels) if _NUMBER.fullmatch(labels[-1]) else name


def is_open_port(port: str) -> bool:
    """Whether browsers open the port, which is a number in ASCII digits, or empty."""
    digits = port.lstrip("0") or port[:1]
    if not digits:
        return True
    return len(digits) <= len(str(MAX_PORT)) and (
        int(digits) <= MAX_PORT and int(digits) not in BLOCKED_PORTS
    )


def _mapped(host: str) -> str | None:
    """The name in the letters to which IDNA maps it; None where a label is invalid (UTS 46)."""
    from unicodedata import bidirectional

    import idna

    try:
        name = idna.uts46_remap(host, std3_rules=False)
        has_order = any(bidirectional(character) in _RIGHT_TO_LEFT for character in name)
        for label in filter(None, name.split(".")):
            idna.check_initial_combiner(label)
            joiners = [index for index, each in enumerate(label) if each in _JOINERS]
            if not all(idna.valid_contextj(label, index) for index in joiners):
                return None
            if has_order:
                idna.check_bidi(label, check_ltr=True)
    except ValueError:  # also the errors of idna
        return None
    return name


def _is_label(label: str) -> bool:
    if not 1 <= len(label) <= MAX_LABEL_LENGTH:
        return False
    if label.startswith(_PUNYCODE):
        return label.isascii() and _is_punycode(label)
    return label.isascii() or (len(_PUNYCODE) + len(label.encode("punycode")) <= MAX_LABEL_LENGTH)


def _is_punycode(label: str) -> bool:
    """Whether a label that begins with `xn--` is the encoded form of a valid label."""
    try:
        decoded = label.removeprefix(_PUNYCODE).encode().decode("punycode")
    except UnicodeError:
        return False
    return not decoded.isascii() and _mapped(decoded) == decoded


def _parse_ipv4(labels: list[str]) -> str | None:
    """The address in four parts; None unless all labels are numbers that an address holds."""
    numbers = []
    for found in map(_IPV4_NUMBER.fullmatch, labels):
        if found is None:
            return None
        hexadecimal, octal, decimal = found.groups()
        base = 10 if decimal else 8 if octal else 16
        numbers.append(int(decimal or octal or hexadecimal or "0", base))
    *parts, rest = numbers
    places = _MAX_IPV4_PARTS - len(parts)
    if places < 1 or rest >= 256**places or any(part > 255 for part in parts):
        return None
    address = rest + sum(part << 8 * (3 - index) for index, part in enumerate(parts))
    return str(IPv4Address(address))
