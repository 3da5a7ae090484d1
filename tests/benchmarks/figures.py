"""Writes `docs/reference/figures.md` and its plot from a run against the other programs."""

import os
import platform
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from emulator.reporting import template_environment
from tests.benchmarks.peer_measures import CONNECTIONS, Figures
from tests.benchmarks.peers import OURS
from tests.benchmarks.report import Gate, Row, is_conclusive
from tests.benchmarks.servers import REPOSITORY
from tests.docs.markdown import table

PAGE = REPOSITORY / "docs/reference/figures.md"
PLOT = REPOSITORY / "docs/images/figures.svg"
# The generated parts of the page.
PROGRAMS, DASHBOARD = "figures", "dashboard"
HEAD = ("program", "answers", "create", "retrieve", "list of ten", "start", "RSS ready")
_PAGE_COST = r"dashboard: (\S+), CPU over limit c1"
REQUESTS = ("create", "retrieve", "list")
PANELS = {
    "create c16": "Create, 16 connections (longer is faster)",
    "retrieve c16": "Retrieve, 16 connections (longer is faster)",
    "list c16": "List of ten, 16 connections (longer is faster)",
    "start": "Start to first response (shorter is faster)",
}


def gates(measured: Sequence[Figures]) -> list[Row]:
    """The emulator over each program that stores objects, at 16 connections."""
    [ours] = [figures for figures in measured if figures.name == OURS.name]
    peers = [figures for figures in measured if figures.stores and figures is not ours]
    return [
        Row(
            measure=f"{name} c16, over {peer.name}",
            values=(ours.rows[f"{name} c16"].median / peer.rows[f"{name} c16"].median,),
            gate=Gate(at_least=1.0),
        )
        for peer in peers
        for name in REQUESTS
        if ours.rows and peer.rows
    ]


def named_rows(measured: Sequence[Figures]) -> list[Row]:
    """All rows, each with the name of its program."""
    return [
        replace(row, measure=f"{figures.name}: {row.measure}")
        for figures in measured
        for row in figures.rows.values()
    ]


def write(measured: Sequence[Figures], controls: Sequence[Row], method: str) -> None:
    """Replace the part about programs, and the plot."""
    write_part(PROGRAMS, page(measured, controls, method))
    PLOT.write_text(plot(measured), encoding="utf-8")


def write_part(name: str, text: str) -> None:
    """Replace a generated part of the page."""
    before, begin, rest = PAGE.read_text(encoding="utf-8").partition(f"<!-- {name} -->\n")
    _, end, after = rest.partition(f"<!-- end {name} -->")
    PAGE.write_text(f"{before}{begin}{text}{end}{after}", encoding="utf-8")


def dashboard(rows: Sequence[Row], method: str) -> str:
    """The processor time of each page of the dashboard, and the conditions."""
    found = [(match, row) for row in rows if (match := re.fullmatch(_PAGE_COST, row.measure))]
    cells = [(match[1], f"{row.median:.0f}", _range(row)) for match, row in found]
    conditions = {"Date": _today(), "Machine": _machine(), "Method": method}
    conditions["Control"] = _control([row for row in rows if row.is_control])
    return f"{table(('page', 'median', 'least and greatest pair'), cells)}\n{_list(conditions)}"


def page(measured: Sequence[Figures], controls: Sequence[Row], method: str) -> str:
    """The table, what could not be measured, and the conditions."""
    lines = [table(HEAD, [_cells(figures) for figures in measured if figures.rows])]
    keyed = [rates for figures in measured if (rates := _rates(figures, "create with key"))]
    if keyed:
        lines.append(f"With an idempotency key in each create, {OURS.name} reaches {keyed[0]}.\n")
    if missing := [figures for figures in measured if figures.reason]:
        lines.append("Not measured:\n")
        lines.append("".join(f"- {each.name}: {_public(each.reason)}\n" for each in missing))
    versions = ", ".join(f"{each.name} {each.version}" for each in measured if each.version)
    conditions = {
        "Date": _today(),
        "Machine": _machine(),
        "Versions": f"{versions}; {_runtimes()}",
        "Method": method,
        "Control": _control(controls),
    }
    lines.append(_list(conditions))
    return "\n".join(lines)


def _control(rows: Sequence[Row]) -> str:
    """What the control says about the other rows."""
    ratios = ", ".join(f"{row.median:.2f} ({_range(row, digits=2)})" for row in rows)
    verdict = "" if is_conclusive(rows) else "; **inconclusive**, the machine was too busy"
    return f"the bare route against itself, with the least and the greatest pair: {ratios}{verdict}"


def _list(conditions: Mapping[str, str]) -> str:
    return "".join(f"- {name}: {value}\n" for name, value in conditions.items())


def _range(row: Row, *, digits: int = 0) -> str:
    return f"{min(row.values):.{digits}f}–{max(row.values):.{digits}f}"


def _today() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d}"


def _cells(figures: Figures) -> tuple[str, ...]:
    return (
        f"**{figures.name}**" if figures.name == OURS.name else figures.name,
        figures.answers,
        *(_rates(figures, name) for name in REQUESTS),
        f"{figures.rows['start'].median:.2f}",
        f"{figures.rows['memory'].median:.0f} MiB",
    )


def _rates(figures: Figures, name: str) -> str:
    rows = [figures.rows.get(f"{name} c{connections}") for connections in CONNECTIONS]
    return " / ".join(f"{row.median:.2f}" for row in rows if row)


def _public(reason: str) -> str:
    """The reason without paths and addresses of one machine."""
    return re.sub(r"\S*[/\\]\S*", "…", reason)


def _machine() -> str:
    """The processor and its memory, as Linux describes them."""
    described = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    model = re.search(r"^model name\s*: (.*)$", described, re.MULTILINE)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cores = len(os.sched_getaffinity(0))
    processor = model[1] if model else platform.machine()
    return f"{cores} cores of {processor}, {memory:.0f} GiB, Linux {platform.release()}"


def _runtimes() -> str:
    commands: Mapping[str, Sequence[str]] = {
        "Node.js": ("node", "--version"),
        "Java": ("java", "--version"),
    }
    found = [f"Python {platform.python_version()}"]
    for name, command in commands.items():
        try:
            ended = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
        except (OSError, subprocess.CalledProcessError):
            continue
        if number := re.search(r"\d+(?:\.\d+)+", ended.stdout):
            found.append(f"{name} {number[0]}")
    return ", ".join(found)


def plot(measured: Sequence[Figures]) -> str:
    """Bars of each program in four panels; a line marks the bare route."""
    shown = [figures for figures in measured if figures.rows]
    panels = [
        (heading, [(figures, figures.rows[key].median) for figures in shown])
        for key, heading in PANELS.items()
    ]
    environment = template_environment(Path(__file__).parent, panels=panels, ours=OURS.name)
    return environment.get_template("figures.svg.jinja").render() + "\n"
