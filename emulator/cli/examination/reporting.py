"""How a report is printed: a line for each finding, below it what to do about it; or as JSON."""

import json
from collections.abc import Iterator

from emulator.cli.examination.findings import Mark, Report, Section, View
from emulator.reporting import Paint

SIGNS = {Mark.OK: "ok", Mark.PROBLEM: "!!", Mark.NOTE: "--"}
TITLES = {
    View.MACHINE: "From this machine",
    View.CONTAINER: "From a container",
    View.BROWSER: "From a browser",
    View.WEBHOOK: "To a webhook, tried by the emulator itself",
}

_COLOURS = {Mark.OK: "green", Mark.PROBLEM: "red", Mark.NOTE: "dim"}
_MARGIN = " " * 6


def section_lines(section: Section, paint: Paint) -> Iterator[str]:
    yield paint("bold", TITLES[section.view])
    for finding in section.findings:
        sign = paint(_COLOURS[finding.mark], SIGNS[finding.mark])
        yield f"  {sign}  {printable(finding.text)}"
        if finding.fix is not None:
            yield _MARGIN + printable(finding.fix)
    yield ""


def conclusion(report: Report) -> str:
    match report.problem_count:
        case 0:
            return "No problem was found. What is marked -- is as its line says."
        case 1:
            return "1 thing will not work: the one marked !!"
        case count:
            return f"{count} things will not work: those marked !!"


def report_json(report: Report) -> str:
    value = {
        "url": report.url,
        "version": report.version,
        "ok": report.problem_count == 0,
        "views": {
            section.view.value: [
                {"mark": finding.mark.value, "text": finding.text, "fix": finding.fix}
                for finding in section.findings
            ]
            for section in report.sections
        },
    }
    return json.dumps(value, indent=2, ensure_ascii=False)


def printable(text: str) -> str:
    """What others have sent may be anything, and a terminal obeys some of it."""
    return "".join(character if character.isprintable() else "?" for character in text)
