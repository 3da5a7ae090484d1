"""A bounded memory of how payments are written, so that a poll costs no thread hop."""

from emulator.storage.batch import ORDINAL_BITS

CAPACITY = 32_768


class Rendered:
    """Written and evicted on the storage thread, and only with what is committed; read by all.

    Eviction comes before the commit and writing after it, so a reader sees the committed
    payment or nothing, never one that may yet be undone.
    """

    __slots__ = ("_by_id", "_by_position")

    def __init__(self) -> None:
        self._by_position: dict[int, tuple[str, bytes]] = {}
        self._by_id: dict[str, tuple[int, bytes]] = {}

    def put(self, position: int, payment_id: str, body: bytes) -> None:
        if len(self._by_position) >= CAPACITY and position not in self._by_position:
            self.evict(next(iter(self._by_position)))
        self._by_position[position] = (payment_id, body)
        self._by_id[payment_id] = (position >> ORDINAL_BITS, body)

    def evict(self, position: int) -> None:
        entry = self._by_position.pop(position, None)
        if entry is not None:
            self._by_id.pop(entry[0], None)

    def at(self, position: int) -> bytes | None:
        entry = self._by_position.get(position)
        return None if entry is None else entry[1]

    def of(self, owner: int, payment_id: str) -> bytes | None:
        entry = self._by_id.get(payment_id)
        return entry[1] if entry is not None and entry[0] == owner else None

    def clear(self) -> None:
        self._by_position.clear()
        self._by_id.clear()
