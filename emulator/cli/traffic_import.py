"""The command `import`, which converts recorded traffic into a scenario file."""

import re
from pathlib import Path

import click

from emulator.cli.output import (
    FILES_ARGUMENT,
    OUTPUT_FILE,
    STDOUT,
    base_url,
    cli_error,
    write,
    write_file,
)

_METADATA = "metadata."


@click.command("import")
@FILES_ARGUMENT
@click.option(
    "-o",
    "--output",
    metavar="SCENARIO",
    type=OUTPUT_FILE,
    required=True,
    help="Scenario file to write; - is standard output.",
)
@click.option("--name", metavar="NAME", help="Name of the scenario.  [default: that of the file]")
@click.option(
    "--keep",
    metavar="metadata.NAME",
    multiple=True,
    help="Metadata whose name and value stay, such as metadata.order; repeatable.",
)
@click.option(
    "--base-url", "url", metavar="URL", help="URL of the service, to choose among several."
)
@click.option(
    "--webhook-format",
    metavar="NAME_OR_FILE",
    default="standard",
    show_default=True,
    help="Form of the recorded webhooks.",
)
@click.option("--strict", "is_strict", is_flag=True, help="Exit with code 1 if a fact is missing.")
def import_(
    files: tuple[Path, ...],
    output: Path,
    name: str | None,
    keep: tuple[str, ...],
    url: str | None,
    webhook_format: str,
    *,
    is_strict: bool,
) -> int:
    """Convert recorded traffic into a scenario file for `replay`.

    FILE is a HAR, or has webhooks as JSON lines: {"at": …, "headers": …, "body": …}. Keys, phone
    numbers, names, metadata and URLs are replaced.
    """
    from emulator.scenarios.problems import ScenarioError
    from emulator.scenarios.scenario_file import NAME_FORM, is_scenario_name
    from emulator.scenarios.webhook_form_file import load_webhook_form, webhook_form_json
    from emulator.tools.recorded_traffic import UnusableTraffic, read_traffic
    from emulator.tools.traffic_import import import_traffic

    stem = "imported" if output == STDOUT else output.stem.lower()
    name = re.sub("[^a-z0-9_-]+", "-", stem) if name is None else name
    if not is_scenario_name(name):
        cli_error(f"flag --name: found {name!r}, expected {NAME_FORM}")
    for each in keep:
        if not each.startswith(_METADATA) or each == _METADATA:
            cli_error(f"flag --keep: found {each!r}, expected metadata.NAME")
    try:
        imported = import_traffic(
            read_traffic(files),
            name=name,
            keep={each.removeprefix(_METADATA) for each in keep},
            form=webhook_form_json(load_webhook_form(webhook_format)),
            base_url=None if url is None else base_url("--base-url", url),
        )
    except UnusableTraffic as error:
        cli_error(str(error))
    except ScenarioError as error:
        cli_error(*map(str, error.problems))
    except RecursionError:
        cli_error("a body in the files is nested too deeply")
    if output == STDOUT:
        write(imported.text)
    else:
        write_file("--output", output, imported.text.encode)
    return int(is_strict and bool(imported.missing))
