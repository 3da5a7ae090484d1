"""The requests of the contract that an owner made: as many as there is room for, newest kept."""

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from emulator.domain.instants import Instant

if TYPE_CHECKING:
    from emulator.engine.rules import FaultCandidate

MOST_ENTRIES = 10_000
LARGEST_JOURNAL_BYTES = 8 * 1024 * 1024
LARGEST_KEPT_BYTES = 16 * 1024
# What an entry takes beside its bodies and its address, roughly.
_ENTRY_BYTES = 400


class Entry(NamedTuple):
    """One request and what it was answered with. Tuples cost the garbage collector least.

    `at` is by the account's clock. `status` is 0 where nothing was answered. Bodies are kept up to
    16 KiB; the lengths are those of the whole. `fault` is the rule that struck, `instead_of` the
    status of the answer that it spoiled.
    """

    id: bytes
    at: Instant
    method: str
    path: bytes
    query: bytes
    status: int
    request_body: bytes
    request_length: int
    response_body: bytes
    response_length: int
    warnings: tuple[str, ...]
    error: bytes
    is_replay: bool
    fault: "FaultCandidate | None"
    instead_of: int | None
    duration_ms: float

    @property
    def size_bytes(self) -> int:
        return (
            _ENTRY_BYTES
            + len(self.path)
            + len(self.query)
            + len(self.request_body)
            + len(self.response_body)
        )


class Journal:
    """Entries in the order of answering, bounded in number and in bytes."""

    __slots__ = ("_entries", "_size_bytes", "has_overflowed")

    def __init__(self) -> None:
        self._entries: deque[Entry] = deque()
        self._size_bytes = 0
        self.has_overflowed = False

    def add(self, entry: Entry) -> None:
        """Keep an entry; the oldest go where there is no more room."""
        entries = self._entries
        entries.append(entry)
        self._size_bytes += entry.size_bytes
        while self._size_bytes > LARGEST_JOURNAL_BYTES or len(entries) > MOST_ENTRIES:
            self._size_bytes -= entries.popleft().size_bytes
            self.has_overflowed = True

    def newest_first(self) -> Iterator[Entry]:
        """Of the moment: who reads it in several turns of the loop has to take a copy."""
        return reversed(self._entries)

    def copy(self) -> "Journal":
        """The journal as it is now; entries are values, and shared."""
        copy = Journal()
        copy._entries = self._entries.copy()
        copy._size_bytes = self._size_bytes
        copy.has_overflowed = self.has_overflowed
        return copy


def kept(body: bytes) -> bytes:
    """As much of a body as is kept."""
    return body if len(body) <= LARGEST_KEPT_BYTES else body[:LARGEST_KEPT_BYTES]
