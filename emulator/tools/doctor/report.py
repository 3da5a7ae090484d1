"""Findings of an examination, and their forms as text and as JSON."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum

import msgspec
from msgspec import Struct

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


class DoctorFinding(Struct, frozen=True, kw_only=True, rename={"level": "mark"}):
    """One result; `fix` is a line with what to do about it. In JSON, the level is `mark`."""

    level: Level
    text: str
    fix: str | None = None


class DoctorReport(Struct, frozen=True, kw_only=True):
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
        "views": report.sections,
    }
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
