"""Stores the newest requests of owners, and those without a valid key, within limits."""

from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from math import inf
from typing import Any
from urllib.parse import unquote_to_bytes

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from emulator.domain.accounts import Mode, mask_key, mask_keys
from emulator.domain.errors import UnknownRequest
from emulator.domain.instants import Instant
from emulator.server.engine.state.rules import PlacedFault

MAX_ENTRIES = 10_000
MAX_JOURNAL_BYTES = 8 * 1024 * 1024
MAX_STORED_BODY_BYTES = 16 * 1024
MAX_DEPARTURES = 1_000
MAX_ATTEMPTS = 5_000
MAX_UNAUTHORIZED = 100
MAX_PATH_CHARACTERS = 1_000
# Of a shorter key of another form, nothing is shown.
_MIN_KEY_LENGTH = 13
# The request headers that an entry has.
HEADERS = ("accept", "authorization", "content-type", "idempotency-key", "user-agent")
MAX_HEADER_BYTES = 512
# The fields that can be long, and the approximate size of all others.
_LONG = ("path", "query", "request_body", "response_body")
ENTRY_BYTES = 400


class JournalEntry(Struct, frozen=True, gc=False):
    """One request and its response.

    `at` is by the account's clock. `status` is 0 without a response. `error` is the error object
    that was sent, or that a fault replaced. `fault` is the rule that applied, `instead_of` the
    status of the response that it replaced. Up to 16 KiB of each body are stored; `is_cut` where
    one was longer. The address has the same limit, and a longer `error` is left out. `ended_ms`
    is monotonic real time. `headers` are the ones in `HEADERS`; who shows them masks the key.
    `size_bytes` is the approximate size of the entry.
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
    variants: tuple[str, ...]
    error: bytes
    is_replay: bool
    fault: PlacedFault | None
    instead_of: int | None
    duration_ms: float
    ended_ms: float
    retry_after: bytes
    headers: tuple[tuple[bytes, bytes], ...]
    size_bytes: int
    is_cut: bool = False


Conditions = Mapping[str, Callable[[Any], bool]]
"""What the fields of an entry must be, by their names."""
_ALL: Conditions = {}


class AttemptSpan(Struct):
    """When an attempt to deliver an event began and was answered, in monotonic real time.

    `proof` is the id of the delivery where a genuine `payment.completed` was acknowledged.
    """

    payment_id: str | None
    endpoint_id: str
    began_ms: float
    ended_ms: float = inf
    proof: str | None = None


class Journal:
    """Entries in the order of their responses, limited in number and in bytes.

    It also stores when webhooks were sent, and `departures`: when the page of a completed payment
    first redirected to `success_url`, in monotonic real time, by the ids of the payments.
    """

    def __init__(self, max_bytes: int = MAX_JOURNAL_BYTES) -> None:
        self._max_bytes = max_bytes
        self._entries: deque[JournalEntry] = deque()
        self.departures: dict[str, float] = {}
        self.attempts: deque[AttemptSpan] = deque(maxlen=MAX_ATTEMPTS)
        self._total_bytes = 0
        self.has_overflowed = False

    def add(self, entry: JournalEntry) -> None:
        """Add an entry; the oldest are removed where a limit is exceeded."""
        if entry.size_bytes > MAX_STORED_BODY_BYTES:
            entry = _shortened(entry)
        self._entries.append(entry)
        self._total_bytes += entry.size_bytes
        while self._total_bytes > self._max_bytes or len(self._entries) > MAX_ENTRIES:
            self._total_bytes -= self._entries.popleft().size_bytes
            self.has_overflowed = True

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def newest(self) -> JournalEntry | None:
        return self._entries[-1] if self._entries else None

    def add_departure(self, payment_id: str, monotonic_ms: float) -> None:
        """Add a departure; the oldest is removed where there are too many."""
        self.departures.setdefault(payment_id, monotonic_ms)
        if len(self.departures) > MAX_DEPARTURES:
            del self.departures[next(iter(self.departures))]

    def kinds(self) -> list[tuple[int, str, int]]:
        """The status, the error code and the number of equal entries, most frequent first."""
        kinds: Counter[tuple[int, str]] = Counter()
        equal = Counter((entry.status, entry.error) for entry in self._entries)
        for (status, error), count in equal.items():
            code = msgspec.json.decode(error)["error"]["code"] if status and error else ""
            kinds[status, code] += count
        return [(*kind, -count) for count, kind in sorted((-n, kind) for kind, n in kinds.items())]

    def warnings(self) -> list[tuple[str, int]]:
        """The warnings by kind and their numbers, most frequent first."""
        kinds = Counter(warning_kind(slug) for entry in self._entries for slug in entry.warnings)
        return [(kind, -count) for count, kind in sorted((-n, kind) for kind, n in kinds.items())]

    def newest_first(
        self, conditions: Conditions = _ALL, *, before: str | None = None, path: bytes | None = None
    ) -> Iterator[JournalEntry]:
        """The present entries: to read them in several turns of the loop, use a copy.

        With `before`, only those that are older than the entry with this id, else, with `path`,
        only those with this unescaped path. Raises UnknownRequest.
        """
        newest: Iterator[JournalEntry] = reversed(self._entries)
        if before is not None:
            newer = self.entry(before)
            next(entry for entry in newest if entry is newer)
        elif path is not None:
            newest = (entry for entry in newest if unquote_to_bytes(entry.path) == path)
        return (
            entry
            for entry in newest
            if all(holds(getattr(entry, name)) for name, holds in conditions.items())
        )

    def count(self, conditions: Conditions) -> int:
        """The number of entries that meet the conditions."""
        return sum(1 for _ in self.newest_first(conditions))

    def entry(self, request_id: str) -> JournalEntry:
        """The entry with an id. Raises UnknownRequest."""
        name = request_id.encode()
        for entry in reversed(self._entries):
            if entry.id == name:
                return entry
        raise UnknownRequest(request_id)

    def latest_id(self) -> str:
        """The id of the newest entry. Raises UnknownRequest."""
        if self.newest is None:
            raise UnknownRequest
        return self.newest.id.decode()

    def copy(self) -> "Journal":
        """The journal with its present entries."""
        copy = Journal(self._max_bytes)
        copy._entries = self._entries.copy()
        copy.departures = self.departures.copy()
        copy.attempts = self.attempts.copy()
        copy._total_bytes = self._total_bytes
        copy.has_overflowed = self.has_overflowed
        return copy


def warning_kind(slug: str) -> str:
    """The kind of a warning: its slug without the name of a parameter."""
    return slug.partition(":")[0]


def _shortened(entry: JournalEntry) -> JournalEntry:
    """The entry with its long fields cut to the limit."""
    parts = {name: getattr(entry, name) for name in _LONG}
    stored = {name: part[:MAX_STORED_BODY_BYTES] for name, part in parts.items()}
    is_cut = any(len(stored[name]) < len(parts[name]) for name in ("request_body", "response_body"))
    removed = sum(map(len, parts.values())) - sum(map(len, stored.values()))
    size_bytes = entry.size_bytes - removed
    if len(entry.error) > MAX_STORED_BODY_BYTES:
        stored["error"] = b""
    return replace(entry, **stored, is_cut=is_cut, size_bytes=size_bytes)


class UnauthorizedRequest(Struct, frozen=True):
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
        self.newest: deque[UnauthorizedRequest] = deque(maxlen=MAX_UNAUTHORIZED)
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
