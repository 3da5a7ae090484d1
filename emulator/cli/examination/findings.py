"""What an examination has found, in the words and marks of its report."""

from dataclasses import dataclass
from enum import StrEnum


class Mark(StrEnum):
    """What a finding means for whoever reads it; only a problem makes the exit code 1."""

    OK = "ok"
    """It was tried, and works."""
    PROBLEM = "problem"
    """It was tried, or is known, and will not work."""
    NOTE = "note"
    """It could not be tried from here, or does not work and need not unless it is wanted."""


class View(StrEnum):
    """From where, or to where, the emulator was looked at."""

    MACHINE = "machine"
    CONTAINER = "container"
    BROWSER = "browser"
    WEBHOOK = "webhook"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at; `fix` says in a line what to do about it."""

    mark: Mark
    text: str
    fix: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """All that was found in one view."""

    view: View
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All that was found; without an emulator there is no version."""

    url: str
    version: str | None
    sections: tuple[Section, ...]

    @property
    def problem_count(self) -> int:
        marks = [finding.mark for section in self.sections for finding in section.findings]
        return marks.count(Mark.PROBLEM)


def good(text: str) -> Finding:
    return Finding(mark=Mark.OK, text=text)


def problem(text: str, fix: str) -> Finding:
    return Finding(mark=Mark.PROBLEM, text=text, fix=fix)


def note(text: str, fix: str | None = None) -> Finding:
    return Finding(mark=Mark.NOTE, text=text, fix=fix)
