"""The generated tables of the test ids and of the commands."""

import re
from collections.abc import Callable, Iterator
from functools import cache, partial

import click

from emulator.cli.commands import EXIT_CODES, cli
from emulator.settings import data_directory
from tests.docs.generated.scenario_types import with_default
from tests.docs.markdown import table

_TEMPLATES = data_directory("templates") / "checkout"
# In the order in which a customer sees the pages; the parts of several pages come first.
_ORDER = (
    *("layouts/base", "layouts/order", "layouts/pay", "parts/simulation", "parts/own_form"),
    *("choose", "method-form", "bank-choice", "waiting", "bank", "result", "leaving", "problem"),
)
_PAGE = re.compile(r"{# page: (.+?) #}")
_TEST_ID = re.compile(r'data-testid="(.+?)"')
_COMMENT = re.compile(r"{# test id (?P<name>\S+)(?: \((?P<pages>.+?)\))?: (?P<text>.+?) #}")
_PARENT = re.compile(r'{% (?:extends|include) "(.+?)\.html" %}')


def checkout_ids_table() -> str:
    """Every `data-testid` of the checkout page, the pages that have it, its description."""
    sources = _sources()
    comments = [match for source in sources.values() for match in _COMMENT.finditer(source)]
    shapes = {
        template: {re.sub("{{.*?}}", "*", name) for name in _TEST_ID.findall(source)}
        for template, source in sources.items()
    }
    written = set().union(*shapes.values())
    described = [_shape(comment["name"]) for comment in comments]
    if odd := {n for n in {*written, *described} if n not in written or described.count(n) != 1}:
        raise ValueError(f"test ids without a comment, with two, or in a comment only: {odd}")
    rows = []
    for name, pages, text in (comment.groups() for comment in comments):
        templates = {template for template, found in shapes.items() if _shape(name) in found}
        rows.append((f"`{name}`", pages or _pages_with(templates, sources), text))
    return table(("`data-testid`", "page", "element"), rows)


def pages_table() -> str:
    """Every page of the checkout, with its value of `data-page`."""
    rows = [(f"`{template}`", page) for template, page in _page_names(_sources()).items()]
    return table(("`data-page`", "page"), rows)


def _sources() -> dict[str, str]:
    """The templates by name; one that is not in the order is a `ValueError`."""
    names = (path.relative_to(_TEMPLATES).as_posix()[:-5] for path in _TEMPLATES.rglob("*.html"))
    ordered = sorted(names, key=_ORDER.index)
    return {name: (_TEMPLATES / f"{name}.html").read_text(encoding="utf-8") for name in ordered}


def _shape(name: str) -> str:
    """A name with `*` in place of each value, as in `method-*`."""
    return re.sub("{.*?}", "*", name)


def _page_names(sources: dict[str, str]) -> dict[str, str]:
    return {name: match[1] for name, source in sources.items() if (match := _PAGE.match(source))}


def _pages_with(templates: set[str], sources: dict[str, str]) -> str:
    """The pages that are one of these templates, or that extend or include one."""
    names = _page_names(sources)
    pages = [f"`{page}`" for page in names if templates & {*_lineage(page, sources)}]
    return "every page" if len(pages) == len(names) else ", ".join(pages)


def _lineage(template: str, sources: dict[str, str]) -> Iterator[str]:
    yield template
    for parent in _PARENT.findall(sources[template]):
        yield from _lineage(parent, sources)


def _commands_with_options() -> Iterator[str]:
    """The commands with options; those of `serve` have their own page."""
    context = click.Context(cli)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        if name != "serve" and any(isinstance(each, click.Option) for each in command.params):
            yield name


def command_options_table(name: str) -> str:
    """Every option of a command that it does not share with another, from its `--help`."""
    rows = [row for row in _options(name) if row not in _shared_options()]
    of_serve = [row for row in rows if row in _options("serve")]
    rows = [row for row in rows if row not in of_serve]
    if of_serve:
        flags = ", ".join(flag for flag, _ in of_serve)
        rows.append((flags, "See [`serve`](options.md)."))
    return table(("option", "meaning"), rows)


def shared_options_table() -> str:
    """The options that several commands have, with the same default and meaning."""
    rows = [
        (*row, ", ".join(f"`{name}`" for name in names)) for row, names in _shared_options().items()
    ]
    return table(("option", "meaning", "commands"), rows)


@cache
def _shared_options() -> dict[tuple[str, str], list[str]]:
    commands: dict[tuple[str, str], list[str]] = {}
    for name in _commands_with_options():
        for row in _options(name):
            commands.setdefault(row, []).append(name)
    return {row: names for row, names in commands.items() if len(names) > 1}


def _options(name: str) -> list[tuple[str, str]]:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    context = click.Context(command)
    options = [option for option in command.params if isinstance(option, click.Option)]
    return [_option(each, context) for each in options]


def _option(option: click.Option, context: click.Context) -> tuple[str, str]:
    flags, text = option.get_help_record(context) or ("", "")
    meaning, _, details = text.partition("  [")
    default = "required" if option.required else "off" if option.is_flag else "none"
    if found := re.search(r"default: ([^\];]+)", details):
        # click writes a default that is a description, not a value, in parentheses.
        default = found[1][1:-1] if found[1].startswith("(") else f"`{found[1]}`"
    meaning = meaning.replace("*", r"\*").replace("|", r"\|")
    return f"`{flags}`", with_default(default, meaning)


def exit_codes_table() -> str:
    """The exit codes of all commands, with links to their sections; the page describes 3."""
    rows = [
        (
            f"[`{name}`](#{name})",
            *(_flags_as_code(EXIT_CODES.get((name, code), "")) for code in range(3)),
        )
        for name in dict.fromkeys(name for name, _ in EXIT_CODES)
    ]
    return table(("command", "0", "1", "2"), rows)


def _flags_as_code(text: str) -> str:
    return re.sub(r"--[a-z-]+", r"`\g<0>`", text)


TABLES: dict[tuple[str, str], Callable[[], str]] = {
    ("docs/reference/test-ids.md", "test ids"): checkout_ids_table,
    ("docs/reference/test-ids.md", "pages"): pages_table,
    ("docs/reference/commands.md", "exit codes"): exit_codes_table,
    ("docs/reference/commands.md", "shared options"): shared_options_table,
    **{
        ("docs/reference/commands.md", f"{name} options"): partial(command_options_table, name)
        for name in _commands_with_options()
        if {*_options(name)} - {*_shared_options()}
    },
}
