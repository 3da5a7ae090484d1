"""Defines the commands; most have their own modules, and each imports its code when it runs."""

from importlib import import_module
from keyword import iskeyword
from pathlib import Path

import click

from emulator import __version__
from emulator.cli.output import DEFAULT_URL, FILES_ARGUMENT, cli_error, webhook_form, write
from emulator.domain.payment_methods import DEFAULT_METHODS

# The commands that are not defined here, each with its module and the first sentence of its
# description.
MODULES = {
    "checklist": ("checklist", "Judge the merchant's integration by ten items."),
    "doctor": ("doctor", "Test which addresses a container, a browser and a webhook need."),
    "explore": ("explore", "Run a merchant's integration through every history of events."),
    "health": ("server", "Test whether the server responds."),
    "helper": (
        "helper",
        "Print the test helper for `node`, `php`, `java` or `go`, or the guide for coding agents.",
    ),
    "import": ("traffic_import", "Convert recorded traffic into a scenario file for `replay`."),
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
# By command, the meanings of the exit codes 0, 1 and 2; an empty one never occurs.
_EXIT_MEANINGS = {
    "check": ("no mistake was found", "", "a file has a mistake"),
    "checklist": (
        "--fail-on does not apply",
        "--fail-on applies",
        "an option is wrong, or the emulator cannot be reached",
    ),
    "doctor": ("no problem was found", "something will not work", "there is no emulator"),
    "explore": (
        "no history failed",
        "a history failed",
        "a file or an option is wrong, or the shop or the emulator cannot be reached",
    ),
    "health": ("the server responds", "it does not, or an option is wrong", "an option is unknown"),
    "helper": ("the text is printed", "", "the language is unknown"),
    "import": (
        "the file is written",
        "--strict applies: a fact is missing",
        "a file or an option is wrong, or the files have no payment",
    ),
    "openapi": ("the document is printed", "", "an option is wrong"),
    "record": (
        "the script is printed",
        "",
        "no emulator responds, the key is unknown, or there are more than 1,000 steps",
    ),
    "rehearse": (
        "the tests noticed each false answer, and passed with each disturbance",
        "they did not",
        "an option is wrong, or the tests fail without a variant or do not use the emulator",
    ),
    "replay": (
        "each expectation holds",
        "one does not, or the coverage is below --fail-under",
        "a file or an option is wrong, or no emulator responds at --url",
    ),
    "schema": ("the schema is printed", "", "an option is wrong"),
    "serve": ("it was ended by SIGINT or SIGTERM", "", "the emulator cannot start"),
    "summary": ("the tables are printed", "", "a file is not one of the results"),
    "trigger": (
        "each endpoint has accepted the event, or none receives it",
        "an endpoint has not accepted it",
        "an option is wrong, there is no emulator, or it refuses a request",
    ),
    "verify": (
        "no clause drifts, except those of --accept",
        "a clause drifts",
        "an option is wrong, there is no such service, or rate limits left clauses unchecked",
    ),
}
EXIT_CODES = {
    (command, code): meaning
    for command, meanings in _EXIT_MEANINGS.items()
    for code, meaning in enumerate(meanings)
    if meaning
}


class _Commands(click.Group):
    """The commands; most are imported on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), *MODULES])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        command: click.Command | None = super().get_command(ctx, cmd_name)
        if cmd_name in MODULES:
            module = import_module(f"emulator.cli.{MODULES[cmd_name][0]}")
            # A keyword is no name of a function.
            command = getattr(module, f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name)
        if command is not None:
            command.epilog = _exit_code_line(cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        listed = [click.Command(name, help=summary) for name, (_, summary) in MODULES.items()]
        click.Group(commands=[*self.commands.values(), *listed]).format_commands(ctx, formatter)


def _exit_code_line(command: str) -> str:
    """The exit codes of a command, for its help."""
    codes = [f"{code}: {text}" for (name, code), text in EXIT_CODES.items() if name == command]
    return f"Exit codes: {'; '.join(codes)}."


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

    Each mistake is printed as a line path:line:column: message. A method that the service does not
    have is a warning.
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
    import json

    if is_integration + is_results + is_webhook_format > 1:
        cli_error("expected one of --integration, --results and --webhook-format")
    if is_webhook_format:
        from emulator.scenarios.webhook_form_file import webhook_form_schema as build
    elif is_results:
        from emulator.tools.json_results import results_schema as build
    elif is_integration:
        from emulator.tools.explore.integration_file import integration_schema as build
    else:
        from emulator.scenarios.scenario_file import scenario_schema as build
    write(f"{json.dumps(build(), indent=2, ensure_ascii=False)}\n")


@cli.command()
@FILES_ARGUMENT
def summary(files: tuple[Path, ...]) -> None:
    """Print what `explore --json` and `rehearse --json` wrote as tables in Markdown."""
    from emulator.tools.json_results import summary_tables

    try:
        write("".join(summary_tables([file.read_bytes() for file in files])))
    except OSError as error:
        cli_error(f"cannot read '{error.filename}': {error.strerror}")
    except ValueError as error:
        cli_error(f"expected files that explore --json and rehearse --json wrote: {error}")


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
    import json

    from emulator.server.control.app import documents

    of_url = documents(DEFAULT_METHODS, webhook_form(webhook_format))
    document = of_url["control" if is_control else "v1"](DEFAULT_URL)
    if is_without_webhooks:
        document.pop("webhooks", None)
    write(f"{json.dumps(document, indent=2, ensure_ascii=False)}\n")
