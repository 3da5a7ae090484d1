"""The command `check`, which validates scenario files."""

from pathlib import Path

import click

from emulator.cli.output import cli_error, write
from emulator.domain.control_characters import escape_controls
from emulator.domain.payment_methods import DEFAULT_METHODS
from emulator.scenarios.loader import method_warnings, read_paths


@click.command()
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--methods",
    metavar="NAMES",
    multiple=True,
    help="Payment methods of the service; repeatable or comma-separated."
    f"  [default: {','.join(DEFAULT_METHODS)}]",
)
def check(paths: tuple[str, ...], methods: tuple[str, ...]) -> int:
    """Validate scenario files and directories of scenario files.

    Each mistake is printed as a line path:line:column: message. Exit code 2 when a file has a
    mistake. A method that the service does not have is a warning.
    """
    known = _known_methods(methods) if methods else DEFAULT_METHODS
    scenarios, problems, files_count = read_paths([Path(path) for path in paths])
    if problems:
        write("".join(f"{escape_controls(str(problem))}\n" for problem in problems))
        return 2
    for warning in method_warnings(scenarios, known):
        write(f"warning: {warning}\n")
    write(f"{files_count} {'file' if files_count == 1 else 'files'}: no problems\n")
    return 0


def _known_methods(names: tuple[str, ...]) -> tuple[str, ...]:
    from emulator.settings import SettingsError, resolve

    try:
        return resolve({"methods": names}, {}).methods
    except SettingsError as error:
        cli_error(*error.lines)
