"""The command that prints the OpenAPI documents."""

import click

from emulator.cli.output import DEFAULT_URL, write


@click.command()
@click.option(
    "--control", "is_control", is_flag=True, help="Print the document of the control API."
)
def openapi(*, is_control: bool) -> None:
    """Print the OpenAPI 3.1 document of /v1 as JSON.

    A running emulator serves the documents of /v1 and of the control API, with its own address,
    under /_emulator/openapi/.
    """
    import json

    from emulator.app.documents import documents
    from emulator.domain.payment_methods import DEFAULT_METHODS

    build = documents(DEFAULT_METHODS)["control" if is_control else "v1"]
    write(f"{json.dumps(build(DEFAULT_URL), indent=2, ensure_ascii=False)}\n")
