"""The page of figures: its table, and programs that cannot run."""

from dataclasses import replace
from pathlib import Path

import pytest
from starlette.responses import JSONResponse

from tests.benchmarks import figures
from tests.benchmarks.bare import PAYMENT, PAYMENT_BYTES
from tests.benchmarks.peer_measures import CONNECTIONS, CannotRun, Figures, install
from tests.benchmarks.peers import OURS, PEERS, Program
from tests.benchmarks.report import Exit, Row, exit_code

NAMES = ["start", "memory", *(f"{name} c{n}" for name in figures.REQUESTS for n in CONNECTIONS)]


def measured(name: str, ratio: float) -> Figures:
    rows = {measure: Row(measure=measure, values=(ratio,)) for measure in NAMES}
    return Figures(name=name, answers="objects", version="1.0", rows=rows)


def test_the_page_shows_every_program_or_the_reason() -> None:
    missing = Figures(
        name="Absent", answers="", reason="`java` failed: /opt/secret/java: no <file>"
    )
    run = [measured(OURS.name, 1.25), measured("Other & Co", 0.5), missing]
    page = figures.page(run, controls=[], method="")
    assert "| **this project** | objects | 1.25 / 1.25 / 1.25 |" in page
    assert "- Absent: `java` failed: … no" in page
    assert "secret" not in page


CELLS = [f"{name} c{n}" for name in figures.REQUESTS for n in CONNECTIONS]


@pytest.mark.parametrize("cell", CELLS)
def test_the_emulator_must_be_ahead_of_the_best_program_that_stores(cell: str) -> None:
    static = replace(measured("Static", 9.0), stores=False)
    peers = [measured("Stateful", 1.0), measured("Slow", 0.1), static]
    floor = 0.8 if cell.endswith(" c1") else 1.5
    for ratio, code in ((floor, Exit.PASSED), (floor - 0.01, Exit.MISSED)):
        fast = measured(OURS.name, 2.0)
        ours = replace(fast, rows={**fast.rows, cell: Row(measure=cell, values=(ratio,))})
        assert exit_code(figures.gates([ours, *peers])) is code


@pytest.mark.parametrize("program", PEERS, ids=lambda program: program.name)
def test_the_page_names_every_program(program: Program) -> None:
    assert program.name in figures.PAGE.read_text(encoding="utf-8")


def test_a_program_without_its_runtime_is_named_with_the_reason(tmp_path: Path) -> None:
    program = replace(PEERS[0], command=("no-such-runtime", "-jar"))
    with pytest.raises(CannotRun, match=r"not on this machine: .*no-such-runtime"):
        install(program, tmp_path)


def test_the_limit_answers_a_payment_of_the_documented_size() -> None:
    assert len(JSONResponse(PAYMENT).body) == PAYMENT_BYTES
