"""What an advance makes happen: its effects, in order."""

from collections.abc import Iterable

from emulator.domain.timers import DueKey


class Effects:
    """The effects of one advance, as JSON objects.

    Attempts that were due before it began are no effects of it, nor are those beyond the `horizon`,
    which have to wait. Without a horizon attempts are left to themselves. What a limit stopped is
    kept for the next advance.
    """

    __slots__ = ("_listed", "_noted", "_since", "horizon")

    def __init__(self, since: DueKey, *, horizon: DueKey | None) -> None:
        self._since = since
        self._listed: list[str] = []
        # Those whose order is not known yet: each with its place among all that is due.
        self._noted: list[tuple[DueKey, str]] = []
        self.horizon = horizon

    @property
    def count(self) -> int:
        return len(self._listed) + len(self._noted)

    def fired(self, effects: Iterable[str]) -> None:
        """List timers where nobody is told of them, and so nothing can come between."""
        self._list_noted()
        self._listed.extend(effects)

    def fired_among_attempts(self, effects: Iterable[tuple[DueKey, str]]) -> None:
        """Note timers; who is told of one may make others fire before answering."""
        self._noted.extend(effects)

    def attempted(self, due: DueKey, effect: str) -> None:
        """Note an attempt; several are under way at a time, and end in any order."""
        if self.horizon is not None and self._since < due <= self.horizon:
            self._noted.append((due, effect))

    def forget_from(self, count: int) -> None:
        """Forget all but the first so many: the transaction of the others has failed."""
        del self._noted[max(0, count - len(self._listed)) :]
        del self._listed[count:]

    def take(self) -> list[str]:
        """All of them, in order of due time and then of creation."""
        self._list_noted()
        taken, self._listed = self._listed, []
        return taken

    def _list_noted(self) -> None:
        self._listed += [effect for _, effect in sorted(self._noted)]
        self._noted.clear()
