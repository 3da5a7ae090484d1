"""Command `openapi`: prints an OpenAPI document."""

import json

import click

from emulator.cli.emulator_options import DEFAULT_URL
from emulator.cli.output import write
from emulator.domain.payment_methods import DEFAULT_METHODS
from emulator.scenarios.webhook_form_file import load_webhook_form
from emulator.server.control.app import documents


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
@click.option(
    "--webhook-format",
    metavar="NAME_OR_FILE",
    default="standard",
    show_default=True,
    help="Form of the webhooks that the document describes.",
)
def openapi(*, is_control: bool, is_without_webhooks: bool, webhook_format: str) -> None:
    """Print the OpenAPI 3.1 document of /v1 as JSON.

    A running emulator serves the documents of /v1 and of the control API, with its own address,
    under /_emulator/openapi/.
    """
    of_url = documents(DEFAULT_METHODS, load_webhook_form(webhook_format))
    document = of_url["control" if is_control else "v1"](DEFAULT_URL)
    if is_without_webhooks:
        document.pop("webhooks", None)
    write(f"{json.dumps(document, indent=2, ensure_ascii=False)}\n")
