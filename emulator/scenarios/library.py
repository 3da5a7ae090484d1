"""Reads all scenario files of files and directories, and reports all their problems together."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from emulator.files import MAX_FILE_BYTES, open_regular
from emulator.scenarios.loader import Reading, read_scenario
from emulator.scenarios.problems import Problem, ScenarioError
from emulator.scenarios.values import Scenario

_SUFFIXES = frozenset({".yaml", ".yml"})


def load_paths(paths: Sequence[Path]) -> tuple[Scenario, ...]:
    """The scenarios of files and directories, in the order given, of a directory by name.

    Raises ScenarioError with every problem of every file.
    """
    scenarios, problems, _ = _read_paths(paths)
    if problems:
        raise ScenarioError(problems)
    return tuple(scenarios)


def check_paths(paths: Sequence[Path]) -> tuple[list[Problem], int]:
    """Every problem of the files and directories, and the number of files."""
    _, problems, files_count = _read_paths(paths)
    return problems, files_count


def in_force(given: Sequence[Scenario], shipped: Sequence[Scenario]) -> tuple[Scenario, ...]:
    """The given scenarios, then the shipped ones whose names they do not have.

    A given scenario that is disabled replaces a shipped one too, which disables it.
    """
    taken = {scenario.name for scenario in given}
    return (*given, *(scenario for scenario in shipped if scenario.name not in taken))


def _read_paths(paths: Sequence[Path]) -> tuple[list[Scenario], list[Problem], int]:
    problems: list[Problem] = []
    scenarios: dict[str, tuple[Scenario, Path]] = {}
    files = list(_files(paths, problems))
    for file in files:
        reading = _read_file(file)
        problems += reading.problems
        scenario = reading.scenario
        if scenario is None:
            continue
        if scenario.name in scenarios:
            message = f"the name '{scenario.name}' is taken by {scenarios[scenario.name][1]}"
            problems.append(
                Problem(source=str(file), line=reading.line, column=reading.column, message=message)
            )
            continue
        scenarios[scenario.name] = (scenario, file)
    return [scenario for scenario, _ in scenarios.values()], problems, len(files)


def _files(paths: Sequence[Path], problems: list[Problem]) -> Iterator[Path]:
    """The files of the paths, each once."""
    seen = set()
    for path in paths:
        for file in _files_of(path, problems):
            resolved = file.absolute()
            if resolved not in seen:
                seen.add(resolved)
                yield file


def _files_of(path: Path, problems: list[Problem]) -> list[Path]:
    if not path.is_dir():
        return [path]
    try:
        files = sorted(file for file in path.iterdir() if file.suffix in _SUFFIXES)
    except OSError as error:
        problems.append(_unreadable(path, error))
        return []
    if not files:
        message = "the directory must hold scenario files: *.yaml or *.yml"
        problems.append(Problem(source=str(path), message=message))
    return files


def _read_file(file: Path) -> Reading:
    source = str(file)
    try:
        with open_regular(file) as opened:
            # One byte more than the limit shows that the file is too large.
            content = opened.read(MAX_FILE_BYTES + 1)
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        if len(content) <= MAX_FILE_BYTES:
            return Reading(scenario=None, problems=(_not_utf_8(source, content, error.start),))
        text = content.decode("utf-8", "replace")  # cut within a character
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        return Reading(scenario=None, problems=(_unreadable(file, error),))
    return read_scenario(text, source)


def _not_utf_8(source: str, content: bytes, position: int) -> Problem:
    line_start = content.rfind(b"\n", 0, position) + 1
    return Problem(
        source=source,
        line=content.count(b"\n", 0, position) + 1,
        column=len(content[line_start:position].decode("utf-8")) + 1,
        message=f"the file must be UTF-8, which the byte 0x{content[position]:02x} here is not",
    )


def _unreadable(path: Path, error: OSError | ValueError) -> Problem:
    cause = error.strerror if isinstance(error, OSError) else None
    return Problem(source=str(path), message=f"cannot be read: {cause or error}")
