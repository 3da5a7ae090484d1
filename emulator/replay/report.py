"""A run as one HTML file: everything in it, nothing from elsewhere, the same bytes every time."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2

from emulator.replay.console import shown_steps, summary_line, time_text
from emulator.replay.coverage import Coverage, coverage_of
from emulator.replay.diff import Mark
from emulator.replay.results import PlayedStep, Request, Result
from emulator.replay.timeline import STATUS_OF_TYPE, Drawing, draw
from emulator.scenarios.steps import Json
from emulator.settings import data_directory

MAX_SHOWN = 200
MAX_BODY_CHARACTERS = 16_384

_TEMPLATE = "report.html"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A case as the template wants it; of everything the first so many."""

    result: Result
    drawing: Drawing | None
    steps: Sequence[PlayedStep]
    names: dict[str, str]


def report(results: Sequence[Result], *, skipped: int) -> bytes:
    """The file; there is no duration and no time of day in it."""
    coverage = coverage_of(result.trace for result in results)
    template = _environment(data_directory("templates")).get_template(_TEMPLATE)
    return template.render(
        cases=[_shown(result) for result in results],
        summary=summary_line(results, skipped),
        failed=sum(not result.has_passed for result in results),
        coverage=coverage,
        tables=_tables(coverage),
    ).encode()


def _shown(result: Result) -> Shown:
    return Shown(
        result=result,
        drawing=draw(result),
        steps=shown_steps(result.steps),
        names={payment: name for name, payment in result.names.items()},
    )


def _tables(coverage: Coverage) -> list[tuple[str, int, list[tuple[str, bool]]]]:
    return [
        (group.title, group.count, [(name, name in group.exercised) for name in group.names])
        for group in coverage.groups
    ]


def _environment(templates: Path) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([templates / "replay", templates / "reports"]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"most_shown": MAX_SHOWN, "Mark": Mark}
    environment.filters |= {
        "pretty": pretty,
        "fault_text": fault_text,
        "status_kind": status_kind,
        "target": target,
        "moment": moment,
        "event_kind": event_kind,
        "time_text": time_text,
    }
    return environment


def pretty(body: str) -> str:
    """A body with its members on lines of their own, if it is JSON, and not without end."""
    try:
        text = json.dumps(json.loads(body), ensure_ascii=False, indent=2)
    except ValueError:
        text = body
    return text if len(text) <= MAX_BODY_CHARACTERS else f"{text[:MAX_BODY_CHARACTERS]}\n… and more"


def fault_text(fault: Json) -> str:
    """What went wrong on purpose: `status 500, point after_commit`."""
    then: dict[str, Any] = (fault or {}).get("then") or {}
    return ", ".join(
        name if value is True else f"{name} {value}" for name, value in then.items() if value
    )


def status_kind(status: int | None) -> str:
    """The class of the look of a status."""
    if status is None:
        return "lost"
    return "good" if status < 400 else "bad"


def event_kind(event_type: str) -> str:
    """The class of the look of the status that an event tells of."""
    return STATUS_OF_TYPE.get(event_type, "")


def target(request: Request) -> str:
    return f"{request.path}?{request.query}" if request.query else request.path


def moment(instant: str) -> str:
    """An instant as one reads it: without the `T`, and without milliseconds that are none."""
    return instant.replace("T", " ").replace(".000Z", "").replace("Z", "")
