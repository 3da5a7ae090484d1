"""The command `check`, which validates scenario files."""

from pathlib import Path

import click

from emulator.cli.output import write
from emulator.domain.control_characters import escape_controls
from emulator.domain.payment_methods import DEFAULT_METHODS
from emulator.scenarios.loader import method_warnings, read_paths


@click.command()
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path())
def check(paths: tuple[str, ...]) -> int:
    """Validate scenario files and directories of scenario files.

    Each mistake is printed as a line path:line:column: message. Exit code 2 when a file has a
    mistake. A method that is no default method is a warning.
    """
    scenarios, problems, files_count = read_paths([Path(path) for path in paths])
    if problems:
        write("".join(f"{escape_controls(str(problem))}\n" for problem in problems))
        return 2
    for warning in method_warnings(scenarios, DEFAULT_METHODS):
        write(f"warning: {warning}\n")
    write(f"{files_count} {'file' if files_count == 1 else 'files'}: no problems\n")
    return 0
