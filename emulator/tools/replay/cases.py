"""Reads the cases of a run: the scenario files with a script."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from emulator.scenarios.loader import Reading, files_of, name_taken, read_file
from emulator.scenarios.problems import Problem
from emulator.tools.replay.results import Case


class Cases(Struct, frozen=True, kw_only=True):
    """The cases in the given order, the problems, and the number of files without a script."""

    cases: tuple[Case, ...]
    problems: tuple[Problem, ...]
    skipped: int


class _ScenarioFile(Struct, frozen=True, kw_only=True):
    path: Path
    was_named: bool


def read_cases(paths: Sequence[Path]) -> Cases:
    """Read files, and directories as `check` does.

    A named file must have a script; a file of a directory need not.
    """
    problems: list[Problem] = []
    cases: dict[str, Case] = {}
    skipped = 0
    for file in _files(paths, problems):
        reading = read_file(file.path)
        problems += reading.problems
        scenario = reading.scenario
        if scenario is None:
            continue
        if scenario.script:
            case = Case(source=str(file.path), path=file.path, text=reading.text, scenario=scenario)
            _add(case, cases, problems, reading)
        else:
            skipped += 1
            if file.was_named:
                problems.append(Problem(source=str(file.path), message="the file has no script"))
    if not (cases or problems):
        sources = ", ".join(map(str, paths))
        problems.append(Problem(source=sources, message="no file has a script"))
    return Cases(cases=tuple(cases.values()), problems=tuple(problems), skipped=skipped)


def _add(case: Case, cases: dict[str, Case], problems: list[Problem], reading: Reading) -> None:
    other = cases.setdefault(account_word(case.name), case)
    if other is not case:
        alike = "" if other.name == case.name else f", whose '{other.name}' counts as the same"
        taken = {each.name for each in cases.values()}
        message = name_taken(case.name, f"{other.source}{alike}", case.path, taken)
        problems.append(
            Problem(source=case.source, line=reading.line, column=reading.column, message=message)
        )


def account_word(name: str) -> str:
    """The form of a case's name that API keys may contain; unique within a run."""
    return name.replace("-", "_")


def _files(paths: Sequence[Path], problems: list[Problem]) -> list[_ScenarioFile]:
    """The files of the paths, each once; named if one of the paths is the file itself."""
    found: dict[Path, _ScenarioFile] = {}
    for path in paths:
        was_named = not path.is_dir()
        for file in files_of(path, problems):
            before = found.get(file.absolute())
            named = was_named or (before is not None and before.was_named)
            shown = file if before is None else before.path
            found[file.absolute()] = _ScenarioFile(path=shown, was_named=named)
    return list(found.values())
