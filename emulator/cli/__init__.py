"""The command line: runs a command and prints each error of the user in one line."""

import gc
import os
import signal
import sys

# `typing` would be imported before `main` is called; until then Ctrl-C prints a traceback.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

    import click

PROGRAM = "payments-emulator"
_STANDARD_ERROR = 2
_INTERRUPTED = 130
# Without collections until the server runs, as everything that is loaded until then is needed.
_LOADS_WHAT_IT_NEEDS = ("serve", "replay", "check")


def main() -> "NoReturn":
    """Run the command line. The exit code is 2 for every error of the user."""
    # Before slow imports: until then a signal has Python's effect.
    if sys.argv[1:2] == ["serve"]:
        _end_on_signals()
    if sys.argv[1:2] and sys.argv[1] in _LOADS_WHAT_IT_NEEDS:
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
    """Run the command of the arguments; `serve` and `check` without click where it can."""
    if sys.argv[1:2] == ["serve"]:
        from emulator.cli.serve import ServeError, parse_flags, serve

        flags = parse_flags(sys.argv[2:])
        if flags is not None:
            try:
                serve(flags)
            except ServeError as error:
                _print_error(error.lines, as_json=error.as_json)
                return 2
            return 0
    if sys.argv[1:2] == ["check"] and _are_paths(sys.argv[2:]):
        return _check(sys.argv[2:])
    from emulator.cli.commands import cli

    result = cli.main(prog_name=PROGRAM, standalone_mode=False)
    return result if isinstance(result, int) else 0


def _are_paths(arguments: list[str]) -> bool:
    # On Windows click expands wildcards.
    has_options = any(argument.startswith("-") for argument in arguments)
    return bool(arguments) and not has_options and os.name == "posix"


def _check(paths: list[str]) -> int:
    from pathlib import Path

    from emulator.scenarios.loader import check_files

    code, text = check_files([Path(path) for path in paths])
    try:
        print(text, end="", flush=True)  # noqa: T201
    except OSError as error:
        from emulator.cli.output import end_printing

        end_printing(error)
    return code


def _print_error(lines: "Sequence[str]", *, as_json: bool = False) -> None:
    from emulator.domain.message_text import escape_controls
    from emulator.server.app.log import json_line

    for text in lines:
        line = " ".join(text.split())
        shown = json_line("error", line) if as_json else f"{PROGRAM}: {escape_controls(line)}"
        if sys.stderr is not None:
            print(shown, file=sys.stderr, flush=True)  # noqa: T201


def _report(error: Exception) -> int:
    """Print an error of the user and return the exit code. Raises other errors again."""
    import click

    from emulator.cli.output import CliError, stop_printing, unprinted

    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message())
        return 0
    if isinstance(error, CliError):
        _print_error(error.lines, as_json=error.as_json)
        return error.exit_code
    if isinstance(error, click.ClickException):
        _print_error([_usage_line(error)])
        return 2
    if isinstance(error, OSError) and error.filename is None:
        # From text that click prints itself, such as its help.
        stop_printing()
        _print_error([unprinted(error)])
        return 2
    if isinstance(error, click.Abort):
        return _INTERRUPTED
    raise error


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


def _usage_line(error: "click.ClickException") -> str:
    import click

    line = " ".join(error.format_message().split()).rstrip(".")
    if isinstance(error, click.UsageError) and error.ctx is not None:
        see = " See" if line.endswith(("?", "?)")) else "; see"
        line = f"{line}{see} {error.ctx.command_path} --help"
    return line
