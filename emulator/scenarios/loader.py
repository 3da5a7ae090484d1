"""Reads the texts, files and directories of scenarios, and lone fault rules."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from emulator.domain.effects import MIN_FAULT_STATUS
from emulator.domain.message_text import LINE_BREAK, escape_controls
from emulator.domain.payment_methods import DEFAULT_METHODS
from emulator.domain.webhooks import WebhookForm
from emulator.files import MapNode, Node
from emulator.files.yaml_tree import read_file_text, read_tree
from emulator.reporting import counted
from emulator.scenarios.entries import (
    Entry,
    FileContext,
    Problem,
    ScenarioError,
    hint_nearest,
    is_empty,
    listed,
    noted,
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

T = TypeVar("T")
MAX_CACHED = 64
MAX_CACHED_CHARACTERS = 16_384

Forms = frozenset[WebhookForm]

_SUFFIXES = frozenset({".yaml", ".yml"})


class Reading(Struct, frozen=True, kw_only=True):
    """A scenario, the place of its name, and the text that it was read from."""

    scenario: Scenario
    place: Node
    text: str


def read_document(
    text: str, context: FileContext, label: str, read: Callable[[Entry], T | None]
) -> T:
    """The value of a text in YAML; `label` is what messages call the document.

    Raises ScenarioError with every problem.
    """
    tree = read_tree(text, context.add, holds=label)
    value = tree and read(Entry(node=tree, label=label, context=context))
    if value is None or context.problems:
        raise ScenarioError(context.problems)
    return value


def parse_scenario(
    text: str, source: str, *, name: str | None = None, forms: Forms = frozenset()
) -> Scenario:
    """Read a scenario file; `source` is what problems call it.

    With a `name`, from elsewhere, the text may leave out `version` and `name`, and must not have
    another name. Its webhook faults must be possible in each of `forms`. Raises ScenarioError with
    every problem of the file.
    """
    return _read(text, source, name, forms).scenario


def _read(text: str, source: str, name: str | None, forms: Forms) -> Reading:
    # A short text is read once: `replay` needs the shipped files three times.
    read = _read_always if len(text) > MAX_CACHED_CHARACTERS else _read_once
    return read(text, source, name, forms)


def _read_always(text: str, source: str, name: str | None, forms: Forms) -> Reading:
    def read(entry: Entry) -> Reading | None:
        if entry.child("$defs") is not entry:
            entry.note(
                "this is a JSON Schema, not a scenario; name the scenario files, such as *.yaml"
            )
            return None
        scenario = (SCENARIO if name is None else named_scenario(name)).read(entry)
        if name is not None and not NAME_PATTERN.fullmatch(name):
            entry.note(f"the name in the address must be {NAME_FORM}, not {name!r}")
        place = entry.child("name").node
        return None if scenario is None else Reading(scenario=scenario, place=place, text=text)

    return read_document(text, FileContext(source, forms), "a scenario", read)


_read_once = lru_cache(MAX_CACHED)(_read_always)


def read_fault_rule_text(text: str, source: str) -> FaultRule:
    """Read a rule that stands alone; a member that is null is as good as absent.

    Raises ScenarioError with every problem of the text, which `source` is the name of.
    """

    def read(entry: Entry) -> FaultRule | None:
        if isinstance(entry.node, MapNode):
            pairs = [
                pair for pair in entry.node.pairs if not is_empty(entry._replace(node=pair[1]))
            ]
            entry = entry._replace(node=entry.node._replace(pairs=tuple(pairs)))
        return LONE_FAULT_RULE.read(entry)

    return read_document(text, FileContext(source), "a fault rule", read)


def load_paths(paths: Sequence[Path], forms: Forms = frozenset()) -> tuple[Scenario, ...]:
    """The scenarios of files and directories, in the order given, of a directory by name.

    Raises ScenarioError with every problem of every file.
    """
    by_file, problems = read_files(paths, forms)
    if problems:
        raise ScenarioError(problems)
    return tuple(filter(None, by_file.values()))


def in_force(given: Sequence[Scenario], shipped: Sequence[Scenario]) -> tuple[Scenario, ...]:
    """The given scenarios, then the shipped ones whose names they do not have.

    A given scenario that is disabled replaces a shipped one too, which disables it.
    """
    taken = {scenario.name for scenario in given}
    return (*given, *(scenario for scenario in shipped if scenario.name not in taken))


def read_files(
    paths: Sequence[Path], forms: Forms = frozenset()
) -> tuple[dict[Path, Scenario | None], list[Problem]]:
    """The scenario of each file, None for a file with a problem; and all problems."""
    problems: list[Problem] = []
    by_file: dict[Path, Scenario | None] = {}
    taken: dict[str, Path] = {}
    for file in files_of_paths(paths, problems):
        by_file[file] = None
        with noted(problems):
            reading = read_file(file, forms)
            other = taken.setdefault(reading.scenario.name, file)
            if other is not file:
                raise name_is_taken(file, reading, other)
            by_file[file] = reading.scenario
    return by_file, problems


def name_is_taken(file: Path, reading: Reading, other: object) -> ScenarioError:
    """The error of a file whose name is the name of another one."""
    name, place = reading.scenario.name, reading.place
    message = f"the name '{name}' is taken by {other}; give this file another name"
    return ScenarioError.at(file, message, place.line, place.column)


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
    by_file, problems = read_files(paths)
    if problems:
        return 2, "".join(f"{escape_controls(str(problem))}\n" for problem in problems)
    warnings = method_warnings(filter(None, by_file.values()), methods)
    lines = [f"warning: {warning}\n" for warning in warnings]
    found = "no mistakes" if lines else "no problems"
    lines.append(f"{counted(len(by_file), 'file')}: {found}\n")
    return int(found == "no mistakes"), escape_controls("".join(lines), besides=LINE_BREAK)


def files_of_paths(paths: Sequence[Path], problems: list[Problem]) -> Iterator[Path]:
    """The files of the paths, each once; of a directory its scenario files, by name."""
    seen = set()
    for path in paths:
        files = [path]
        if path.is_dir():
            files = []
            with noted(problems):
                files = _files_in(path)
        for file in files:
            if file.absolute() not in seen:
                seen.add(file.absolute())
                yield file


def _files_in(directory: Path) -> list[Path]:
    """Raises ScenarioError."""
    try:
        files = sorted(file for file in directory.iterdir() if file.suffix in _SUFFIXES)
    except OSError as error:
        raise unreadable(directory, error) from None
    if not files:
        message = "the directory must contain scenario files: *.yaml or *.yml"
        raise ScenarioError.at(directory, message)
    return files


def read_file(file: Path, forms: Forms = frozenset()) -> Reading:
    """The scenario of a file. Raises ScenarioError with every problem."""
    return _read(file_text(file), str(file), None, forms)


def file_text(file: Path, hint: str = "") -> str:
    """The text of a file. Raises ScenarioError where it cannot be read, or is not UTF-8.

    `hint` is the end of the message about a file that cannot be read.
    """
    context = FileContext(str(file))
    try:
        text = read_file_text(file, context.add)
    except (OSError, ValueError) as error:
        raise unreadable(file, error, hint) from None
    if text is None:
        raise ScenarioError(context.problems)
    return text


def unreadable(path: Path, error: OSError | ValueError, hint: str = "") -> ScenarioError:
    cause = error.strerror if isinstance(error, OSError) else None
    return ScenarioError.at(path, f"cannot be read: {cause or error}{hint}")
