"""A comparison as one HTML file: everything in it, nothing from elsewhere."""

import re
from itertools import groupby

import jinja2
from markupsafe import Markup, escape

from emulator.domain.clauses import SECTIONS
from emulator.domain.instants import format_instant
from emulator.settings import data_directory
from emulator.verify.console import assumption, incompleteness, summary_line, verdict_word
from emulator.verify.findings import Result, Verdict
from emulator.verify.running import Comparison

_TEMPLATE = "report.html"
_CODE = re.compile("`([^`]*)`")


def report(comparison: Comparison) -> bytes:
    """The file; but for when it began it is the same for the same answers."""
    templates = data_directory("templates")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([templates / "verify", templates / "reports"]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "marked": marked,
        "verdict_word": verdict_word,
        "assumption": assumption,
    }
    sections = [
        (section, SECTIONS[section], list(results))
        for section, results in groupby(comparison.results, lambda one: one.clause.section)
    ]
    return (
        environment.get_template(_TEMPLATE)
        .render(
            comparison=comparison,
            summary=summary_line(comparison),
            incompleteness=incompleteness(comparison),
            began_at=format_instant(comparison.began_at)[:16].replace("T", " "),
            drifts=[one for one in comparison.drifts if one.counts],
            sections=sections,
            count_drifts=count_drifts,
        )
        .encode()
    )


def count_drifts(results: list[Result]) -> int:
    return sum(one.verdict is Verdict.DRIFT for one in results)


def marked(text: str) -> Markup:
    """A text with what stands between backquotes as code."""
    # A plain text: Markup would escape what is put between its parts.
    escaped = str(escape(text))
    return Markup(_CODE.sub(r"<code>\1</code>", escaped))  # noqa: S704 - it is escaped
