import os
import re
from pathlib import Path

import pytest

from tests.checkout.browsing import CHROMIUM
from tests.cli.processes import run
from tests.readme.document import Kind, Section, files, readme, sections, unannounced
from tests.readme.live import Act, acts, is_as_shown, missing, play
from tests.readme.shops import language, missing_for, prepare

RUN = [section for section in sections() if section.is_run]

needs_a_shell = pytest.mark.skipif(
    bool(missing()), reason=f"not on this machine: {', '.join(missing())}"
)


@needs_a_shell
@pytest.mark.parametrize("section", [pytest.param(one, id=one.title) for one in RUN])
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
        pytest.param(act, handler, id=language(handler))
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


@pytest.mark.parametrize(
    ("printed", "shown", "is_so"),
    [
        ('{"id":"pay_1","a":2}', '{"id":"pay_…",…}', True),
        ('{"id":"evt_1","a":2}', '{"id":"pay_…",…}', False),
        ("one\r\ntwo\nthree\n", "one\n…\nthree\n", True),
        ("one\ntwo\nthree", "one\nthree", False),
        ("one\nthree", "one\n…\nthree", True),
    ],
)
def test_what_is_shown_is_compared_line_by_line(printed: str, shown: str, is_so: bool) -> None:
    assert is_as_shown(printed, shown) is is_so


def test_a_reader_is_told_before_every_file_what_to_save_it_as() -> None:
    assert unannounced(readme()) == []


@pytest.mark.parametrize(
    ("before", "is_told"),
    [
        ("Save as `shop.py`:", True),
        ("This is the shop,\n`shop.py`, in short:", True),
        ("- A note.\n- Save as `shop.py`:", True),
        ("This is the shop:", False),
        ("Save as shop.py:", False),
        ("Save as `a_shop.py`:", False),
        ("Save as `shop.py`:\n\nIt takes payments:", False),
        ("- Save as `shop.py`.\n- A note:", False),
        ("```sh\ncat `shop.py`\n```", False),
        ("", False),
    ],
)
def test_the_name_has_to_stand_directly_before(before: str, is_told: bool) -> None:
    text = f"## Shop\n\n{before}\n\n```python file=shop.py\npass\n```\n"
    line = before.count("\n") + 5
    assert unannounced(text) == ([] if is_told else [f"line {line}: shop.py"])


SCENARIOS = [name for name, block in files().items() if block.kind in {Kind.SCENARIO, Kind.FAILING}]


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_scenario_shown_is_valid(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_text(files()[name].text, encoding="utf-8")
    checked = run("check", str(file))
    assert (checked.returncode, checked.stdout) == (0, "1 file: no problems\n")


def test_every_script_shown_ends_as_it_should(tmp_path: Path) -> None:
    for name in SCENARIOS:
        (tmp_path / name).write_text(files()[name].text, encoding="utf-8")
    played = run("replay", str(tmp_path))
    ended = re.findall(r"^(ok|FAILED) +(\S+)  \d+ steps?$", played.stdout, re.MULTILINE)
    assert {f"{name}.yaml": word for word, name in ended} == {
        name: "FAILED" if files()[name].kind is Kind.FAILING else "ok"
        for name in SCENARIOS
        if "\nscript:\n" in files()[name].text
    }


def test_in_ci_nothing_is_skipped_for_want_of_a_program() -> None:
    wanting = [*missing(), *(["chromium"] if CHROMIUM is None else [])]
    wanting += [*missing_for("node"), *missing_for("php")]
    assert not (os.environ.get("CI") and wanting), wanting
