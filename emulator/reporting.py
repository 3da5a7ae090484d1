"""Shared parts of reports and pages: terminal colours, HTML templates, JUnit files, plurals."""

import re
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from emulator.domain.message_text import escape_controls
from emulator.settings import data_directory

if TYPE_CHECKING:
    import jinja2
    from markupsafe import Markup

# Erases the current line of a terminal.
ERASE_LINE = "\r\x1b[K"
BAR_LENGTH = 24
# Of output that is no terminal, which breaks lines itself.
MAX_COLUMNS = 100
FOLD_INDENT = 4
_COLOUR = r"\x1b\[[0-9;]*m"
# Characters that XML 1.0 cannot represent; compiled when needed, which takes 5 ms.
_NOT_XML = r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
_ANSI = {"red": "31", "green": "32", "yellow": "33", "dim": "2", "bold": "1"}


class Paint(Struct, frozen=True, kw_only=True):
    """Escapes the control characters of a text, and colours it if `is_on`."""

    is_on: bool

    def __call__(self, colour: str, text: str) -> str:
        escaped = escape_controls(text)
        return f"\x1b[{_ANSI[colour]}m{escaped}\x1b[0m" if self.is_on and text else escaped


PLAIN = Paint(is_on=False)


def verdict_lines(
    paint: Paint, verdict: tuple[str, str], rows: Sequence[str], *, width: int, indent: int = 0
) -> list[str]:
    """Rows of a text to the right of a verdict, a colour and a word, in a column of `width`.

    Control characters of the text are escaped.
    """
    colour, word = verdict
    head = f"{' ' * indent}{paint(colour, word)}{' ' * (width - len(word))}"
    first, *others = map(escape_controls, rows)
    return [head + first, *(" " * (indent + width) + row for row in others)]


def folded(line: str) -> str:
    """The line in lines of at most MAX_COLUMNS; a word that is longer, such as a path, is whole."""
    plain = re.sub(_COLOUR, "", line)
    # Below the last column of a row, or a little to the right.
    row = re.match(r"(?: *[^ ]+(?: [^ ]+)* {2,})+", plain) or re.match(" *", plain + " ")
    assert row is not None  # noqa: S101 - a pattern that matches any text
    indent = " " * (len(row[0]) if row[0].strip() else len(row[0]) + FOLD_INDENT)
    lines, length = [""], -1
    for word in line.split(" "):
        columns = len(re.sub(_COLOUR, "", word))
        does_fit_below = len(indent) + columns <= MAX_COLUMNS
        # The first word, such as `saved:`, stays with its path.
        has_words = len(lines) > 1 or " " in lines[0].strip()
        if length + 1 + columns > MAX_COLUMNS and does_fit_below and has_words:
            lines.append(indent + word)
            length = len(indent) + columns
        else:
            lines[-1] += f"{' ' * (length >= 0)}{word}"
            length += 1 + columns
    return "\n".join(lines)


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun: `1 payment`, `2 payments`."""
    return f"{count} {noun}" if count == 1 else f"{count} {plural or f'{noun}s'}"


def progress_bar(done: int, total: int) -> str:
    """A bar of what is done, and both numbers."""
    filled = BAR_LENGTH * done // max(1, total)
    return f"{'█' * filled}{'░' * (BAR_LENGTH - filled)} {done} of {total}"


class JUnitCase(Struct, frozen=True, kw_only=True):
    """A case of a JUnit file; without a `failure`, which is one line, it has passed.

    With `is_error`, it could not run.
    """

    name: str
    class_name: str
    duration_ms: float
    failure: str | None = None
    is_error: bool = False
    failure_type: str = ""
    failure_lines: Sequence[str] = ()


def junit_file(suite_name: str, cases: Sequence[JUnitCase], *, duration_ms: float) -> bytes:
    """A JUnit file with one suite, for CI servers."""
    from xml.etree import ElementTree

    errors = sum(case.is_error for case in cases)
    failed = sum(case.failure is not None for case in cases) - errors
    counts = {"tests": str(len(cases)), "failures": str(failed), "errors": str(errors)}
    counts["time"] = _seconds(duration_ms)
    suites = ElementTree.Element("testsuites", counts)
    suite = ElementTree.SubElement(suites, "testsuite", {"name": suite_name, **counts})
    for case in cases:
        attributes = {
            "name": _xml_text(case.name),
            "classname": _xml_text(case.class_name),
            "time": _seconds(case.duration_ms),
        }
        element = ElementTree.SubElement(suite, "testcase", attributes)
        if case.failure is not None:
            attributes = {"message": _xml_text(case.failure), "type": case.failure_type}
            tag = "error" if case.is_error else "failure"
            failure = ElementTree.SubElement(element, tag, attributes)
            failure.text = _xml_text("\n".join(case.failure_lines))
    ElementTree.indent(suites)
    content = BytesIO()
    ElementTree.ElementTree(suites).write(content, encoding="utf-8", xml_declaration=True)
    return content.getvalue() + b"\n"


def _seconds(duration_ms: float) -> str:
    return f"{duration_ms / 1_000:.3f}"


def _xml_text(text: str) -> str:
    return re.sub(_NOT_XML, "\ufffd", text)


def html_report(folder: str, filters: Mapping[str, Callable[..., Any]], **values: Any) -> bytes:
    """A report: one HTML file that loads nothing. `folder` is a directory of `templates/`."""
    folders = [data_directory("templates") / each for each in (folder, "reports", "")]
    environment = template_environment(*folders, filters=filters, **values)
    return environment.get_template("report.html").render().encode()


def template_environment(
    *folders: Path,
    filters: Mapping[str, Callable[..., Any]] = MappingProxyType({}),
    **variables: Any,
) -> "jinja2.Environment":
    """The templates of folders; each of them may use the filters and the variables."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folders),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"marked": marked, **filters}
    environment.globals |= variables
    return environment


def marked(text: str) -> "Markup":
    """A text with the parts between backquotes as code."""
    from markupsafe import Markup, escape

    # A str: Markup would escape the elements that are inserted.
    escaped = str(escape(text))
    return Markup(re.sub("`([^`]*)`", r"<code>\1</code>", escaped))  # noqa: S704 - it is escaped
