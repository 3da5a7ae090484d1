"""The tables of the documents that are made from the program, and their places."""

import re
from collections.abc import Callable, Iterator, Sequence

import click

from emulator.cli.replaying import replay
from emulator.cli.verifying import verify
from emulator.domain.accounts import Mode
from emulator.domain.clauses import CLAUSES, Clause
from emulator.domain.outcomes import Handset, Outcome
from emulator.scenarios.library import load_paths
from emulator.settings import OPTIONS, Option, data_directory
from tests.docs.document import REPOSITORY

_METHODS = ("telebirr", "mpesa")
_NO_DEFAULT = {True: "off", False: "none"}


def options_table() -> str:
    """Every option of `serve`: its flag, its variable, its default, its help."""
    rows = [
        (f"`{_flag(option)}`", f"`{option.variable}`", _default(option), _prose(option.help))
        for option in OPTIONS
    ]
    return _table(("option", "variable", "default", "meaning"), rows)


def numbers_table() -> str:
    """The phone numbers of the shipped scenarios, by outcome."""
    numbers: dict[str, dict[str, str]] = {}
    for outcome, method, phone in _shipped_numbers():
        numbers.setdefault(outcome, {})[method] = f"`{phone}`"
    rows = [
        (outcome, *(phones.get(method, "") for method in _METHODS))
        for outcome, phones in numbers.items()
    ]
    return _table(("outcome", "telebirr", "M-Pesa"), rows)


def replay_options_table() -> str:
    """Every option of `replay`, out of what `--help` says."""
    return _options_of(replay)


def _options_of(command: click.Command) -> str:
    context = click.Context(command)
    records = [
        option.get_help_record(context)
        for option in command.params
        if isinstance(option, click.Option)
    ]
    rows = [_option_row(*record) for record in records if record is not None]
    return _table(("option", "default", "meaning"), rows)


def _option_row(flags: str, text: str) -> tuple[str, str, str]:
    meaning, _, details = text.partition("  [")
    # Beside the default stand the bounds, which whoever gets them wrong is told.
    default = re.search(r"default: ([^\];]+)", details)
    return f"`{flags}`", f"`{default[1]}`" if default else "none", _prose(meaning)


def fidelity_table() -> str:
    """Every clause of the contract: what it says, what we do, what that stands on."""
    head = ("clause", "the contract", "here", "basis", "knob", "tests")
    rows = [
        (
            clause.number,
            _prose(clause.says),
            _prose(clause.here),
            _basis(clause),
            ", ".join(f"`{knob}`" for knob in clause.knobs),
            ", ".join(_files(clause)),
        )
        for clause in CLAUSES
    ]
    return _table(head, rows)


def _files(clause: Clause) -> list[str]:
    """Links to the files of the tests that prove it, each once."""
    files = dict.fromkeys(test.partition("::")[0] for test in clause.tests)
    shown = {file: file.rpartition("/test_")[2].removesuffix(".py") for file in files}
    return [f"[{name}](../../{file})" for file, name in shown.items()]


def _basis(clause: Clause) -> str:
    return clause.basis if clause.assumed is None else f"{clause.basis}; assumed: {clause.assumed}"


def verify_options_table() -> str:
    """Every option of `verify`, out of what `--help` says."""
    return _options_of(verify)


# By the page that each is on, and its name there.
TABLES: dict[tuple[str, str], Callable[[], str]] = {
    ("docs/reference/fidelity.md", "fidelity"): fidelity_table,
    ("docs/reference/options.md", "options"): options_table,
    ("docs/reference/commands.md", "replay options"): replay_options_table,
    ("docs/guides/checkout-page.md", "test numbers"): numbers_table,
    ("docs/reference/commands.md", "verify options"): verify_options_table,
}


def generated(name: str, text: str) -> str:
    """What stands in a document where a table is generated."""
    return _parts(name, text)[1]


def regenerate() -> None:
    """Write all tables into their pages."""
    for (page, name), table in TABLES.items():
        path = REPOSITORY / page
        before, _, after = _parts(name, path.read_text(encoding="utf-8"))
        path.write_text(before + table() + after, encoding="utf-8")


def _parts(name: str, text: str) -> tuple[str, str, str]:
    """What stands before a generated table, the table, and what comes after it."""
    begin, end = f"<!-- generated: {name} -->\n", "<!-- end generated -->"
    before, found, rest = text.partition(begin)
    table, closed, after = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"no place for the table '{name}'")
    return before + found, table, closed + after


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _flag(option: Option) -> str:
    return f"{option.flag} {option.metavar}" if option.metavar else option.flag


def _prose(text: str) -> str:
    """A sentence with Markdown's signs in it as they are meant."""
    return text.replace("*", r"\*").replace("|", r"\|")


def _default(option: Option) -> str:
    text = option.default_text
    return f"`{text}`" if text else _NO_DEFAULT[option.is_switch]


def _shipped_numbers() -> Iterator[tuple[str, str, str]]:
    """The outcome, method and number of each rule for one number, telebirr's first."""
    shipped = load_paths([data_directory("scenarios")])
    rules = [rule for scenario in shipped if scenario.enabled for rule in scenario.outcomes]
    for name in _METHODS:
        for rule in rules:
            if rule.when.method == name and rule.when.phone and rule.when.mode is Mode.TEST:
                yield _outcome(rule.then), name, rule.when.phone


def _outcome(outcome: Outcome) -> str:
    if isinstance(outcome, Handset):
        return "waits for an answer"
    steps = [
        ("at once" if step.after_ms == 0 else f"after {step.after_ms // 1000} s")
        + f" `{step.status}`"
        + (f", reason `{step.reason}`" if step.reason else "")
        for step in outcome.steps
    ]
    return ", then ".join(steps) or "stays in `processing`"
