"""Shared parts of all reports: colours of a terminal, HTML templates, plurals."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from emulator.settings import data_directory

if TYPE_CHECKING:
    import jinja2

# Erases the current line of a terminal.
ERASE_LINE = "\r\x1b[K"
_TEMPLATE = "report.html"
_ANSI = {"red": "31", "green": "32", "yellow": "33", "dim": "2", "bold": "1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Paint:
    """Colours text if `is_on`; `mark` precedes each escape sequence."""

    is_on: bool
    mark: str = ""

    def __call__(self, colour: str, text: str) -> str:
        if not self.is_on or not text:
            return text
        return f"{self.mark}\x1b[{_ANSI[colour]}m{text}{self.mark}\x1b[0m"


def counted(count: int, noun: str) -> str:
    """A number with its noun: `1 payment`, `2 payments`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def report_template(
    folder: str, filters: Mapping[str, Callable[..., Any]], **variables: Any
) -> "jinja2.Template":
    """The template of a report: one HTML file that loads nothing.

    `folder` is a directory of `templates/`; every template may use the filters and variables.
    """
    import jinja2  # Only a report needs it; it takes a third of the start of `replay`.

    templates = data_directory("templates")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([templates / folder, templates / "reports"]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= filters
    environment.globals |= variables
    return environment.get_template(_TEMPLATE)
