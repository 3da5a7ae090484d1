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

    def __init__(self) -> None:
        self._listed: list[str] = []
        # Those whose order is not known yet: each with its place among all that is due.
        self._noted: list[tuple[DueKey, str]] = []
        self._since: DueKey | None = None
        self.horizon: DueKey | None = None

    def begin(self, latest: DueKey, *, waits: bool) -> None:
        """Begin, or go on, with all that is due after what was created latest."""
        self._since = self._since or latest
        self.horizon = latest if waits else None

    @property
    def count(self) -> int:
        return len(self._listed) + len(self._noted)

    def list_in_order(self, effects: Iterable[str]) -> None:
        """List timers where nobody is told of them, and so nothing can come between."""
        self._list_noted()
        self._listed.extend(effects)

    def note(self, effects: Iterable[tuple[DueKey, str]]) -> None:
        """Note timers; who is told of one may make others fire before answering."""
        self._noted.extend(effects)

    def note_attempt(self, due: DueKey, effect: str) -> None:
        """Note an attempt; several are under way at a time, and end in any order."""
        since, horizon = self._since, self.horizon
        if since is not None and horizon is not None and since < due <= horizon:
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
        # An attempt may be noted on another thread meanwhile.
        noted, self._noted = self._noted, []
        self._listed += [effect for _, effect in sorted(noted)]
