"""The names that a script has given its payments, up to the step that is being read."""

from emulator.scenarios.entries import Entry, read_text
from emulator.scenarios.nodes import MapNode, Node, ScalarNode
from emulator.scenarios.problems import hint_nearest
from emulator.scenarios.vocabulary import PAYMENT_NAME_PATTERN

# In one script; each takes as long as a thousand look-ups, and a script may be one long mistake.
_MAX_COMPARISONS = 2_000


class Names:
    """Which payments there are to be used; a later one of a name takes the place of the earlier."""

    def __init__(self) -> None:
        self._given: set[str] = set()
        self._comparisons_left = _MAX_COMPARISONS

    def give(self, entry: Entry) -> str | None:
        name = read_text(entry)
        if name is None:
            return None
        # Even a wrong one, since who uses it should not be told that it is missing.
        self._given.add(name)
        if PAYMENT_NAME_PATTERN.fullmatch(name):
            return name
        entry.refuse("1 to 64 small letters, digits, - and _, a letter first")
        return None

    def give_in(self, node: Node) -> None:
        """Take notice of what a step that cannot be read would have given a name."""
        for key, value in node.pairs if isinstance(node, MapNode) else ():
            if isinstance(key, ScalarNode) and key.text == "as" and isinstance(value, ScalarNode):
                self._given.add(value.text)

    def use(self, entry: Entry) -> str | None:
        name = read_text(entry)
        if name is None or name in self._given:
            return name
        hint = "; 'create: {as: …}' gives a name" if not self._given else self._nearest(name)
        entry.note(f"no payment is called {name!r} up to here{hint}")
        return None

    def _nearest(self, name: str) -> str:
        if self._comparisons_left < len(self._given):
            return ""
        self._comparisons_left -= len(self._given)
        return hint_nearest(name, sorted(self._given))
