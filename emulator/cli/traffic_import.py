"""The command `import`, which converts recorded traffic into a scenario file."""

import re
from collections.abc import Sequence
from pathlib import Path

import click

from emulator.cli.emulator_options import base_url
from emulator.cli.output import (
    FILES_ARGUMENT,
    OUTPUT_FILE,
    STDOUT,
    cli_error,
    webhook_format_option,
    write,
    write_file,
)
from emulator.scenarios.scenario_file import NAME_FORM, is_scenario_name
from emulator.scenarios.webhook_form_file import load_webhook_form, webhook_form_json
from emulator.tools.recorded_traffic import read_traffic
from emulator.tools.traffic_import import ImportedScript, import_traffic

_METADATA = "metadata."


@click.command("import")
@FILES_ARGUMENT
@click.option(
    "-o",
    "--output",
    metavar="SCENARIO",
    type=OUTPUT_FILE,
    required=True,
    help="Scenario file to write; - is standard output. More than 1,000 steps are several files,"
    " such as NAME-1.yaml.",
)
@click.option("--name", metavar="NAME", help="Name of the scenario.  [default: the file's name]")
@click.option(
    "--keep",
    metavar="metadata.NAME",
    multiple=True,
    help="Metadata whose name and value stay, such as metadata.order; repeatable.",
)
@click.option(
    "--base-url", "url", metavar="URL", help="URL of the service, to choose among several."
)
@webhook_format_option("Form of the recorded webhooks.")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@click.option("--strict", "is_strict", is_flag=True, help="Exit with code 1 if a fact is missing.")
def import_(
    files: tuple[Path, ...],
    output: Path,
    name: str | None,
    keep: tuple[str, ...],
    url: str | None,
    webhook_format: str,
    *,
    force: bool,
    is_strict: bool,
) -> int:
    """Convert recorded traffic into a scenario file for `replay`.

    FILE is a HAR, or has webhooks as JSON lines: {"at": …, "headers": …, "body": …}. Keys, phone
    numbers, names, metadata and URLs are replaced.
    """
    stem = "imported" if output == STDOUT else output.stem.lower()
    name = re.sub("[^a-z0-9_-]+", "-", stem) if name is None else name
    if not is_scenario_name(name):
        cli_error(f"flag --name: found {name!r}, expected {NAME_FORM}")
    for each in keep:
        if not each.startswith(_METADATA) or each == _METADATA:
            cli_error(f"flag --keep: found {each!r}, expected metadata.NAME")
    try:
        scripts = import_traffic(
            read_traffic(files),
            name=name,
            keep={each.removeprefix(_METADATA) for each in keep},
            form=webhook_form_json(load_webhook_form(webhook_format)),
            base_url=None if url is None else base_url("--base-url", url),
        )
    except RecursionError:
        cli_error("a body in the files is nested too deeply")
    _write(scripts, output, overwrites=force)
    return int(is_strict and any(script.missing for script in scripts))


def _write(scripts: Sequence[ImportedScript], output: Path, *, overwrites: bool) -> None:
    """Write one script to the output, or each of several to a file with its number."""
    if output == STDOUT:
        if scripts[1:]:
            cli_error(f"flag --output: the {len(scripts)} files need a name; found -")
        write(scripts[0].text)
        return
    numbers = [f"-{number}" for number in range(1, 1 + len(scripts))] if scripts[1:] else [""]
    files = [output.with_name(f"{output.stem}{number}{output.suffix}") for number in numbers]
    existing = next((file for file in files if file.exists()), None)
    if existing is not None and not overwrites:
        cli_error(
            f"flag --output: '{existing}' exists; add --force to overwrite it, or name another file"
        )
    for file, script in zip(files, scripts, strict=True):
        write_file("--output", file, script.text.encode)
