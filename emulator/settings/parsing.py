"""How each value is written in a flag or a variable.

Every function raises ValueError for a text it does not read; the table of options, not the
exception, says what was expected.
"""

import re

from emulator.domain.accounts import (
    OTHER_LIVE_KEY,
    OTHER_TEST_KEY,
    Mode,
    is_well_formed_key,
)
from emulator.domain.hosts import is_ip_literal
from emulator.domain.rate_limit import RateLimit

MAX_PORT = 65_535
MAX_SEED = 2**63 - 1
MAX_REQUESTS = 1_000_000
MAX_HOST_LENGTH = 253
LOG_FORMATS = ("text", "json")

_SWITCHES = {
    "1": True, "true": True, "yes": True, "on": True,
    "0": False, "false": False, "no": False, "off": False,
}  # fmt: skip
_PERIODS_MS = {"s": 1_000, "min": 60_000}
_OTHER_KEYS = {OTHER_TEST_KEY, OTHER_LIVE_KEY}

_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}", re.ASCII)
_METHOD = re.compile(r"[a-z][a-z0-9_]{0,39}", re.ASCII)
_HOST_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST_NAME = re.compile(rf"{_HOST_LABEL}(?:\.{_HOST_LABEL})*", re.ASCII)
_RATE_LIMIT = re.compile(r"([1-9][0-9]{0,6})/(s|min)", re.ASCII)


def parse_switch(text: str) -> bool:
    try:
        return _SWITCHES[text.lower()]
    except KeyError:
        raise ValueError(text) from None


def _integer(text: str) -> int:
    if _INTEGER.fullmatch(text) is None:
        raise ValueError(text)
    return int(text)


def parse_port(text: str) -> int:
    port = _integer(text)
    if not 0 <= port <= MAX_PORT:
        raise ValueError(text)
    return port


def parse_seed(text: str) -> int:
    """Read a seed, which SQLite has to hold: a signed integer of 64 bits."""
    seed = _integer(text)
    if not -MAX_SEED - 1 <= seed <= MAX_SEED:
        raise ValueError(text)
    return seed


def parse_host(text: str) -> str:
    """Read an IP address (an IPv6 one with or without brackets) or a host name, in lower case."""
    host = text.lower()
    if host.startswith("[") and host.endswith("]") and ":" in host:
        host = host[1:-1]
    if "[" not in host and "]" not in host and is_ip_literal(host):
        return host
    name = host.removesuffix(".")
    is_like_an_address = name.rpartition(".")[2].isdigit()
    if is_like_an_address or len(name) > MAX_HOST_LENGTH or _HOST_NAME.fullmatch(name) is None:
        raise ValueError(text)
    return name


def parse_allowed_host(text: str) -> str:
    """Read a host as `split_host` leaves that of a `Host` header: IPv6 in brackets."""
    host = parse_host(text)
    return f"[{host}]" if ":" in host else host


def parse_path(text: str) -> str:
    if not text or "\0" in text:
        raise ValueError(text)
    return text


def parse_url(text: str) -> str:
    """Read an absolute http or https URL; it is kept as it is written."""
    from urllib.parse import urlsplit

    # urlsplit would drop some of these without a word.
    if any(character.isspace() or not character.isprintable() for character in text):
        raise ValueError(text)
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.port == 0:
        raise ValueError(text)
    return text


def parse_checkout_url(text: str) -> str:
    """Read the public base of the checkout pages; a slash at its end is dropped."""
    if "?" in text or "#" in text:
        raise ValueError(text)
    return parse_url(text).rstrip("/")


def parse_webhook_secret(text: str) -> str:
    """Read `whsec_` and the base64 of 24 to 64 bytes (Standard Webhooks)."""
    from emulator.domain.webhooks import is_webhook_secret

    if not is_webhook_secret(text):
        raise ValueError("secret")
    return text


def parse_method(text: str) -> str:
    if _METHOD.fullmatch(text) is None:
        raise ValueError(text)
    return text


def parse_test_key(text: str) -> str:
    return _first_account_key(text, Mode.TEST)


def parse_live_key(text: str) -> str:
    return _first_account_key(text, Mode.LIVE)


def _first_account_key(text: str, mode: Mode) -> str:
    if not is_well_formed_key(text, mode) or text in _OTHER_KEYS:
        raise ValueError("key")
    return text


def parse_rate_limit(text: str) -> RateLimit:
    match = _RATE_LIMIT.fullmatch(text)
    if match is None or int(match[1]) > MAX_REQUESTS:
        raise ValueError(text)
    return RateLimit(requests=int(match[1]), period_ms=_PERIODS_MS[match[2]])


def parse_log_format(text: str) -> str:
    if text not in LOG_FORMATS:
        raise ValueError(text)
    return text
