"""How commands speak to their user: mistakes, what is printed, what is written to files."""

import errno
import os
import re
import sys
from functools import cache
from pathlib import Path
from typing import NoReturn

import click

from emulator.domain.control_characters import LINE_BREAK, escape_controls

FILE = click.Path(dir_okay=False, path_type=Path)
# A pipe whose other end was closed; to Windows it is an invalid argument.
_NOBODY_READS = {errno.EPIPE, errno.EINVAL}
# What most commands ask, unless they are told otherwise.
USUAL_URL = "http://127.0.0.1:8080"


class CliError(click.ClickException):
    """An error of the user, with one line on stderr for each problem; exit code 2."""

    exit_code = 2

    def __init__(self, *lines: str) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines


def cli_error(*lines: str) -> NoReturn:
    """End the command with exit code 2 and these lines on stderr."""
    raise CliError(*lines) from None


# Colours, and the erasing of a line: all that the program tells a terminal.
_OWN_SEQUENCE = re.compile(r"\r?\x1b\[[0-9]*[mK]")


@cache
def own_mark() -> str:
    """What stands before each escape sequence of the program's own.

    It is random, so that text from outside, which `write` escapes, cannot have it.
    """
    from emulator import ids

    return ids.stream_key(None, "console").hex()


def terminal_text(text: str) -> str:
    """The text with its own escape sequences, and without control characters from outside."""
    first, *marked = text.split(own_mark())
    parts = [escape_controls(first, besides=LINE_BREAK)]
    for part in marked:
        own = _OWN_SEQUENCE.match(part)
        end = 0 if own is None else own.end()
        parts += [part[:end], escape_controls(part[end:], besides=LINE_BREAK)]
    return "".join(parts)


def write(text: str) -> None:
    """Print at once, with control characters from outside escaped.

    Where nobody reads any more (`… | head`) the command goes on, unheard. What cannot be printed
    for another reason, a full disk say, is a cli_error.
    """
    try:
        click.echo(terminal_text(text), nl=False)
    except OSError as error:
        stop_printing()
        if error.errno not in _NOBODY_READS:
            cli_error(unprinted(error))


def unprinted(error: OSError) -> str:
    """What to say where printing has failed."""
    return f"cannot print: {error.strerror}"


def stop_printing() -> None:
    """Let what is printed from here on, or was already, go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def check_directory(option: str, file: Path) -> None:
    """Raises CliError when a file cannot be written."""
    if not file.absolute().parent.is_dir():
        cli_error(f"flag {option}: cannot write '{file}': its directory does not exist")


def write_file(option: str, file: Path, content: bytes) -> None:
    try:
        file.write_bytes(content)
    except OSError as error:
        cli_error(f"flag {option}: cannot write '{file}': {error.strerror}")


def is_terminal(stream: object) -> bool:
    """Whether somebody looks at it; None is a stream that was closed."""
    return stream is not None and bool(stream.isatty())  # type: ignore[attr-defined]


def has_colours() -> bool:
    """Whether what is printed may be coloured."""
    return is_terminal(sys.stdout) and not os.environ.get("NO_COLOR")


def base_url(option: str, text: str) -> str:
    """A URL that others begin with, for requests with an API key. Raises CliError."""
    from emulator.settings import parse_checkout_url

    try:
        if not text.isascii():
            raise ValueError(text)
        url = parse_checkout_url(text)
    except ValueError:
        bare = ", without ? and #" if {"?", "#"} & set(text) else ""
        cli_error(f"flag {option}: found {text!r}, expected an absolute http or https URL{bare}")
    if "@" in url:
        # Both belong into the one header that already holds the key.
        cli_error(f"flag {option}: a user and a password cannot be sent beside an API key")
    return url


def check_key(option: str, key: str | None) -> None:
    """Raises CliError for a malformed key."""
    from emulator.domain.accounts import is_well_formed_key

    if key is not None and not is_well_formed_key(key):
        cli_error(f"flag {option}: expected test_ or live_ and 4 to 128 letters, digits or _")
