"""The command line: runs a command and prints each error of the user in one line."""

import gc
import os
import signal
import sys
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    import click

_STANDARD_ERROR = 2
_INTERRUPTED = 130


def main() -> NoReturn:
    """Run the command line. The exit code is 2 for every error of the user."""
    # Before slow imports: until then a signal has Python's effect.
    if sys.argv[1:2] == ["serve"]:
        _end_on_signals()
        # Until the server runs: everything that is loaded until then is needed.
        gc.disable()
    try:
        sys.exit(_run())
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)


def _end_on_signals() -> None:
    """Let SIGTERM and SIGINT end `serve` with exit code 0 already while it starts.

    The first process of a container would otherwise ignore them. There is nothing to close yet,
    and an exception might be lost in an import.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: os._exit(0))


def _run() -> int:
    _take_standard_descriptors()
    _never_fail_to_print()
    try:
        return _run_command()
    except Exception as error:  # noqa: BLE001 - raised again, unless it is one of the user
        return _report(error)


def _run_command() -> int:
    """Run the command of the arguments; `serve` without click, which takes a tenth of its start."""
    if sys.argv[1:2] == ["serve"]:
        from emulator.cli.serve import parse_flags, serve

        flags = parse_flags(sys.argv[2:])
        if flags is not None:
            serve(flags)
            return 0
    from emulator.cli.commands import PROGRAM, cli

    result = cli.main(prog_name=PROGRAM, standalone_mode=False)
    return result if isinstance(result, int) else 0


def _report(error: Exception) -> int:
    """Print an error of the user and return the exit code. Raises other errors again."""
    import click

    from emulator.cli.commands import PROGRAM
    from emulator.cli.output import CliError, stop_printing, unprinted
    from emulator.domain.control_characters import escape_controls

    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message())
        return 0
    if isinstance(error, click.ClickException):
        as_json = isinstance(error, CliError) and error.as_json
        for line in _lines(error):
            shown = _json_line(line) if as_json else f"{PROGRAM}: {escape_controls(line)}"
            click.echo(shown, err=True)
        return error.exit_code if isinstance(error, CliError) else 2
    if isinstance(error, OSError) and error.filename is None:
        # From text that click prints itself, such as its help.
        stop_printing()
        click.echo(f"{PROGRAM}: {unprinted(error)}", err=True)
        return 2
    if isinstance(error, click.Abort):
        return _INTERRUPTED
    raise error


def _json_line(line: str) -> str:
    from emulator.app.log import json_line

    return json_line("error", line)


def _take_standard_descriptors() -> None:
    """Open closed standard descriptors, so that no socket or database gets their numbers."""
    descriptor = os.open(os.devnull, os.O_RDWR)
    while descriptor <= _STANDARD_ERROR:
        descriptor = os.open(os.devnull, os.O_RDWR)
    os.close(descriptor)


def _never_fail_to_print() -> None:
    """Print `?` where the encoding of the terminal lacks a character."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def _lines(error: "click.ClickException") -> list[str]:
    import click

    from emulator.cli.output import CliError

    if isinstance(error, CliError):
        return [" ".join(line.split()) for line in error.lines]
    line = " ".join(error.format_message().split()).rstrip(".")
    if isinstance(error, click.UsageError) and error.ctx is not None:
        line = f"{line}; see {error.ctx.command_path} --help"
    return [line]
