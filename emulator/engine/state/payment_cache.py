"""Caches the JSON of payments, so that most retrieve calls query no database."""

from collections.abc import Set

from emulator.storage.batch import ORDINAL_BITS

# Of each of two generations: when the young one is full, it replaces the old one.
CAPACITY = 16_384


class _Generation:
    """Some payments, by position and by id."""

    __slots__ = ("by_id", "by_position")

    def __init__(self) -> None:
        self.by_position: dict[int, tuple[str, bytes]] = {}
        self.by_id: dict[str, tuple[int, bytes]] = {}


class PaymentCache:
    """Contains committed payments only: a change evicts its payment, and its commit comes first."""

    __slots__ = ("_last", "_old", "_young")

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self._young = _Generation()
        self._old = _Generation()
        # The position of each owner's newest payment, where it is known.
        self._last: dict[int, int] = {}

    def put(self, position: int, payment_id: str, body: bytes) -> None:
        young = self._young
        if len(young.by_position) >= CAPACITY:
            self._old = young
            young = self._young = _Generation()
        young.by_position[position] = (payment_id, body)
        young.by_id[payment_id] = (position >> ORDINAL_BITS, body)

    def set_last(self, position: int) -> None:
        """Note the position of the newest payment of its owner."""
        self._last[position >> ORDINAL_BITS] = position

    def evict(self, positions: Set[int]) -> None:
        for generation in (self._young, self._old):
            for position in generation.by_position.keys() & positions:
                payment_id, _ = generation.by_position.pop(position)
                del generation.by_id[payment_id]

    def at(self, position: int) -> tuple[str, bytes] | None:
        """The id and the body of the payment at a position."""
        return self._young.by_position.get(position) or self._old.by_position.get(position)

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
        entry = self._young.by_id.get(payment_id) or self._old.by_id.get(payment_id)
        return entry[1] if entry is not None and entry[0] == owner else None
