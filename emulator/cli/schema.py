"""Command `schema`: prints a JSON Schema."""

import json

import click

from emulator.cli.output import cli_error, write
from emulator.scenarios.scenario_file import scenario_schema
from emulator.scenarios.webhook_form_file import webhook_form_schema
from emulator.tools.explore.integration_file import integration_schema
from emulator.tools.json_results import results_schema


@click.command()
@click.option(
    "--integration",
    "is_integration",
    is_flag=True,
    help="Print the schema of the files of `explore`.",
)
@click.option(
    "--results", "is_results", is_flag=True, help="Print the schema of what --json writes."
)
@click.option(
    "--webhook-format",
    "is_webhook_format",
    is_flag=True,
    help="Print the schema of the files of --webhook-format.",
)
def schema(*, is_integration: bool, is_results: bool, is_webhook_format: bool) -> None:
    """Print the JSON Schema of scenario files."""
    if is_integration + is_results + is_webhook_format > 1:
        cli_error("expected one of --integration, --results and --webhook-format")
    if is_webhook_format:
        schema = webhook_form_schema()
    elif is_results:
        schema = results_schema()
    elif is_integration:
        schema = integration_schema()
    else:
        schema = scenario_schema()
    write(f"{json.dumps(schema, indent=2, ensure_ascii=False)}\n")
