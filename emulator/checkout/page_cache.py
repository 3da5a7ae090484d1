"""What of a page is the same for every customer, rendered once, and the slots for what is not."""

import re
from collections.abc import Mapping

from markupsafe import escape

# Private-use characters: nothing that a template says contains them.
_OPEN, _CLOSE = "\ue000", "\ue001"
_MARK = "\0"
_SLOT = re.compile(f"{_OPEN}([a-z_]+){_CLOSE}")


class Placeholder:
    """Stands in a template for a text that is filled in later, so that nothing can depend on it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __html__(self) -> str:
        return f"{_OPEN}{self._name}{_CLOSE}"

    def __bool__(self) -> bool:
        raise TypeError(f"A template asks whether there is a '{self._name}': it cannot know yet.")


class CachedPage:
    """A page with its slots still open.

    Rendering costs more than all else that is done for a page; most of it is the same each time.
    """

    def __init__(self, html: str) -> None:
        literals_and_names = _SLOT.split(html)
        self._names = tuple(literals_and_names[1::2])
        self._format = "%s".join(part.replace("%", "%%") for part in literals_and_names[::2])

    def fill(self, texts: Mapping[str, str]) -> str:
        """The page. Raises KeyError for a slot that is left open."""
        # Escaped together, which costs a third; a text with the mark in it betrays itself.
        escaped: list[str] = str.split(escape(_MARK.join(texts.values())), _MARK)
        if len(escaped) != len(texts):
            escaped = [escape(text) for text in texts.values()]
        filled = dict(zip(texts, escaped, strict=True))
        return self._format % tuple([filled[name] for name in self._names])
