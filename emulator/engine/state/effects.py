"""Collects the effects of an advance, in order."""

from collections.abc import Iterable

from emulator.domain.timers import DueKey


class Effects:
    """The effects of one advance, as JSON objects.

    Attempts that were due before it began are not its effects. Attempts beyond the `horizon` wait;
    without a horizon the advance does not wait for attempts. After an advance that a limit
    stopped, the next one goes on with the same object.
    """

    __slots__ = ("_ordered", "_pending", "_since", "horizon")

    def __init__(self) -> None:
        self._ordered: list[str] = []
        # Those whose order is not known yet, each with its due key.
        self._pending: list[tuple[DueKey, str]] = []
        self._since: DueKey | None = None
        self.horizon: DueKey | None = None

    def begin(self, latest: DueKey, *, waits: bool) -> None:
        """Begin or continue an advance: attempts that are due later than `latest` are effects."""
        self._since = self._since or latest
        self.horizon = latest if waits else None

    @property
    def count(self) -> int:
        return len(self._ordered) + len(self._pending)

    def add_ordered(self, effects: Iterable[str]) -> None:
        """Add timers of an account without endpoints: no attempt can come between them."""
        self._order_pending()
        self._ordered.extend(effects)

    def add(self, effects: Iterable[tuple[DueKey, str]]) -> None:
        """Add timers; the receiver of an event may cause other effects before it responds."""
        self._pending.extend(effects)

    def add_attempt(self, due: DueKey, effect: str) -> None:
        """Add an attempt; concurrent attempts end in any order."""
        since, horizon = self._since, self.horizon
        if since is not None and horizon is not None and since < due <= horizon:
            self._pending.append((due, effect))

    def truncate(self, count: int) -> None:
        """Remove all but the first so many: the transaction of the others failed."""
        del self._pending[max(0, count - len(self._ordered)) :]
        del self._ordered[count:]

    def take(self) -> list[str]:
        """Remove and return all effects, in order of due time and then of creation."""
        self._order_pending()
        ordered, self._ordered = self._ordered, []
        return ordered

    def _order_pending(self) -> None:
        # Another thread may add an attempt at the same time.
        pending, self._pending = self._pending, []
        self._ordered += [effect for _, effect in sorted(pending)]
