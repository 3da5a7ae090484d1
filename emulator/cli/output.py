"""Output of commands: error messages, text on a terminal, files."""

import errno
import os
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import click

from emulator.domain.durations import parse_duration_ms
from emulator.domain.message_text import LINE_BREAK, escape_controls, json_line
from emulator.domain.user_error import UserError
from emulator.reporting import ERASE_LINE, Paint, folded
from emulator.settings.options import STANDARD_WEBHOOKS

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
PROGRAM = "payments-emulator"
# A pipe whose reader has closed it; on Windows the error is EINVAL.
_READER_CLOSED = {errno.EPIPE, errno.EINVAL}
STDOUT = Path("-")
# Whether only the results are printed on standard output.
_OWN_STDOUT = "emulator.has_own_stdout"
# How often progress is printed where there is no terminal.
LINE_EVERY_MS = 10_000


def cli_error(*lines: str) -> NoReturn:
    """End the command with exit code 2 and these lines on stderr."""
    raise UserError(*lines) from None


def print_error(error: UserError, *, as_json: bool = False) -> int:
    """Print an error of the user and return the exit code."""
    for text in error.lines:
        line = text if error.has_places else f"{PROGRAM}: {' '.join(text.split())}"
        shown = _json(" ".join(text.split())) if as_json else escape_controls(line)
        if sys.stderr is not None:
            print(shown, file=sys.stderr, flush=True)  # noqa: T201
    return error.exit_code


def _json(line: str) -> str:
    from emulator.clock import RealClock  # noqa: PLC0415 - loads asyncio

    return json_line(RealClock().system_ms(), "error", line)


class _OutputFile(click.Path):
    """A file that a command writes at its end: its directory must exist."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        file = Path(os.fsdecode(super().convert(value, param, ctx)))
        if not file.absolute().parent.is_dir():
            option = "" if param is None else param.opts[0]
            cli_error(f"flag {option}: cannot write '{file}': its directory does not exist")
        return file


def number_option(
    *names: str, limits: tuple[int, int], kind: Callable[[str], float] = int, **more: Any
) -> Decorator:
    """An option with a number within its limits."""
    minimum, maximum = limits
    expected = f"{'a number' if kind is float else 'an integer'} from {minimum} to {maximum}"

    def parse(_: click.Context, param: click.Parameter, value: str | None) -> float | None:
        if value is None:
            return None
        with suppress(ValueError):
            if minimum <= (number := kind(value)) <= maximum:
                return number
        return cli_error(f"flag {param.opts[-1]}: found '{value}', expected {expected}")

    usual: dict[str, Any] = {"metavar": "N", "type": str, "show_default": True}
    return click.option(*names, callback=parse, **usual | more)


def max_time_option(text: str, *, default: str) -> Decorator:
    """The option `--max-time`, a duration in milliseconds."""

    def parse(_: click.Context, __: click.Parameter, value: str | None) -> int | None:
        try:
            return None if value is None else parse_duration_ms(value)
        except ValueError as error:
            cli_error(f"flag --max-time: {error}")

    usual: dict[str, Any] = {"metavar": "DURATION", "callback": parse, "show_default": default}
    return click.option("--max-time", help=text, **usual)


def webhook_format_option(text: str, default: str | None = STANDARD_WEBHOOKS) -> Decorator:
    """The option `--webhook-format`: the name of a shipped form, or a file."""
    usual: dict[str, Any] = {"metavar": "NAME_OR_FILE", "default": default, "show_default": True}
    return click.option("--webhook-format", help=text, **usual)


OUTPUT_FILE = _OutputFile(dir_okay=False)
FILES_ARGUMENT = click.argument(
    "files",
    metavar="FILE...",
    nargs=-1,
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
)
JUNIT_OPTION = click.option(
    "--junit", metavar="FILE", type=OUTPUT_FILE, help="Write the results as JUnit XML."
)
REPORT_OPTION = click.option(
    "--report", metavar="FILE", type=OUTPUT_FILE, help="Write a report as one HTML file."
)


def _json_file(ctx: click.Context, _: click.Parameter, file: Path | None) -> Path | None:
    """A callback of `--json`: with `-`, other output is printed on standard error."""
    ctx.meta[_OWN_STDOUT] = file == STDOUT
    return file


JSON_OPTION = click.option(
    "--json",
    "json",
    metavar="FILE",
    type=OUTPUT_FILE,
    callback=_json_file,
    help="Write the results as JSON; - is standard output.",
)


def write(text: str) -> None:
    """Print immediately, with control characters escaped. Raises UserError."""
    write_unescaped(escape_controls(text, besides=LINE_BREAK))


def write_unescaped(text: str) -> None:
    """Print a text of the program, or a text with colours in which the other parts are escaped.

    If the reader has closed the pipe (`… | head`), the command continues without output. Raises
    UserError if printing fails for another reason, such as a full disk.
    """
    context = click.get_current_context(silent=True)
    is_error = context is not None and context.meta.get(_OWN_STDOUT, False)
    try:
        click.echo(text, nl=False, err=is_error)
    except OSError as error:
        end_printing(error)


def end_printing(error: OSError) -> None:
    """Discard all later output after a failed print, buffered output included.

    Raises UserError unless the reader has closed the pipe.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if error.errno not in _READER_CLOSED:
        cli_error(f"cannot print: {error.strerror}")


def write_lines(lines: Iterable[str]) -> None:
    write_coloured(map(escape_controls, lines))


def write_coloured(lines: Iterable[str]) -> None:
    """Print lines with colours; the functions that add the colours have escaped the other parts.

    Where no terminal breaks them, the lines have a limited length.
    """
    text = "".join(f"{line}\n" for line in lines)
    is_broken = is_terminal(sys.stdout)
    write_unescaped(text if is_broken else "\n".join(map(folded, text.split("\n"))))


def write_json(file: Path | None, content: Callable[[], bytes]) -> None:
    """Write or print the file of --json, if the user has named one. Raises UserError."""
    if file != STDOUT:
        return write_file("--json", file, content)
    try:
        click.echo(content(), nl=False)
    except OSError as error:
        end_printing(error)


def write_file(option: str, file: Path | None, content: Callable[[], bytes]) -> None:
    """Write a file, if the user has named one. Raises UserError."""
    if file is None:
        return
    written = content()
    try:
        file.write_bytes(written)
    except OSError as error:
        cli_error(f"flag {option}: cannot write '{file}': {error.strerror}")


class ProgressLine:
    """A line of the terminal that is standard error; each text replaces the one before.

    Elsewhere, and in the log of a CI job, a text is a line of its own if LINE_EVERY_MS have passed
    since the last one.
    """

    def __init__(self) -> None:
        self._is_shown = is_terminal(sys.stderr) and not os.environ.get("CI")
        self._next_ms: float = LINE_EVERY_MS

    def show(self, text: str = "", *, elapsed_ms: float = 0) -> None:
        if self._is_shown:
            click.echo(ERASE_LINE + text, nl=False, err=True)
        elif elapsed_ms >= self._next_ms:
            self._next_ms = elapsed_ms + LINE_EVERY_MS
            click.echo(text, err=True)


def is_terminal(stream: object) -> bool:
    """Whether a stream is a terminal; None is a closed stream."""
    return stream is not None and bool(stream.isatty())  # type: ignore[attr-defined]


def console_paint() -> Paint:
    """Colours for standard output if it is a terminal and the user has not disabled them."""
    has_colours = is_terminal(sys.stdout) and not os.environ.get("NO_COLOR")
    return Paint(is_on=has_colours)
