"""Defines the commands; most have their own modules, and each imports its code when it runs."""

from importlib import import_module
from pathlib import Path

import click

from emulator import __version__
from emulator.cli.output import DEFAULT_URL, write
from emulator.domain.payment_methods import DEFAULT_METHODS

# The commands that are not defined here, each with its module and the first sentence of its
# description.
MODULES = {
    "checklist": ("checklist", "Judge the merchant's integration by ten items."),
    "doctor": ("doctor", "Test which addresses a container, a browser and a webhook need."),
    "explore": ("explore", "Run a merchant's integration through every history of events."),
    "health": ("server", "Test whether the server responds."),
    "helper": ("helper", "Print the test helper for another language: `node` or `php`."),
    "record": ("replay", "Print an account's history as a script for `replay`."),
    "rehearse": (
        "rehearse",
        "Run a merchant's test command with false answers and disturbances.",
    ),
    "replay": ("replay", "Run the scripts of scenario files."),
    "serve": ("server", "Run the emulator."),
    "trigger": ("trigger", "Create a payment and drive it to an event."),
    "verify": ("verify", "Compare a service with the contract, clause by clause."),
}


class _Commands(click.Group):
    """The commands; most are imported on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), *MODULES])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in MODULES:
            return super().get_command(ctx, cmd_name)
        module = import_module(f"emulator.cli.{MODULES[cmd_name][0]}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        listed = [click.Command(name, help=summary) for name, (_, summary) in MODULES.items()]
        click.Group(commands=[*self.commands.values(), *listed]).format_commands(ctx, formatter)


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    no_args_is_help=True,
)
@click.version_option(__version__)
def cli() -> None:
    """A local, high-fidelity emulator of the ETB hosted-checkout payments service."""


@cli.command()
@click.argument(
    "paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option(
    "--methods",
    metavar="NAMES",
    multiple=True,
    help="Payment methods of the service; repeatable or comma-separated."
    f"  [default: {','.join(DEFAULT_METHODS)}]",
)
def check(paths: tuple[Path, ...], methods: tuple[str, ...]) -> int:
    """Validate scenario files and directories of scenario files.

    Each mistake is printed as a line path:line:column: message. Exit code 2 when a file has a
    mistake. A method that the service does not have is a warning.
    """
    from emulator.scenarios.loader import check_files

    code, text = check_files(paths, _known_methods(methods) if methods else DEFAULT_METHODS)
    write(text)
    return code


def _known_methods(names: tuple[str, ...]) -> tuple[str, ...]:
    from emulator.cli.private_settings import private_settings

    return private_settings({"methods": names}).methods


@cli.command()
@click.option(
    "--integration",
    "is_integration",
    is_flag=True,
    help="Print the schema of the files of `explore`.",
)
def schema(*, is_integration: bool) -> None:
    """Print the JSON Schema of scenario files."""
    import json

    if is_integration:
        from emulator.tools.explore.integration import integration_schema as build
    else:
        from emulator.scenarios.scenario_file import scenario_schema as build
    write(f"{json.dumps(build(), indent=2, ensure_ascii=False)}\n")


@cli.command()
@click.option(
    "--control", "is_control", is_flag=True, help="Print the document of the control API."
)
@click.option(
    "--no-webhooks",
    "is_without_webhooks",
    is_flag=True,
    help="Leave out the webhooks, which some generators cannot read.",
)
def openapi(*, is_control: bool, is_without_webhooks: bool) -> None:
    """Print the OpenAPI 3.1 document of /v1 as JSON.

    A running emulator serves the documents of /v1 and of the control API, with its own address,
    under /_emulator/openapi/.
    """
    import json

    from emulator.server.control.app import documents

    document = documents(DEFAULT_METHODS)["control" if is_control else "v1"](DEFAULT_URL)
    if is_without_webhooks:
        document.pop("webhooks", None)
    write(f"{json.dumps(document, indent=2, ensure_ascii=False)}\n")
