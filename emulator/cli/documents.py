"""Commands `openapi`, `schema` and `summary`, which print documents, JSON Schemas and tables."""

import json
from pathlib import Path

import click

from emulator.cli.emulator_options import DEFAULT_URL
from emulator.cli.output import FILES_ARGUMENT, cli_error, webhook_format_option, write
from emulator.domain.payment_methods import DEFAULT_METHODS
from emulator.scenarios.scenario_file import scenario_schema
from emulator.scenarios.webhook_form_file import load_webhook_form, webhook_form_schema
from emulator.server.control.app import documents
from emulator.tools.explore.integration_file import integration_schema
from emulator.tools.json_results import results_schema, summary_tables


@click.command()
@click.option(
    "--control", "is_control", is_flag=True, help="Print the document of the control API."
)
@click.option(
    "--no-webhooks",
    "is_without_webhooks",
    is_flag=True,
    help="Leave out the webhooks, which some generators cannot read.",
)
@webhook_format_option("Form of the webhooks that the document describes.")
def openapi(*, is_control: bool, is_without_webhooks: bool, webhook_format: str) -> None:
    """Print the OpenAPI 3.1 document of /v1 as JSON.

    A running emulator serves this document and the document of the control API, with its own
    address: /_emulator/openapi/v1.json and /_emulator/openapi/control.json.
    """
    of_url = documents(DEFAULT_METHODS, load_webhook_form(webhook_format))
    document = of_url["control" if is_control else "v1"](DEFAULT_URL)
    if is_without_webhooks:
        document.pop("webhooks", None)
    _write_json(document)


def _write_json(document: object) -> None:
    write(f"{json.dumps(document, indent=2, ensure_ascii=False)}\n")


_SCHEMAS = {
    "integration": integration_schema,
    "results": results_schema,
    "webhook_format": webhook_form_schema,
}


@click.command()
@click.option("--integration", is_flag=True, help="Print the schema of the files of `explore`.")
@click.option(
    "--results",
    is_flag=True,
    help="Print the schema of what --json writes for explore, rehearse, checklist and probe.",
)
@click.option(
    "--webhook-format", is_flag=True, help="Print the schema of the files of --webhook-format."
)
def schema(**is_given: bool) -> None:
    """Print the JSON Schema of scenario files."""
    named = [function for name, function in _SCHEMAS.items() if is_given[name]]
    if len(named) > 1:
        cli_error("expected one of --integration, --results and --webhook-format")
    [function] = named or [scenario_schema]
    _write_json(function())


@click.command()
@FILES_ARGUMENT
def summary(files: tuple[Path, ...]) -> None:
    """Print what `explore --json` and `rehearse --json` wrote as tables in Markdown."""
    try:
        write("".join(summary_tables({str(file): file.read_bytes() for file in files})))
    except OSError as error:
        cli_error(f"cannot read '{error.filename}': {error.strerror}")
    except ValueError as error:
        cli_error(str(error))
