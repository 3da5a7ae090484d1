"""Account profiles, rate limits, and the format and masking of API keys (contract, section 5)."""

import re
from collections.abc import Callable
from enum import StrEnum
from functools import cache
from typing import NamedTuple

from emulator.domain.instants import Instant

KEY_PATTERN = re.compile(r"(test|live)_[!-~]{4,128}", re.ASCII)
KEY_FORM = "and 4 to 128 visible ASCII characters"

DEMO_TEST_KEY = "test_demo_key"
DEMO_LIVE_KEY = "live_demo_key"
# Of a second account, so that "belongs to another account" can be tested at once.
OTHER_TEST_KEY = "test_other_key"
OTHER_LIVE_KEY = "live_other_key"

# The setting of an account without variants.
VARY_OFF = "off"

SEEDS = range(-(2**63), 2**63)
"""Signed integers of 64 bits, as SQLite stores them."""

# Precedes the two hexadecimal digits of a character that a URL or JSON escapes, even repeatedly.
# Bounded, because a body may consist of backslashes.
_ESCAPE = r"(?:%(?:25){0,8}|\\{1,16}u00)"
# Visible characters of a text, without the quotes and backslashes that end or escape it.
_PLAIN = r"[!#-\[\]-~]"
_VISIBLE_DIGITS = "2[1-9A-Fa-f]|[3-6][0-9A-Fa-f]|7[0-9A-Ea-e]"
# A `%` before other digits is an escaped character that is not visible.
_CHARACTER = rf"(?:{_ESCAPE}(?:{_VISIBLE_DIGITS})|\\{{1,16}}/|(?!%[0-9A-Fa-f]{{2}}){_PLAIN})"
_KEY_IN_TEXT = re.compile(rf"(?:live|test)_{_PLAIN}{{4,}}", re.ASCII)
_MAX_KEY_LENGTH = len("live_") + 128
_MIN_KEY_LENGTH = len("live_") + 4
# What follows a key in a sentence or in JSON, and is not masked.
_AFTER_KEY = "'),.:;?]}"
_SHOWN_PREFIX_LENGTH = 7
_MIN_SHOWN_LENGTH = 13


class Mode(StrEnum):
    """Sandbox or live, selected by the prefix of the key."""

    TEST = "test"
    LIVE = "live"


class AccountProfile(NamedTuple):
    """The name and the secret keys of an account."""

    id: str
    name: str
    test_key: str
    live_key: str

    def key(self, mode: Mode) -> str:
        return self.test_key if mode is Mode.TEST else self.live_key


class RateLimit(NamedTuple):
    """A bucket of `requests` tokens, full at start, refilled in `period_ms`."""

    requests: int
    period_ms: int


BucketState = tuple[RateLimit, int, Instant | None]
"""The limit of a bucket, its units, and the instant of their last update."""


class TokenBucket:
    """The bucket of an owner, on its account's clock, in exact integers.

    A token is `period_ms` units, and each millisecond adds `requests` units.
    """

    __slots__ = ("_filled_at", "_limit", "_units")

    def __init__(self, limit: RateLimit) -> None:
        self._limit = limit
        self._units = limit.requests * limit.period_ms
        self._filled_at: Instant | None = None

    def state(self) -> BucketState:
        return self._limit, self._units, self._filled_at

    def like(self, state: BucketState | None) -> "TokenBucket":
        """A bucket of this limit: with the state of one of the same limit, else full."""
        bucket = TokenBucket(self._limit)
        if state is not None and state[0] == self._limit:
            _, bucket._units, bucket._filled_at = state
        return bucket

    def take(self, now: Instant) -> int:
        """Take a token: returns 0, or the milliseconds until the next token."""
        limit = self._limit
        if self._filled_at is not None:
            gained = max(0, now - self._filled_at) * limit.requests
            self._units = min(self._units + gained, limit.requests * limit.period_ms)
        self._filled_at = now
        if self._units >= limit.period_ms:
            self._units -= limit.period_ms
            return 0
        return -(-(limit.period_ms - self._units) // limit.requests)


def is_well_formed_key(key: str, mode: Mode | None = None) -> bool:
    match = KEY_PATTERN.fullmatch(key)
    return match is not None and (mode is None or match[1] == mode)


def mask_key(key: str) -> str:
    """A key for logs and pages: `test_de…key`."""
    if len(key) < _MIN_SHOWN_LENGTH:
        return f"{key[:5]}…"
    return f"{key[:_SHOWN_PREFIX_LENGTH]}…{key[-3:]}"


def mask_keys(text: str, is_known: Callable[[str], bool] | None = None) -> str:
    """A text with masked keys, because some clients send a key in place of an id.

    Every `live_` key is masked, and a `test_` key if it `is_known` (without `is_known`, always).
    Any of its characters may be escaped as in URLs and JSON. A key in a text ends before white
    space and at the end of a JSON string; an unknown one also before a quote or a backslash in it.
    """
    may_be_escaped = "%" in text or "u00" in text or "\\/" in text
    # Most texts have none of these, and this runs for the path of every request.
    if not may_be_escaped and "live_" not in text and "test_" not in text:
        return text

    def shown(found: re.Match[str]) -> str:
        characters: list[str] = re.findall(_CHARACTER, found[0], re.ASCII)
        word = "".join(map(_unescaped, characters))
        end = len(word)
        while end > _MIN_KEY_LENGTH and word[end - 1] in _AFTER_KEY:
            end -= 1
        if is_known is not None:
            known = range(min(len(word), _MAX_KEY_LENGTH), _MIN_KEY_LENGTH - 1, -1)
            known_end = next((length for length in known if is_known(word[:length])), None)
            if known_end is None and not word.startswith(Mode.LIVE):
                return found[0]
            end = known_end or end
        # In JSON, a quote would end the text.
        key = word[:end].replace('"', "_").replace("\\", "_")
        return mask_key(key) + "".join(characters[end:])

    pattern = _escaped_key_in_text() if may_be_escaped else _KEY_IN_TEXT
    return pattern.sub(shown, text)


@cache
def _escaped_key_in_text() -> re.Pattern[str]:
    """A key, escaped or not; its search takes five times as long."""
    # The first character is separate, so that the search skips to it quickly.
    first = "|".join(
        f"(?:(?<={mode[0]})|(?<=%)(?:25){{0,8}}(?i:{ord(mode[0]):02x})"
        rf"|(?<=\\)\\{{0,15}}u00(?i:{ord(mode[0]):02x})){''.join(map(_escapable, mode[1:]))}"
        for mode in Mode
    )
    return re.compile(rf"[lt%\\](?:{first}){_escapable('_')}{_CHARACTER}{{4,}}", re.ASCII)


def _unescaped(character: str) -> str:
    if len(character) == 1:
        return character
    return chr(int(character[-2:], 16)) if character[-2:].isalnum() else character[-1]


def _escapable(character: str) -> str:
    return rf"(?:{character}|{_ESCAPE}(?i:{ord(character):02x}))"
