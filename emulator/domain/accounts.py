"""What an account is: two keys, two modes, and a name (contract, section 5)."""

import re
from dataclasses import dataclass
from enum import StrEnum

KEY_PATTERN = re.compile(r"(test|live)_[A-Za-z0-9_]{4,128}", re.ASCII)
LONGEST_KEY = 133

DEMO_TEST_KEY = "test_demo_key"
DEMO_LIVE_KEY = "live_demo_key"
# The second account is there so that "belongs to another account" can be tested at once.
OTHER_TEST_KEY = "test_other_key"
OTHER_LIVE_KEY = "live_other_key"

# With an underscore that is percent-encoded, too.
_KEY_IN_TEXT = re.compile(r"(?:test|live)(?:_|%5[Ff])(?:[A-Za-z0-9_]|%5[Ff])*", re.ASCII)
_SHOWN_WHOLE = 7
_SHORTEST_SHOWN = 13


class Mode(StrEnum):
    """Sandbox or live, chosen by the prefix of the key."""

    TEST = "test"
    LIVE = "live"


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountProfile:
    """An account as its owner sees it; the keys are secrets."""

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
    """A key as logs and pages may show it: `test_de…key`."""
    if len(key) < _SHORTEST_SHOWN:
        return f"{key[:5]}…"
    return f"{key[:_SHOWN_WHOLE]}…{key[-3:]}"


def mask_keys(address: str) -> str:
    """The path of a URL without what looks like a key: some put one where an id belongs."""
    if "test" not in address and "live" not in address:
        return address
    return _KEY_IN_TEXT.sub(lambda found: mask_key(found[0]), address)
