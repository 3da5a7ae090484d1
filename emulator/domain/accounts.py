"""Account profiles, and the format and masking of API keys (contract, section 5)."""

import re
from collections.abc import Callable
from enum import StrEnum
from functools import cache
from typing import NamedTuple

KEY_PATTERN = re.compile(r"(test|live)_[A-Za-z0-9_]{4,128}", re.ASCII)

DEMO_TEST_KEY = "test_demo_key"
DEMO_LIVE_KEY = "live_demo_key"
# Of a second account, so that "belongs to another account" can be tested at once.
OTHER_TEST_KEY = "test_other_key"
OTHER_LIVE_KEY = "live_other_key"

SEEDS = range(-(2**63), 2**63)
"""Signed integers of 64 bits, as SQLite stores them."""

# Precedes the two hexadecimal digits of a character that a URL or JSON escapes, even repeatedly.
# Bounded, because a body may consist of backslashes.
_ESCAPE = r"(?:%(?:25){0,8}|\\{1,16}u00)"
_KEY_IN_TEXT = re.compile(r"(?:live|test)_[A-Za-z0-9_]{4,}", re.ASCII)
_ESCAPED_CHARACTER = re.compile(rf"{_ESCAPE}([0-9A-Fa-f]{{2}})", re.ASCII)
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
    Any of its characters may be escaped as in URLs and JSON.
    """
    may_be_escaped = "%" in text or "u00" in text
    # Most texts have none of these, and this runs for the path of every request.
    if not may_be_escaped and "live_" not in text and "test_" not in text:
        return text

    def shown(found: re.Match[str]) -> str:
        key = _ESCAPED_CHARACTER.sub(lambda escaped: chr(int(escaped[1], 16)), found[0])
        if is_known is None or key.startswith(Mode.LIVE) or is_known(key):
            return mask_key(key)
        return found[0]

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
    digits_of_word = "3[0-9]|4[1-9A-Fa-f]|5[0-9Aa]|6[1-9A-Fa-f]|7[0-9Aa]|5[Ff]"
    word = rf"(?:[A-Za-z0-9_]|{_ESCAPE}(?:{digits_of_word}))"
    return re.compile(rf"[lt%\\](?:{first}){_escapable('_')}{word}{{4,}}", re.ASCII)


def _escapable(character: str) -> str:
    return rf"(?:{character}|{_ESCAPE}(?i:{ord(character):02x}))"
