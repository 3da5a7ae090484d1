"""What an advance makes happen: its effects, in order."""

from emulator.domain.timers import DueKey


class Effects:
    """The effects of one advance, as JSON objects.

    What was due before it began is no effect of it, unless of the one before, which was stopped
    by a limit and which it goes on from. Attempts beyond the `horizon` have to wait; None leaves
    them to themselves, and out of the list.
    """

    __slots__ = ("_attempts", "_since", "horizon", "listed")

    def __init__(self, begins_at: DueKey) -> None:
        self._since = begins_at
        self._attempts: list[tuple[DueKey, str]] = []
        self.horizon: DueKey | None = begins_at
        self.listed: list[str] = []

    def go_on(self, begins_at: DueKey) -> None:
        """Become those of the next advance; what is not listed yet is in its list."""
        self.horizon = begins_at
        self.listed = []

    def attempted(self, due: DueKey, effect: str) -> None:
        """Note an attempt; several are under way at a time, and end in any order."""
        if self.horizon is not None and due > self._since:
            self._attempts.append((due, effect))

    def list_attempts(self) -> None:
        """Put the attempts that have ended in their order, before what will be due later."""
        self.listed += [effect for _, effect in sorted(self._attempts)]
        self._attempts.clear()
