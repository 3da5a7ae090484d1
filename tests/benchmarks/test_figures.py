"""The page of figures: its table, its plot, and programs that cannot run."""

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

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


def test_the_page_and_the_plot_show_every_program_or_the_reason() -> None:
    missing = Figures(
        name="Absent", answers="", reason="`java` failed: /opt/secret/java: no <file>"
    )
    run = [measured(OURS.name, 1.25), measured("Other & Co", 0.5), missing]
    page = figures.page(run, controls=[], method="")
    assert "| **this project** | objects | 1.25 / 1.25 / 1.25 |" in page
    assert "- Absent: `java` failed: … no" in page
    assert "secret" not in page
    drawing = ElementTree.fromstring(figures.plot(run))
    assert [child.tag.partition("}")[2] for child in drawing][:2] == ["title", "desc"]
    assert len(drawing.findall(".//{*}g")) == len(figures.PANELS)
    assert len(drawing.findall(".//{*}g/{*}rect")) == 2 * len(figures.PANELS)


def test_the_dashboard_has_a_line_for_each_page() -> None:
    rows = [
        Row(measure="dashboard: payments, CPU over limit c1", values=(20.1, 22.4, 21.6)),
        Row(measure="dashboard: payments, CPU over emulator c1", values=(1.0,)),
    ]
    part = figures.dashboard(rows, "bursts")
    assert "| payments | 22 | 20–22 |\n\n- Date: " in part
    assert "- Method: bursts\n" in part
    assert "emulator" not in part


def test_the_page_has_each_generated_part() -> None:
    text = figures.PAGE.read_text(encoding="utf-8")
    for name in (figures.PROGRAMS, figures.DASHBOARD):
        after = text.partition(f"<!-- {name} -->\n")[2]
        assert "- Machine: " in after.partition(f"<!-- end {name} -->")[0], name


@pytest.mark.parametrize(("ratio", "code"), [(1.0, Exit.PASSED), (1.3, Exit.MISSED)])
def test_a_program_that_stores_objects_and_is_faster_is_a_missed_gate(
    ratio: float, code: Exit
) -> None:
    static = replace(measured("Static", 9.0), stores=False)
    run = [measured(OURS.name, 1.25), measured("Stateful", 1.25 * ratio), static]
    assert exit_code(figures.gates(run)) is code


@pytest.mark.parametrize("program", PEERS, ids=lambda program: program.name)
def test_the_page_names_every_program(program: Program) -> None:
    assert program.name in figures.PAGE.read_text(encoding="utf-8")


def test_a_program_without_its_runtime_is_named_with_the_reason(tmp_path: Path) -> None:
    program = replace(PEERS[0], command=("no-such-runtime", "-jar"))
    with pytest.raises(CannotRun, match=r"not on this machine: .*no-such-runtime"):
        install(program, tmp_path)


def test_the_limit_answers_a_payment_of_the_documented_size() -> None:
    assert len(JSONResponse(PAYMENT).body) == PAYMENT_BYTES
