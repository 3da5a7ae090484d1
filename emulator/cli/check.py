"""The command `check`, which validates scenario files."""

import click

from emulator.cli.output import cli_error, write
from emulator.cli.scenario_check import check_files
from emulator.domain.payment_methods import DEFAULT_METHODS


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
    code, text = check_files(paths, _known_methods(methods) if methods else DEFAULT_METHODS)
    write(text)
    return code


def _known_methods(names: tuple[str, ...]) -> tuple[str, ...]:
    from emulator.settings import SettingsError, resolve

    try:
        return resolve({"methods": names}, {}).methods
    except SettingsError as error:
        cli_error(*error.lines)
