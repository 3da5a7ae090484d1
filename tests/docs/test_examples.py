import os
import re
import runpy
from pathlib import Path
from xml.etree import ElementTree

import pytest

from emulator.scenarios.loader import load_paths
from tests.cli.processes import run
from tests.docs.document import (
    Kind,
    Section,
    pages,
    part,
    sections,
    sections_of,
    shown_file,
    text_of,
    unannounced,
)
from tests.docs.live import Act, acts, is_as_shown, missing, needs_a_shell, play, write_files
from tests.docs.shops import language, marks, missing_for, prepare
from tests.server.checkout.browsing import CHROMIUM
from tests.tables import rows

INTERPRETER = re.compile(r"\b(payments-emulator|pytest|python|node|php)\b")
RUN = [section for section in sections() if section.is_run]


def _marks(section: Section) -> list[pytest.MarkDecorator]:
    """Sections whose commands start an interpreter run in the slow lane."""
    commands = [block.text for block in section.blocks if block.kind is Kind.RUN]
    return [pytest.mark.deep] if any(map(INTERPRETER.search, commands)) else []


@needs_a_shell
@pytest.mark.parametrize(
    "section", [pytest.param(section, id=section.id, marks=_marks(section)) for section in RUN]
)
def test_the_examples_do_what_is_shown(section: Section, tmp_path: Path) -> None:
    if "playwright" in section.text and CHROMIUM is None:
        pytest.skip("there is no chromium on this machine")
    if "\nnode " in section.text and missing_for("node"):
        pytest.skip("there is no node on this machine")
    for number, act in enumerate(acts(section)):
        if act.handlers:
            continue
        directory = tmp_path / str(number)
        directory.mkdir()
        _is_as_shown(act, directory)


@needs_a_shell
@pytest.mark.parametrize(
    ("act", "handler"),
    [
        pytest.param(act, handler, id=language(handler), marks=marks(handler))
        for section in RUN
        for act in acts(section)
        for handler in act.handlers
    ],
)
def test_the_examples_do_what_is_shown_with_each_handler(
    act: Act, handler: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    prepare(handler, tmp_path, tmp_path_factory)
    _is_as_shown(act, tmp_path, handler)


def _is_as_shown(act: Act, directory: Path, handler: str | None = None) -> None:
    for example in play(act, directory, handler):
        if example.shown is not None:
            assert is_as_shown(example.printed, example.shown), (
                f"shown:\n{example.shown}\nprinted:\n{example.printed}"
            )


def test_there_are_examples() -> None:
    assert len(RUN) >= 10


COMPARED = rows(__file__, "compared texts")


def test_printed_and_shown_lines_are_compared_one_by_one() -> None:
    assert [(a, b, is_as_shown(a, b)) for a, b, _ in COMPARED] == COMPARED


def test_the_name_of_every_file_stands_before_it() -> None:
    found = {page: unannounced(text_of(page)) for page in pages()}
    assert {page: files for page, files in found.items() if files} == {}


def test_the_name_has_to_stand_directly_before() -> None:
    for before, is_announced in rows(__file__, "announced files"):
        text = f"## Shop\n\n{before}\n\n```python file=shop.py\npass\n```\n"
        line = before.count("\n") + 5
        assert unannounced(text) == ([] if is_announced else [f"line {line}: shop.py"]), before


def test_every_scenario_shown_is_valid(tmp_path: Path) -> None:
    for number, section in enumerate(sections()):
        for block in section.blocks:
            if block.kind in {Kind.SCENARIO, Kind.FAILING}:
                directory = tmp_path / str(number)
                directory.mkdir(exist_ok=True)
                write_files({block.name: section.files[block.name]}, directory, {})
                place = f"{section.page}: {block.name}"
                assert len(load_paths([directory / block.name])) == 1, place


def scripts_of(page: str) -> dict[str, bool]:
    """Whether each script that a page shows must fail, by the name of its case."""
    return {
        block.name.removesuffix(".yaml"): block.kind is Kind.FAILING
        for block in sections_of(page)[0].files.values()
        if block.kind in {Kind.SCENARIO, Kind.FAILING} and "\nscript:\n" in block.text
    }


@pytest.mark.parametrize("page", [page for page in pages() if scripts_of(page)])
def test_every_script_shown_ends_as_it_should(page: str, tmp_path: Path) -> None:
    scripts = scripts_of(page)
    write_files(sections_of(page)[0].files, tmp_path, {})
    report = tmp_path / "report.xml"
    files = [str(tmp_path / f"{name}.yaml") for name in scripts]
    run("replay", "--junit", str(report), *files)
    has_failed = {
        str(case.get("name")): case.find("failure") is not None
        for case in ElementTree.parse(report).iter("testcase")  # noqa: S314 - it is ours
    }
    assert has_failed == scripts


def test_the_application_runs_without_a_socket(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "in_process.py"
    program.write_text(shown_file("in_process.py").text, encoding="utf-8")
    runpy.run_path(str(program))
    printed = capsys.readouterr().out.strip()
    text = " ".join(part("docs/guides/asgi.md", "Without a socket").split())
    assert f"examples/in_process.py) prints `{printed}`" in text


def test_in_ci_nothing_is_skipped_for_want_of_a_program() -> None:
    wanting = [*missing(), *(["chromium"] if CHROMIUM is None else [])]
    wanting += [*missing_for("node"), *missing_for("php")]
    assert not (os.environ.get("CI") and wanting), wanting
