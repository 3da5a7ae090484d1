"""Writes the figures of `CONTRIBUTING.md` from a run against the other programs."""

import os
import platform
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

from tests.benchmarks.peer_measures import CONNECTIONS, Figures
from tests.benchmarks.peers import OURS
from tests.benchmarks.report import Gate, Row, is_conclusive
from tests.benchmarks.servers import REPOSITORY
from tests.docs.markdown import table

PAGE = REPOSITORY / "CONTRIBUTING.md"
HEAD = ("program", "answers", "create", "retrieve", "list of ten", "start", "RSS ready")
REQUESTS = ("create", "retrieve", "list")
# How far the emulator must be ahead of the best program that stores, by connections.
AHEAD_OF_PEERS = {1: 0.8, 16: 1.5, 64: 1.5}


def gates(measured: Sequence[Figures]) -> list[Row]:
    """The emulator over the best of the programs that store objects."""
    [ours] = [figures for figures in measured if figures.name == OURS.name]
    peers = [each for each in measured if each.stores and each.rows and each is not ours]
    rows = []
    for name, connections in product(REQUESTS, CONNECTIONS if peers else ()):
        rates = {peer.rows[f"{name} c{connections}"].median: peer.name for peer in peers}
        rate = ours.rows[f"{name} c{connections}"].median
        rows.append(
            Row(
                measure=f"{name} c{connections}, over {rates[max(rates)]}",
                values=(rate / max(rates),),
                gate=Gate(at_least=AHEAD_OF_PEERS[connections]),
            )
        )
    return rows


def write(measured: Sequence[Figures], controls: Sequence[Row], method: str) -> None:
    """Replace the generated part of the page."""
    before, begin, rest = PAGE.read_text(encoding="utf-8").partition("<!-- figures -->\n")
    _, end, after = rest.partition("<!-- end figures -->")
    PAGE.write_text(f"{before}{begin}{page(measured, controls, method)}{end}{after}", "utf-8")


def page(measured: Sequence[Figures], controls: Sequence[Row], method: str) -> str:
    """The table, what could not be measured, and the conditions."""
    lines = [table(HEAD, [_cells(figures) for figures in measured if figures.rows])]
    if missing := [figures for figures in measured if figures.reason]:
        lines.append("Not measured:\n")
        lines.append("".join(f"- {each.name}: {_public(each.reason)}\n" for each in missing))
    versions = ", ".join(f"{each.name} {each.version}" for each in measured if each.version)
    conditions = {
        "Date": f"{datetime.now(UTC):%Y-%m-%d}",
        "Machine": _machine(),
        "Versions": f"{versions}; Python {platform.python_version()}",
        "Method": method,
        "Control": _control(controls),
    }
    lines.append("".join(f"- {name}: {value}\n" for name, value in conditions.items()))
    return "\n".join(lines)


def _control(rows: Sequence[Row]) -> str:
    """What the control says about the other rows."""
    ratios = ", ".join(
        f"{row.median:.2f} ({min(row.values):.2f}–{max(row.values):.2f})" for row in rows
    )
    verdict = "" if is_conclusive(rows) else "; **inconclusive**, the machine was too busy"
    return f"the bare route against itself, with the least and the greatest pair: {ratios}{verdict}"


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
