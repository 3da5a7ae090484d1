"""The requests of the contract that an owner made: as many as there is room for, newest kept."""

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from emulator.domain.instants import Instant

if TYPE_CHECKING:
    from emulator.engine.state.rules import FaultCandidate

MAX_ENTRIES = 10_000
MAX_JOURNAL_BYTES = 8 * 1024 * 1024
MAX_STORED_BODY_BYTES = 16 * 1024
# What can be long in an entry, and what all else takes, roughly.
_LONG = ("path", "query", "request_body", "response_body")
ENTRY_BYTES = 400


class JournalEntry(NamedTuple):
    """One request and what it was answered with.

    `at` is by the account's clock. `status` is 0 where nothing was answered. `error` is the error
    object that was, or would have been, answered. `fault` is the rule that struck, `instead_of` the
    status of the answer that it spoiled. Of each body up to 16 KiB are kept; `is_cut` where one was
    longer. The address is cut like them, and an `error` that is longer is left out. `size_bytes` is
    about what the entry takes.
    """

    id: bytes
    at: Instant
    method: str
    path: bytes
    query: bytes
    status: int
    request_body: bytes
    response_body: bytes
    warnings: tuple[str, ...]
    error: bytes
    is_replay: bool
    fault: "FaultCandidate | None"
    instead_of: int | None
    duration_ms: float
    is_cut: bool
    size_bytes: int


Raw = tuple[
    bytes,
    Instant,
    str,
    bytes,
    bytes,
    int,
    bytes,
    bytes,
    tuple[str, ...],
    bytes,
    bool,
    "FaultCandidate | None",
    int | None,
    float,
    bool,
    int,
]
"""An entry as it is kept: plain, since every request makes one, and is hardly ever read."""


class Journal:
    """Entries in the order of answering, bounded in number and in bytes."""

    __slots__ = ("_raw", "_total_bytes", "has_overflowed")

    def __init__(self) -> None:
        self._raw: deque[Raw] = deque()
        self._total_bytes = 0
        self.has_overflowed = False

    def add(self, raw: Raw) -> None:
        """Keep an entry; the oldest go where there is no more room."""
        size_bytes = raw[-1]
        if size_bytes > MAX_STORED_BODY_BYTES:
            raw = _shortened(JournalEntry(*raw))
            size_bytes = raw[-1]
        entries = self._raw
        entries.append(raw)
        self._total_bytes += size_bytes
        if self._total_bytes > MAX_JOURNAL_BYTES or len(entries) > MAX_ENTRIES:
            self._make_room()

    def _make_room(self) -> None:
        while self._total_bytes > MAX_JOURNAL_BYTES or len(self._raw) > MAX_ENTRIES:
            self._total_bytes -= self._raw.popleft()[-1]
            self.has_overflowed = True

    def newest_first(self) -> Iterator[JournalEntry]:
        """Of the moment: who reads it in several turns of the loop has to take a copy."""
        return (JournalEntry(*raw) for raw in reversed(self._raw))

    def copy(self) -> "Journal":
        """The journal as it is now; entries are values, and shared."""
        copy = Journal()
        copy._raw = self._raw.copy()
        copy._total_bytes = self._total_bytes
        copy.has_overflowed = self.has_overflowed
        return copy


def _shortened(entry: JournalEntry) -> JournalEntry:
    """As much of an entry as is kept of what can be long."""
    parts = {name: getattr(entry, name) for name in _LONG}
    kept = {name: part[:MAX_STORED_BODY_BYTES] for name, part in parts.items()}
    is_cut = any(len(kept[name]) < len(parts[name]) for name in ("request_body", "response_body"))
    size_bytes = ENTRY_BYTES + sum(map(len, kept.values()))
    if len(entry.error) > MAX_STORED_BODY_BYTES:
        kept["error"] = b""
    return entry._replace(**kept, is_cut=is_cut, size_bytes=size_bytes)
