"""Findings of an examination, and their forms as text and as JSON."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from emulator.reporting import Paint, counted, verdict_lines


class Level(StrEnum):
    """What a finding means; only a problem makes the exit code 1."""

    OK = "ok"
    """Tested, and works."""
    PROBLEM = "problem"
    """Tested, or known, and does not work."""
    NOTE = "note"
    """Not tested, or does not work and is not always needed."""


class Perspective(StrEnum):
    """Where the connections of a section begin, or for webhooks, where they end."""

    MACHINE = "machine"
    CONTAINER = "container"
    BROWSER = "browser"
    WEBHOOK = "webhook"


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorFinding:
    """One result; `fix` is a line with what to do about it."""

    level: Level
    text: str
    fix: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorReport:
    """All findings; without an emulator there is no version."""

    url: str
    version: str | None
    sections: Mapping[Perspective, Sequence[DoctorFinding]]

    @property
    def problem_count(self) -> int:
        findings = (finding for section in self.sections.values() for finding in section)
        return sum(finding.level is Level.PROBLEM for finding in findings)


def good(text: str) -> DoctorFinding:
    return DoctorFinding(level=Level.OK, text=text)


def problem(text: str, fix: str) -> DoctorFinding:
    return DoctorFinding(level=Level.PROBLEM, text=text, fix=fix)


def note(text: str, fix: str | None = None) -> DoctorFinding:
    return DoctorFinding(level=Level.NOTE, text=text, fix=fix)


_TITLES = {
    Perspective.MACHINE: "From this machine",
    Perspective.CONTAINER: "From a container",
    Perspective.BROWSER: "From a browser",
    Perspective.WEBHOOK: "To a webhook, tested by the emulator itself",
}
_SIGNS = {Level.OK: ("green", "ok"), Level.PROBLEM: ("red", "!!"), Level.NOTE: ("dim", "--")}


def section_lines(
    perspective: Perspective, findings: Iterable[DoctorFinding], paint: Paint
) -> Iterator[str]:
    """The text form."""
    yield paint("bold", _TITLES[perspective])
    for finding in findings:
        rows = [text for text in (finding.text, finding.fix) if text is not None]
        yield from verdict_lines(paint, _SIGNS[finding.level], rows, indent=2, width=4)
    yield ""


def conclusion(report: DoctorReport) -> str:
    if report.problem_count == 0:
        return "No problem was found. Lines marked -- are notes."
    return f"{counted(report.problem_count, 'problem')}, marked !!"


def report_json(report: DoctorReport) -> str:
    value = {
        "url": report.url,
        "version": report.version,
        "ok": report.problem_count == 0,
        "views": {
            perspective.value: [
                {"mark": finding.level.value, "text": finding.text, "fix": finding.fix}
                for finding in findings
            ]
            for perspective, findings in report.sections.items()
        },
    }
    return json.dumps(value, indent=2, ensure_ascii=False)
