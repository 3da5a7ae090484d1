"""Command `check`: validates scenario files."""

from pathlib import Path

import click

from emulator.cli.output import write
from emulator.cli.settings_options import private_settings, settings_options
from emulator.scenarios.loader import check_files


@click.command()
@click.argument(
    "paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@settings_options("methods")
def check(paths: tuple[Path, ...], methods: tuple[str, ...]) -> int:
    """Validate scenario files and directories of scenario files.

    Each mistake is printed as a line path:line:column: message. A method that the service does not
    have is a warning.
    """
    code, text = check_files(paths, private_settings({"methods": methods}).methods)
    write(text)
    return code
