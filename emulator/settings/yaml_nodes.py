"""Composes the nodes of a YAML document within the limits of `emulator.files`."""

import yaml
from yaml.composer import Composer

from emulator.files import MAX_NESTING, MAX_NODES

# The parser in C is ten times as fast; not every platform's wheel has it.
_LOADER: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Limited(Composer, _LOADER):  # type: ignore[misc, valid-type]
    """A composer in Python over the events of the fast parser; it stops at the first limit."""

    def __init__(self, text: str) -> None:
        _LOADER.__init__(self, text)
        Composer.__init__(self)
        self._depth = 0
        self._nodes = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            self._stop(f"the file must not have more than {MAX_NODES:,} nodes")
        if not self.check_event(yaml.SequenceStartEvent, yaml.MappingStartEvent):
            return super().compose_node(parent, index)
        if self._depth == MAX_NESTING:
            self._stop(f"nesting must not go deeper than {MAX_NESTING} levels")
        self._depth += 1
        node: yaml.Node | None = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def _stop(self, problem: str) -> None:
        raise LimitExceeded(problem=problem, problem_mark=self.peek_event().start_mark)


class LimitExceeded(yaml.MarkedYAMLError):
    """The document is YAML so far, but too large."""


def compose(text: str) -> yaml.Node | None:
    """The document, or None of an empty text. Raises yaml.YAMLError, ValueError."""
    loader = _Limited(text)
    try:
        node: yaml.Node | None = loader.get_single_node()
        return node
    finally:
        loader.dispose()
