"""What an advance makes happen: its effects, in order."""

from collections.abc import Sequence

from emulator.domain.timers import DueKey


class Effects:
    """The effects of one advance, as JSON objects, each with its place among all that is due.

    Attempts that were due before it began are no effects of it, nor are those beyond the `horizon`,
    which have to wait. Without a horizon attempts are left to themselves. What a limit stopped is
    kept for the next advance.
    """

    __slots__ = ("_is_in_order", "_noted", "_since", "horizon")

    def __init__(self, since: DueKey, *, horizon: DueKey | None) -> None:
        self._since = since
        self._noted: list[tuple[DueKey, str]] = []
        # A hundred thousand would take a while to sort.
        self._is_in_order = True
        self.horizon = horizon

    @property
    def count(self) -> int:
        return len(self._noted)

    def fired(self, effects: Sequence[tuple[DueKey, str]]) -> None:
        """Note timers, which are in order among themselves."""
        self._expect(effects[0][0])
        self._noted.extend(effects)

    def forget_from(self, count: int) -> None:
        """Forget all but the first so many: the transaction of the others has failed."""
        del self._noted[count:]

    def attempted(self, due: DueKey, effect: str) -> None:
        """Note an attempt; several are under way at a time, and end in any order."""
        if self.horizon is not None and self._since < due <= self.horizon:
            self._expect(due)
            self._noted.append((due, effect))

    def _expect(self, due: DueKey) -> None:
        if self._noted and due < self._noted[-1][0]:
            self._is_in_order = False

    def take(self) -> list[str]:
        """All that was noted, in order of due time and then of creation."""
        noted, self._noted = self._noted, []
        if not self._is_in_order:
            noted.sort()
            self._is_in_order = True
        return [effect for _, effect in noted]
