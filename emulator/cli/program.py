"""Runs a command with usable standard streams, and prints the errors of the user."""

import io
import os
import sys

import click

from emulator.cli.commands import cli
from emulator.cli.output import PROGRAM, end_printing, print_error
from emulator.domain.user_error import UserError

_STANDARD_ERROR = 2
# A server with every option has 23 at its start.
_MIN_DESCRIPTORS = 32


def run() -> int:
    """Run the command of the arguments and return the exit code.

    Raises what is no error of the user, and KeyboardInterrupt.
    """
    _never_fail_to_print()
    try:
        _take_standard_descriptors()
        try:
            result = cli.main(prog_name=PROGRAM, standalone_mode=False)
        except OSError as error:
            if error.filename is not None:
                raise
            # From text that click prints itself, such as its help.
            end_printing(error)
            return 0
    except UserError as error:
        return print_error(error)
    except click.ClickException as error:
        return print_error(UserError(_usage_line(error)))
    except click.Abort:
        raise KeyboardInterrupt from None
    return result if isinstance(result, int) else 0


def _take_standard_descriptors() -> None:
    """Open closed standard descriptors, so that no socket or database gets their numbers.

    Raises UserError if the process can open too few others: an event loop without them aborts.
    """
    opened: list[int] = []
    try:
        while len(opened) < _MIN_DESCRIPTORS:
            opened.append(os.open(os.devnull, os.O_RDWR))
    except OSError as error:
        raise UserError(
            f"cannot open {_MIN_DESCRIPTORS} files at once: {error.strerror}; "
            "increase the limit of open files (ulimit -n)"
        ) from None
    finally:
        for descriptor in opened:
            if descriptor > _STANDARD_ERROR:
                os.close(descriptor)


def _never_fail_to_print() -> None:
    """Print `?` where the encoding of the terminal lacks a character, and each text completely."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if not isinstance(stream, io.TextIOWrapper):
            continue
        stream.reconfigure(errors="replace")
        if isinstance(stream.buffer, io.RawIOBase):
            # With PYTHONUNBUFFERED, Python loses what a terminal does not take at once.
            encoding, buffer = stream.encoding, io.BufferedWriter(stream.detach())
            setattr(sys, name, io.TextIOWrapper(buffer, encoding, "replace", line_buffering=True))


def _usage_line(error: click.ClickException) -> str:
    line = " ".join(error.format_message().split()).rstrip(".")
    if isinstance(error, click.UsageError) and error.ctx is not None:
        see = " See" if line.endswith(("?", "?)")) else "; see"
        line = f"{line}{see} {error.ctx.command_path} --help"
    return line
