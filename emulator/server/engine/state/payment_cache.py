"""Caches the JSON of payments, so that most retrieve calls query no database."""

from collections.abc import Set
from dataclasses import dataclass, field

from emulator.server.storage.batch import ORDINAL_BITS

# Of each of two generations: when the young one is full, it replaces the old one.
MAX_GENERATION_BYTES = 6 * 1024 * 1024
# The approximate size of an entry without its JSON.
ENTRY_BYTES = 350


@dataclass(slots=True, eq=False)
class _Generation:
    """Some payments, by position and by id."""

    by_position: dict[int, tuple[str, bytes]] = field(default_factory=dict)
    by_id: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    size_bytes: int = 0


class PaymentCache:
    """Contains committed payments only, although transactions and requests use it at any time.

    A created payment is added after the commit. A change evicts its payment twice: within its
    transaction, so that no request gets the old state once the clock has moved, and after the
    commit, because a create of the same commit has just added the old state. Between the two no
    read adds it again: reads run after the commit of their batch, and only one batch runs at a
    time. An eviction whose transaction fails costs one query. A page of newest payments is used
    only while `version` is unchanged, which each addition of a newest payment and each eviction
    increments. Two generations replace a list in order of use: an update of such a list would cost
    every read more than the few payments that are dropped too early.
    """

    __slots__ = ("_generations", "_last", "version")

    def __init__(self) -> None:
        # It counts the changes: a page that was built before the last one may be outdated.
        self.version = 0
        self.clear()

    def clear(self) -> None:
        # The young one and the old one.
        self._generations = [_Generation(), _Generation()]
        # The position of each owner's newest payment, where it is known.
        self._last: dict[int, int] = {}
        self.version += 1

    def put_created(self, position: int, payment_id: str, body: bytes) -> None:
        """Add the newest payment of its owner."""
        self.put(position, payment_id, body)
        self.set_last(position)

    def put(self, position: int, payment_id: str, body: bytes) -> None:
        young = self._generations[0]
        if young.size_bytes > MAX_GENERATION_BYTES:
            self._generations = [_Generation(), young]
            young = self._generations[0]
        young.by_position[position] = (payment_id, body)
        young.by_id[payment_id] = (position >> ORDINAL_BITS, body)
        young.size_bytes += len(body) + ENTRY_BYTES

    def set_last(self, position: int) -> None:
        """Note the position of the newest payment of its owner."""
        self._last[position >> ORDINAL_BITS] = position
        self.version += 1

    def evict(self, positions: Set[int]) -> None:
        for generation in self._generations:
            for position in generation.by_position.keys() & positions:
                payment_id, body = generation.by_position.pop(position)
                del generation.by_id[payment_id]
                generation.size_bytes -= len(body) + ENTRY_BYTES
        # Last, because another thread may evict while the event loop builds a page.
        self.version += 1

    def at(self, position: int) -> tuple[str, bytes] | None:
        """The id and the body of the payment at a position."""
        for generation in self._generations:
            rendered = generation.by_position.get(position)
            if rendered is not None:
                return rendered
        return None

    def newest(self, owner: int, count: int) -> list[tuple[str, bytes]] | None:
        """The ids and bodies of an owner's newest payments; None unless all are here."""
        last = self._last.get(owner)
        if last is None:
            return None
        newest = []
        for position in range(last, max(last - count, owner << ORDINAL_BITS), -1):
            rendered = self.at(position)
            if rendered is None:
                return None  # Perhaps there is none: a position may be left out.
            newest.append(rendered)
        return newest

    def of(self, owner: int, payment_id: str) -> bytes | None:
        for generation in self._generations:
            entry = generation.by_id.get(payment_id)
            if entry is not None:
                return entry[1] if entry[0] == owner else None
        return None
