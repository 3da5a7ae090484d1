"""Command `serve`: runs the emulator until a signal."""

import asyncio
import logging
import os
import sqlite3
import sys

import click

from emulator.cli.event_loop import LOOP_FACTORY
from emulator.cli.output import print_error
from emulator.cli.settings_options import settings_options
from emulator.domain.message_text import LINE_BREAK, escape_controls
from emulator.domain.user_error import UserError
from emulator.server.app.application import Application
from emulator.server.app.server import serve as serve_forever
from emulator.server.storage.batch import reason_of
from emulator.settings import Settings, WrongSettings, resolve, start_warnings

logger = logging.getLogger(__name__)


@click.command()
@settings_options()
def serve(**flags: object) -> int:
    """Run the emulator.

    Each option is also a variable EMULATOR_<NAME> and a key of the --config file.
    """
    try:
        settings = resolve(flags, os.environ)
    except WrongSettings as error:
        raise UserError(*error.lines, *_mistakes_in_files(error.settings)) from None
    warnings = start_warnings(settings, os.environ)
    try:
        with asyncio.Runner(loop_factory=LOOP_FACTORY) as runner:
            runner.run(serve_forever(settings, announce=announce, warnings=warnings))
    except (UserError, sqlite3.DatabaseError) as error:
        unusable = f"cannot use the database {settings.database}: {reason_of(error)}"
        lines = error.lines if isinstance(error, UserError) else (unusable,)
        return print_error(UserError(*lines), as_json=settings.log_format == "json")
    return 0


def _mistakes_in_files(settings: Settings) -> list[str]:
    """The mistakes in the form of webhooks and in scenario files."""
    from emulator.scenarios.webhook_form_file import (  # noqa: PLC0415 - only for a failed start
        read_files_of_settings,
    )

    problems = read_files_of_settings(settings.webhook_format, settings.scenarios)[-1]
    return [str(problem) for problem in problems]


def announce(app: Application) -> None:
    """Print the banner."""
    # No error ends the server: a pipe that is closed (`serve | head -1`), a full disk, no free
    # descriptor.
    try:
        # The numbers in the banner need the format of scenario files.
        from emulator.cli.banner import banner  # noqa: PLC0415 - 40 ms, while requests are served

        _print(escape_controls(banner(app), besides=LINE_BREAK))
    except BrokenPipeError:
        return
    except (OSError, ImportError) as error:
        logger.warning("the addresses and keys cannot be printed: %s", error)


def _print(text: str) -> None:
    """Print past the buffer, which Python would write again at its end. Raises OSError."""
    stdout = sys.stdout
    if stdout is None:
        return
    data = text.encode(stdout.encoding, "replace")
    while data:
        data = data[os.write(stdout.fileno(), data) :]
