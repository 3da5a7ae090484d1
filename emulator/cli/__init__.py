"""The command line: what each command takes, and how a mistake is told in one line."""

import os
import sys
from typing import NoReturn

import click

from emulator.cli.commands import PROGRAM, Mistake, cli

_STANDARD_ERROR = 2


def main() -> NoReturn:
    """Run the command line. Exit code 2 for every mistake of the user."""
    _take_standard_descriptors()
    _never_fail_to_print()
    try:
        result = cli.main(prog_name=PROGRAM, standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        sys.exit(0)
    except click.ClickException as error:
        for line in _lines(error):
            click.echo(f"{PROGRAM}: {line}", err=True)
        sys.exit(error.exit_code if isinstance(error, Mistake) else 2)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    sys.exit(result if isinstance(result, int) else 0)


def _take_standard_descriptors() -> None:
    """Where standard error was closed, a socket or the database must not get its number."""
    descriptor = os.open(os.devnull, os.O_RDWR)
    while descriptor <= _STANDARD_ERROR:
        descriptor = os.open(os.devnull, os.O_RDWR)
    os.close(descriptor)


def _never_fail_to_print() -> None:
    """A terminal that knows no `…` gets a `?`."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def _lines(error: click.ClickException) -> list[str]:
    if isinstance(error, Mistake):
        return [" ".join(line.split()) for line in error.lines]
    line = " ".join(error.format_message().split()).rstrip(".")
    if isinstance(error, click.UsageError) and error.ctx is not None:
        line = f"{line}; see {error.ctx.command_path} --help"
    return [line]
