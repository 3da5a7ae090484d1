"""Stores the newest requests without a valid API key, which belong to no account."""

from collections import deque
from typing import NamedTuple

from emulator.domain.accounts import Mode, mask_key, mask_keys
from emulator.domain.instants import Instant

MAX_ENTRIES = 100
MAX_PATH_CHARACTERS = 1_000
# Of a shorter key of another form, nothing is shown.
_MIN_KEY_LENGTH = 13


class UnauthorizedRequest(NamedTuple):
    """A request; `at` is by the system clock. Without a Bearer key, `key` is None."""

    at: Instant
    method: str
    path: str
    code: str
    key: str | None


class UnauthorizedRequests:
    """The newest requests, oldest first, and the number of all since the start."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.newest: deque[UnauthorizedRequest] = deque(maxlen=MAX_ENTRIES)
        self.count = 0

    def add(self, at: Instant, method: str, path: bytes, code: str, authorization: bytes) -> None:
        """Add a request, whose path and key are masked."""
        shown = mask_keys(path.decode("latin-1"))[:MAX_PATH_CHARACTERS]
        scheme, _, key = authorization.decode("latin-1").partition(" ")
        masked = _masked(key.strip()) if scheme.lower() == "bearer" and key.strip() else None
        self.newest.append(UnauthorizedRequest(at, method, shown, code, masked))
        self.count += 1


def _masked(key: str) -> str:
    is_known_form = key.startswith(tuple(f"{mode}_" for mode in Mode))
    return mask_key(key) if is_known_form or len(key) >= _MIN_KEY_LENGTH else "…"
