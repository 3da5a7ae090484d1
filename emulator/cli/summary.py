"""Command `summary`: prints the results of other commands as tables."""

from pathlib import Path

import click

from emulator.cli.output import FILES_ARGUMENT, cli_error, write
from emulator.tools.json_results import summary_tables


@click.command()
@FILES_ARGUMENT
def summary(files: tuple[Path, ...]) -> None:
    """Print what `explore --json` and `rehearse --json` wrote as tables in Markdown."""
    try:
        write("".join(summary_tables([file.read_bytes() for file in files])))
    except OSError as error:
        cli_error(f"cannot read '{error.filename}': {error.strerror}")
    except ValueError as error:
        cli_error(f"expected files that explore --json and rehearse --json wrote: {error}")
