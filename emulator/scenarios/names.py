"""Stores the names that a script has given its payments, up to the step that is being read."""

from emulator.scenarios.nodes import MapNode, Node, ScalarNode
from emulator.scenarios.problems import hint_nearest

# In one script. Each comparison takes as long as a thousand look-ups, and a script may consist of
# mistakes only.
_MAX_COMPARISONS = 2_000


class PaymentNames:
    """The names that steps can use; a later payment of a name replaces the earlier one."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._comparisons_left = _MAX_COMPARISONS

    def add(self, name: str) -> None:
        self._names.add(name)

    def add_from(self, node: Node) -> None:
        """Add the names that a step would have given if it could be read."""
        for key, value in node.pairs if isinstance(node, MapNode) else ():
            if isinstance(key, ScalarNode) and key.text == "as" and isinstance(value, ScalarNode):
                self.add(value.text)

    def problem_with(self, name: str) -> str | None:
        """Why no payment has this name, or None where one has it."""
        if name in self._names:
            return None
        hint = self._nearest(name) if self._names else "; 'create: {as: …}' gives a name"
        return f"no payment is called {name!r} up to here{hint}"

    def _nearest(self, name: str) -> str:
        if self._comparisons_left < len(self._names):
            return ""
        self._comparisons_left -= len(self._names)
        return hint_nearest(name, sorted(self._names))
