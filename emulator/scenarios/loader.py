"""Reads the texts, files and directories of scenarios, and lone fault rules."""

from bisect import bisect_right
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from emulator.domain.effects import MIN_FAULT_STATUS
from emulator.domain.message_text import LINE_BREAK, escape_controls
from emulator.domain.payment_methods import DEFAULT_METHODS
from emulator.domain.webhooks import WebhookForm
from emulator.files import MapNode, Node, ScalarNode
from emulator.files.yaml_tree import read_file_text, read_tree
from emulator.scenarios.entries import (
    Entry,
    FileContext,
    Notes,
    Problem,
    ScenarioError,
    hint_nearest,
    is_empty,
    listed,
)
from emulator.scenarios.faults import LONE_FAULT_RULE
from emulator.scenarios.scenario_file import NAME_FORM, NAME_PATTERN, SCENARIO, named_scenario
from emulator.scenarios.values import (
    Create,
    Expect,
    FaultRule,
    List,
    Pay,
    Scenario,
    Step,
    Transition,
)

MAX_CACHED = 64
MAX_CACHED_CHARACTERS = 16_384

Forms = frozenset[WebhookForm]

_SUFFIXES = frozenset({".yaml", ".yml"})


class Reading(Struct, frozen=True, kw_only=True):
    """The result of reading one file: a scenario, or problems. `line`, `column`: of its name."""

    scenario: Scenario | None
    problems: tuple[Problem, ...]
    line: int = 1
    column: int = 1
    text: str = ""


def parse_scenario(
    text: str, source: str, *, name: str | None = None, forms: Forms = frozenset()
) -> Scenario:
    """Read a scenario file; `source` is what problems call it.

    With a `name`, from elsewhere, the text may leave out `version` and `name`, and must not have
    another name. Its webhook faults must be possible in each of `forms`. Raises ScenarioError with
    every problem of the file.
    """
    reading = read_scenario(text, source, name=name, forms=forms)
    if reading.scenario is None:
        raise ScenarioError(reading.problems)
    return reading.scenario


def read_scenario(
    text: str, source: str, *, name: str | None = None, forms: Forms = frozenset()
) -> Reading:
    """As `parse_scenario`, for callers that collect the problems of several files.

    A short text is read once: `replay` needs the shipped files three times.
    """
    read = _read if len(text) > MAX_CACHED_CHARACTERS else _read_once
    return read(text, source, name, forms)


def _read(text: str, source: str, name: str | None, forms: Forms) -> Reading:
    context = FileContext(source, forms)
    tree = read_tree(text, context.add)
    if tree is None:
        return Reading(scenario=None, problems=context.problems)
    entry = Entry(node=tree, label="a scenario", context=context)
    keys = tree.pairs if isinstance(tree, MapNode) else ()
    if any(isinstance(key, ScalarNode) and key.text == "$defs" for key, _ in keys):
        entry.note("this is a JSON Schema, not a scenario; name the scenario files, such as *.yaml")
        return Reading(scenario=None, problems=context.problems)
    mapping = SCENARIO if name is None else named_scenario(name)
    members = mapping.members(entry)
    if members is None:
        return Reading(scenario=None, problems=_problems_in(tree, context))
    if name is not None and not NAME_PATTERN.fullmatch(name):
        entry.note(f"the name in the address must be {NAME_FORM}, not {name!r}")
    scenario = mapping.build(members)
    place = members.known.get("name", entry).node
    return Reading(
        scenario=None if context.problems else scenario,
        problems=_problems_in(tree, context),
        line=place.line,
        column=place.column,
        text=text,
    )


_read_once = lru_cache(MAX_CACHED)(_read)


def read_fault_rule_text(text: str, source: str) -> FaultRule:
    """Read a rule that stands alone; a member that is null is as good as absent.

    Raises ScenarioError with every problem of the text, which `source` is the name of.
    """
    context = FileContext(source)
    tree = read_tree(text, context.add, holds="a fault rule")
    if tree is None:
        raise ScenarioError(context.problems)
    entry = Entry(node=tree, label="a fault rule", context=context)
    if isinstance(tree, MapNode):
        given = [pair for pair in tree.pairs if not is_empty(entry._replace(node=pair[1]))]
        entry = entry._replace(node=tree._replace(pairs=tuple(given)))
    rule = LONE_FAULT_RULE.read(entry)
    if rule is None or context.problems:
        raise ScenarioError(_problems_in(entry.node, context))
    return rule


def _problems_in(tree: Node, notes: Notes) -> tuple[Problem, ...]:
    """The problems, each with the key of the outermost mapping whose value has it."""
    keys = [key for key, _ in tree.pairs] if isinstance(tree, MapNode) else []
    # Ascending, although the place of an alias is the place of its anchor.
    places = [*accumulate(((key.line, key.column) for key in keys), max)]

    def key_above(problem: Problem) -> str | None:
        place = (problem.line, problem.column)
        index = bisect_right(places, place) - 1
        above = keys[index] if index >= 0 else None
        # A problem of a key itself, or a key that is missing beside the first one, is at the top.
        if not isinstance(above, ScalarNode) or (above.line, above.column) == place:
            return None
        return above.text

    return tuple(replace(problem, key=key_above(problem)) for problem in notes.problems)


def load_paths(paths: Sequence[Path], forms: Forms = frozenset()) -> tuple[Scenario, ...]:
    """The scenarios of files and directories, in the order given, of a directory by name.

    Raises ScenarioError with every problem of every file.
    """
    scenarios, problems, _ = read_paths(paths, forms)
    if problems:
        raise ScenarioError(problems)
    return tuple(scenarios)


def in_force(given: Sequence[Scenario], shipped: Sequence[Scenario]) -> tuple[Scenario, ...]:
    """The given scenarios, then the shipped ones whose names they do not have.

    A given scenario that is disabled replaces a shipped one too, which disables it.
    """
    taken = {scenario.name for scenario in given}
    return (*given, *(scenario for scenario in shipped if scenario.name not in taken))


def read_paths(
    paths: Sequence[Path], forms: Forms = frozenset()
) -> tuple[list[Scenario], list[Problem], int]:
    """As `load_paths`, with every problem of the files and directories, and the number of files."""
    by_file, problems = read_files(paths, forms)
    return [scenario for scenario in by_file.values() if scenario], problems, len(by_file)


def read_files(
    paths: Sequence[Path], forms: Forms = frozenset()
) -> tuple[dict[Path, Scenario | None], list[Problem]]:
    """The scenario of each file, None for a file with a problem; and all problems."""
    problems: list[Problem] = []
    by_file: dict[Path, Scenario | None] = {}
    taken: dict[str, Path] = {}
    for file in files_of_paths(paths, problems):
        reading = read_file(file, forms)
        problems += reading.problems
        by_file[file] = scenario = reading.scenario
        if scenario is None:
            continue
        if scenario.name in taken:
            by_file[file] = None
            message = name_taken(scenario.name, taken[scenario.name], file, taken)
            problems.append(
                Problem(source=str(file), line=reading.line, column=reading.column, message=message)
            )
            continue
        taken[scenario.name] = file
    return by_file, problems


def name_taken(name: str, other: object, file: Path, taken: Container[str]) -> str:
    """The message for the second file of a name, with a name that is free."""
    is_free = NAME_PATTERN.fullmatch(file.stem) and file.stem not in taken
    free = file.stem if is_free else f"{name[:62]}-2"
    return f"the name '{name}' is taken by {other}; give this file another name, such as '{free}'"


def method_warnings(scenarios: Iterable[Scenario], methods: Collection[str]) -> Iterator[str]:
    """A line for each method that is not among `methods`, so that its rule never matches.

    A request whose refusal the script expects may have any method.
    """
    for scenario in scenarios:
        named = [rule.when.method for rule in scenario.outcomes]
        named += [rule.when.method for rule in scenario.expiry]
        named += [rule.when.method for rule in scenario.checkout]
        named += _methods_in(scenario.script)
        for method in dict.fromkeys(filter(None, named)):
            if method not in methods:
                hint = f"{listed(methods, 'and')}{hint_nearest(method, methods)}"
                yield f"scenario '{scenario.name}': the method '{method}' is not among {hint}"


def _methods_in(steps: Sequence[Step]) -> Iterator[str | None]:
    for step, next_step in pairwise((*steps, None)):
        match step:
            case Pay() | Transition():
                yield step.method
            case Create() if not _expects_refusal(next_step):
                offered = dict(step.members).get("methods")
                names = offered if isinstance(offered, list) else []
                yield from (name for name in names if isinstance(name, str))
            case List() if not _expects_refusal(next_step):
                yield dict(step.query).get("method")


def _expects_refusal(step: Step | None) -> bool:
    checks = step.checks if isinstance(step, Expect) else ()
    expected = {check.key: check.expected for check in checks}
    return bool(expected.get("code")) or expected.get("http_status", 0) >= MIN_FAULT_STATUS


def check_files(
    paths: Sequence[Path], methods: Collection[str] = DEFAULT_METHODS
) -> tuple[int, str]:
    """The exit code and the output of the command `check`."""
    scenarios, problems, files_count = read_paths(paths)
    if problems:
        return 2, "".join(f"{escape_controls(str(problem))}\n" for problem in problems)
    lines = [f"warning: {warning}\n" for warning in method_warnings(scenarios, methods)]
    found = "no mistakes" if lines else "no problems"
    lines.append(f"{files_count} {'file' if files_count == 1 else 'files'}: {found}\n")
    return int(found == "no mistakes"), escape_controls("".join(lines), besides=LINE_BREAK)


def files_of_paths(paths: Sequence[Path], problems: list[Problem]) -> Iterator[Path]:
    """The files of the paths, each once."""
    seen = set()
    for path in paths:
        for file in files_of(path, problems):
            resolved = file.absolute()
            if resolved not in seen:
                seen.add(resolved)
                yield file


def files_of(path: Path, problems: list[Problem]) -> list[Path]:
    """A file itself, or the scenario files of a directory by name."""
    if not path.is_dir():
        return [path]
    try:
        files = sorted(file for file in path.iterdir() if file.suffix in _SUFFIXES)
    except OSError as error:
        problems.append(unreadable(path, error))
        return []
    if not files:
        message = "the directory must contain scenario files: *.yaml or *.yml"
        problems.append(Problem(source=str(path), message=message))
    return files


def read_file(file: Path, forms: Forms = frozenset()) -> Reading:
    """As `read_scenario`, for a file."""
    try:
        return read_scenario(file_text(file), str(file), forms=forms)
    except ScenarioError as error:
        return Reading(scenario=None, problems=error.problems)


def file_text(file: Path) -> str:
    """The text of a file. Raises ScenarioError where it cannot be read, or is not UTF-8."""
    context = FileContext(str(file))
    try:
        text = read_file_text(file, context.add)
    except (OSError, ValueError) as error:
        raise ScenarioError([unreadable(file, error)]) from None
    if text is None:
        raise ScenarioError(context.problems)
    return text


def unreadable(path: Path, error: OSError | ValueError) -> Problem:
    cause = error.strerror if isinstance(error, OSError) else None
    return Problem(source=str(path), message=f"cannot be read: {cause or error}")
