"""Output of commands: error messages, text on a terminal, files."""

import errno
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from emulator.domain.message_text import LINE_BREAK, escape_controls

if TYPE_CHECKING:
    from emulator.domain.webhook_forms import WebhookForm
    from emulator.http.blocking_client import BlockingEmulator
    from emulator.reporting import Paint

T = TypeVar("T")
# A pipe whose reader has closed it; on Windows the error is EINVAL.
_READER_CLOSED = {errno.EPIPE, errno.EINVAL}
STDOUT = Path("-")
# Whether only the results are printed on standard output.
_OWN_STDOUT = "emulator.has_own_stdout"
# How often progress is printed where there is no terminal.
LINE_EVERY_MS = 10_000
DEFAULT_URL = "http://127.0.0.1:8080"
URL_OPTION = click.option(
    "--url", metavar="URL", default=DEFAULT_URL, show_default=True, help="URL of the emulator."
)
KEY_OPTION = click.option(
    "--key",
    metavar="KEY",
    show_default="the first test key",
    help="API key of the account and mode.",
)


class CliError(click.ClickException):
    """An error of the user, with one line on stderr for each problem; exit code 2."""

    exit_code = 2

    def __init__(self, *lines: str, as_json: bool = False) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines
        self.as_json = as_json


def cli_error(*lines: str) -> NoReturn:
    """End the command with exit code 2 and these lines on stderr."""
    raise CliError(*lines) from None


class _OutputFile(click.Path):
    """A file that a command writes at its end: its directory must exist."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        file = Path(os.fsdecode(super().convert(value, param, ctx)))
        if not file.absolute().parent.is_dir():
            option = "" if param is None else param.opts[0]
            cli_error(f"flag {option}: cannot write '{file}': its directory does not exist")
        return file


def number_within(
    kind: type[int] | type[float], minimum: int, maximum: int
) -> Callable[[click.Context, click.Parameter, str | None], float | None]:
    """A callback of an option, which parses a number and compares it with its limits."""
    expected = f"{'an integer' if kind is int else 'a number'} from {minimum} to {maximum}"

    def parse(_: click.Context, param: click.Parameter, value: str | None) -> float | None:
        if value is None:
            return None
        with suppress(ValueError):
            if minimum <= (number := kind(value)) <= maximum:
                return number
        return cli_error(f"flag {param.opts[-1]}: found '{value}', expected {expected}")

    return parse


def parsed_by(
    parse: Callable[[str], T],
) -> Callable[[click.Context, click.Parameter, str | None], T | None]:
    """A callback of an option that reports the ValueError of its parser."""

    def parsed(_: click.Context, param: click.Parameter, text: str | None) -> T | None:
        try:
            return None if text is None else parse(text)
        except ValueError as error:
            cli_error(f"flag {param.opts[0]}: {error}")

    return parsed


OUTPUT_FILE = _OutputFile(dir_okay=False)
FILES_ARGUMENT = click.argument(
    "files",
    metavar="FILE...",
    nargs=-1,
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
)
CLOCK_FILE_OPTION = click.option(
    "--clock-file",
    metavar="FILE",
    help="File with the clock of the private emulator for libfaketime, as `serve` has it.",
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

# Colours, and the erasing of a line: all escape sequences of this program.
_OWN_SEQUENCE = re.compile(r"\r?\x1b\[[0-9]*[mK]")


@cache
def own_mark() -> str:
    """The mark before each escape sequence that this program adds.

    It is random, so that text from outside, which `write` escapes, cannot contain it.
    """
    from emulator import ids

    return ids.stream_key(None, "console").hex()


def terminal_text(text: str) -> str:
    """The text with marked escape sequences, and with all other control characters escaped."""
    if "\x1b" not in text:
        return escape_controls(text, besides=LINE_BREAK)
    first, *marked = text.split(own_mark())
    parts = [escape_controls(first, besides=LINE_BREAK)]
    for part in marked:
        own = _OWN_SEQUENCE.match(part)
        end = 0 if own is None else own.end()
        parts += [part[:end], escape_controls(part[end:], besides=LINE_BREAK)]
    return "".join(parts)


def write(text: str) -> None:
    """Print immediately, with control characters from outside escaped. Raises CliError."""
    write_unescaped(terminal_text(text))


def write_unescaped(text: str) -> None:
    """Print a text that is part of the program.

    If the reader has closed the pipe (`… | head`), the command continues without output. Raises
    CliError if printing fails for another reason, such as a full disk.
    """
    context = click.get_current_context(silent=True)
    is_error = context is not None and context.meta.get(_OWN_STDOUT, False)
    try:
        click.echo(text, nl=False, err=is_error)
    except OSError as error:
        end_printing(error)


def end_printing(error: OSError) -> None:
    """Discard later output after a failed print. Raises CliError unless the reader has closed."""
    stop_printing()
    if error.errno not in _READER_CLOSED:
        cli_error(unprinted(error))


def unprinted(error: OSError) -> str:
    """The message for a failed print."""
    return f"cannot print: {error.strerror}"


def stop_printing() -> None:
    """Discard all later output, buffered output included."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_problems(problems: Iterable[object]) -> int:
    """Print the mistakes of files and return the exit code; an editor can open their places."""
    for problem in problems:
        click.echo(escape_controls(str(problem)), err=True)
    return CliError.exit_code


def write_lines(lines: Iterable[str]) -> None:
    write("".join(f"{line}\n" for line in lines))


def write_json(file: Path | None, content: Callable[[], bytes]) -> None:
    """Write or print the file of --json, if the user has named one. Raises CliError."""
    if file != STDOUT:
        return write_file("--json", file, content)
    try:
        click.echo(content(), nl=False)
    except OSError as error:
        end_printing(error)


def write_file(option: str, file: Path | None, content: Callable[[], bytes]) -> None:
    """Write a file, if the user has named one. Raises CliError."""
    if file is None:
        return
    written = content()
    try:
        file.write_bytes(written)
    except OSError as error:
        cli_error(f"flag {option}: cannot write '{file}': {error.strerror}")


class ProgressLine:
    """A line of the terminal that is standard error; each text replaces the one before.

    Elsewhere, a text is a line of its own if LINE_EVERY_MS have passed since the last one.
    """

    def __init__(self) -> None:
        self._is_shown = is_interactive(sys.stderr)
        self._next_ms: float = LINE_EVERY_MS

    def show(self, text: str = "", *, elapsed_ms: float = 0) -> None:
        if self._is_shown:
            from emulator.reporting import ERASE_LINE

            click.echo(ERASE_LINE + text, nl=False, err=True)
        elif elapsed_ms >= self._next_ms:
            self._next_ms = elapsed_ms + LINE_EVERY_MS
            click.echo(text, err=True)


def is_terminal(stream: object) -> bool:
    """Whether a stream is a terminal; None is a closed stream."""
    return stream is not None and bool(stream.isatty())  # type: ignore[attr-defined]


def is_interactive(stream: object) -> bool:
    """Whether a stream may show progress: a terminal, and not the log of a CI job."""
    return is_terminal(stream) and not os.environ.get("CI")


def console_paint() -> "Paint":
    """Colours for standard output if it is a terminal and the user has not disabled them."""
    from emulator.reporting import Paint

    has_colours = is_terminal(sys.stdout) and not os.environ.get("NO_COLOR")
    return Paint(is_on=has_colours, mark=own_mark())


def base_url(option: str, text: str) -> str:
    """The validated base URL of a service that receives an API key. Raises CliError."""
    from emulator.domain.hosts import ACCEPTED_URL
    from emulator.settings import parse_checkout_url

    try:
        if not text.isascii():
            raise ValueError(text)
        url = parse_checkout_url(text)
    except ValueError:
        bare = ", without ? and #" if {"?", "#"} & set(text) else ""
        cli_error(f"flag {option}: found {text!r}, expected {ACCEPTED_URL}{bare}")
    if url.endswith("/v1"):
        bare = url.removesuffix("/v1")
        cli_error(f"flag {option}: found {text!r}, expected the address without /v1: {bare}")
    if "@" in url:
        # They would need the header that holds the key.
        cli_error(f"flag {option}: a user and a password cannot be sent beside an API key")
    return url


@contextmanager
def calling_emulator(url: str, key: str | None) -> "Iterator[BlockingEmulator]":
    """A client of the emulator at --url, which gets the key only if it is an emulator.

    Raises CliError if it is not, or for an error of its calls in the block.
    """
    from emulator.http.blocking_client import BlockingEmulator
    from emulator.http.emulator_calls import HEALTH, MAX_IDENTIFICATION_S, PaymentsEmulatorError

    address = base_url("--url", url)
    try:
        BlockingEmulator(base_url=address, timeout_s=MAX_IDENTIFICATION_S).call(HEALTH)
        yield BlockingEmulator(base_url=address, key=key)
    except PaymentsEmulatorError as error:
        cli_error(error.line)


def webhook_form(name_or_file: str) -> "WebhookForm":
    """The form that --webhook-format names. Raises CliError."""
    from emulator.scenarios.problems import ScenarioError
    from emulator.scenarios.webhook_form_file import load_webhook_form

    try:
        return load_webhook_form(name_or_file)
    except ScenarioError as error:
        cli_error(*map(str, error.problems))


def check_key(option: str, key: str | None) -> None:
    """Raises CliError for a malformed key."""
    from emulator.domain.accounts import KEY_FORM, is_well_formed_key

    if key is not None and not is_well_formed_key(key):
        cli_error(f"flag {option}: expected test_ or live_ {KEY_FORM}")
