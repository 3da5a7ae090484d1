"""The types of option values: how each is written in a flag, a variable or a file.

Each parser raises ValueError for a text that it does not accept.
"""

import re
from collections.abc import Callable
from enum import Enum, auto
from typing import NamedTuple

from emulator.domain.accounts import (
    KEY_FORM,
    OTHER_LIVE_KEY,
    OTHER_TEST_KEY,
    SEEDS,
    Mode,
    RateLimit,
    is_well_formed_key,
)
from emulator.domain.hosts import ACCEPTED_URL, MAX_PORT, is_ip_literal, parse_url
from emulator.domain.instants import ACCEPTED_CLOCKS, parse_clock
from emulator.domain.message_text import copied_ends
from emulator.domain.variants import vary_setting

IN_MEMORY = ":memory:"
MAX_REQUESTS = 1_000_000
MAX_HOST_LENGTH = 253
MAX_SECRET_LENGTH = 256
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
_HOST_NAME = rf"{_HOST_LABEL}(?:\.{_HOST_LABEL})*"
_RATE_LIMIT = r"([1-9][0-9]{0,6})/(s|min)"


class Form(Enum):
    """The form of an option: one value or several, and the type in a YAML file."""

    TEXT = auto()
    INTEGER = auto()
    TEXT_OR_INTEGER = auto()
    SWITCH = auto()
    """A flag without a value."""
    NAMES = auto()
    """A flag that may be repeated; commas separate values."""
    PATHS = auto()
    """A flag that may be repeated; a comma is part of the path."""


class OptionType(NamedTuple):
    """A type of values: `parse` reads one entry, `expected` describes the accepted ones."""

    parse: Callable[[str], object]
    expected: str
    metavar: str | None = None
    form: Form = Form.TEXT
    is_secret: bool = False


def _text_if(is_accepted: Callable[[str], object]) -> Callable[[str], str]:
    """A parser that returns an accepted text unchanged."""

    def parse(text: str) -> str:
        if not is_accepted(text):
            raise ValueError
        return text

    return parse


def _key_parser(mode: Mode) -> Callable[[str], str]:
    return _text_if(lambda key: is_well_formed_key(key, mode) and key not in _OTHER_KEYS)


_parse_path = _text_if(lambda text: text and "\0" not in text)


def _parse_switch(text: str) -> bool:
    try:
        return _SWITCHES[text.lower()]
    except KeyError:
        raise ValueError(text) from None


def _integer_parser(accepted: range) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if _INTEGER.fullmatch(text) is None or int(text) not in accepted:
            raise ValueError(text)
        return int(text)

    return parse


def _parse_host(text: str) -> str:
    """Read an IP address (an IPv6 one with or without brackets) or a host name, in lower case."""
    host = text.lower()
    if host.startswith("[") and host.endswith("]") and ":" in host:
        host = host[1:-1]
    if "[" not in host and "]" not in host and is_ip_literal(host):
        return host
    name = host.removesuffix(".")
    is_like_an_address = name.rpartition(".")[2].isdigit()
    if is_like_an_address or len(name) > MAX_HOST_LENGTH or re.fullmatch(_HOST_NAME, name) is None:
        raise ValueError(text)
    return name


def _parse_allowed_host(text: str) -> str:
    """Read a host in the form of `split_host`: IPv6 in brackets."""
    host = _parse_host(text)
    return f"[{host}]" if ":" in host else host


def parse_checkout_url(text: str) -> str:
    """Read the public base of the checkout pages; a slash at its end is dropped."""
    if "?" in text or "#" in text:
        raise ValueError(text)
    return parse_url(text).rstrip("/")


def _parse_rate_limit(text: str) -> RateLimit:
    match = re.fullmatch(_RATE_LIMIT, text)
    if match is None or int(match[1]) > MAX_REQUESTS:
        raise ValueError(text)
    return RateLimit(requests=int(match[1]), period_ms=_PERIODS_MS[match[2]])


HOST = OptionType(_parse_host, "an IP address or a host name", "ADDRESS")
ALLOWED_HOSTS = OptionType(
    _parse_allowed_host, "a host name without scheme and port", "HOST", form=Form.NAMES
)
PORT = OptionType(
    _integer_parser(range(MAX_PORT + 1)),
    f"an integer from 0 to {MAX_PORT}",
    "PORT",
    form=Form.INTEGER,
)
SEED = OptionType(
    _integer_parser(SEEDS), "an integer of at most 64 bits", "INTEGER", form=Form.INTEGER
)
SWITCH = OptionType(_parse_switch, "true or false", form=Form.SWITCH)
DATABASE = OptionType(_parse_path, f"the path of a file, or {IN_MEMORY}", "FILE")
SCENARIO_PATHS = OptionType(_parse_path, "the path of a file or directory", "PATH", form=Form.PATHS)
FILE = OptionType(_parse_path, "the path of a file", "FILE")
PEM_FILE = OptionType(_parse_path, "the path of a PEM file", "FILE")
CONFIG_FILE = OptionType(_parse_path, "the path of a YAML file", "FILE")
URL = OptionType(parse_url, ACCEPTED_URL, "URL")
CHECKOUT_URL = OptionType(parse_checkout_url, f"{ACCEPTED_URL} without query and fragment", "URL")
CLOCK = OptionType(parse_clock, ACCEPTED_CLOCKS, "CLOCK")
METHODS = OptionType(
    _text_if(_METHOD.fullmatch),
    "a lower-case letter followed by at most 39 lower-case letters, digits or _",
    "METHOD",
    form=Form.NAMES,
)
_KEY = f"{KEY_FORM}, not a key of the second account"
TEST_KEY = OptionType(_key_parser(Mode.TEST), f"test_ {_KEY}", "KEY", is_secret=True)
LIVE_KEY = OptionType(_key_parser(Mode.LIVE), f"live_ {_KEY}", "KEY", is_secret=True)
WEBHOOK_SECRET = OptionType(
    _text_if(lambda text: 1 <= len(text) <= MAX_SECRET_LENGTH and not copied_ends(text)),
    f"1 to {MAX_SECRET_LENGTH} characters",
    "SECRET",
    is_secret=True,
)
WEBHOOK_FORMAT = OptionType(
    _parse_path, "the name of a shipped webhook format, or the path of a YAML file", "NAME_OR_FILE"
)
RATE_LIMIT = OptionType(
    _parse_rate_limit,
    f"1 to {MAX_REQUESTS} requests per {' or '.join(_PERIODS_MS)}, such as 100/s or 1000/min",
    "LIMIT",
)
VARY = OptionType(
    vary_setting, "names of variants, or a seed", "NAMES|SEED", form=Form.TEXT_OR_INTEGER
)
LOG_FORMAT = OptionType(_text_if(LOG_FORMATS.__contains__), " or ".join(LOG_FORMATS), "FORMAT")
