"""Command `check`: validates scenario files."""

from pathlib import Path

import click

from emulator.cli.output import write
from emulator.cli.settings_options import private_settings
from emulator.domain.payment_methods import DEFAULT_METHODS
from emulator.scenarios.loader import check_files


@click.command()
@click.argument(
    "paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option(
    "--methods",
    metavar="METHOD",
    multiple=True,
    help="Payment methods of the service; repeatable or comma-separated."
    f"  [default: {','.join(DEFAULT_METHODS)}]",
)
def check(paths: tuple[Path, ...], methods: tuple[str, ...]) -> int:
    """Validate scenario files and directories of scenario files.

    Each mistake is printed as a line path:line:column: message. A method that the service does not
    have is a warning.
    """
    code, text = check_files(paths, _known_methods(methods) if methods else DEFAULT_METHODS)
    write(text)
    return code


def _known_methods(names: tuple[str, ...]) -> tuple[str, ...]:
    return private_settings({"methods": names}).methods
