"""Lists the commands. The module of a command is imported when the command runs."""

from importlib import import_module
from keyword import iskeyword
from typing import Any

import click

from emulator import __version__

# Each command with its module and the first sentence of its description.
MODULES = {
    "check": ("check", "Validate scenario files and directories of scenario files."),
    "checklist": ("checklist", "Judge the merchant's integration by ten items."),
    "doctor": ("doctor", "Test which addresses a container, a browser and a webhook need."),
    "explore": ("explore", "Run a merchant's integration through every history of events."),
    "health": ("health", "Test whether the server responds."),
    "helper": (
        "helper",
        "Print the test helper for `node`, `php`, `java` or `go`, or the guide for coding agents.",
    ),
    "import": ("traffic_import", "Convert recorded traffic into a scenario file for `replay`."),
    "openapi": ("documents", "Print the OpenAPI 3.1 document of /v1 as JSON."),
    "probe": ("probe", "Send a webhook handler what it may meet, and judge its answers."),
    "record": ("replay", "Print an account's history as a script for `replay`."),
    "rehearse": (
        "rehearse",
        "Run a merchant's test command with false answers and disturbances.",
    ),
    "replay": ("replay", "Run the scripts of scenario files."),
    "schema": ("documents", "Print the JSON Schema of scenario files."),
    "serve": ("serve", "Run the emulator."),
    "summary": (
        "documents",
        "Print what `explore --json` and `rehearse --json` wrote as tables in Markdown.",
    ),
    "trigger": ("trigger", "Create a payment and drive it to an event."),
    "verify": ("verify", "Compare a service with the contract, clause by clause."),
}
# By command, the meanings of the exit codes from 0; an empty one never occurs.
_EXIT_MEANINGS = {
    "check": ("no mistake was found", "a method is unknown", "a file has a mistake"),
    "checklist": (
        "--fail-on does not apply",
        "--fail-on applies",
        "an option is wrong, or the emulator cannot be reached",
    ),
    "doctor": ("no problem was found", "something will not work", "there is no emulator"),
    "explore": (
        "all histories up to --require-depth ran, and none failed",
        "a history failed",
        "a file or an option is wrong, or the shop or the emulator does not respond",
        "none failed, and fewer histories ran than --require-depth requires",
    ),
    "health": ("the server responds", "it does not, or an option is wrong", "an option is unknown"),
    "helper": ("the text is printed", "", "the language is unknown"),
    "import": (
        "the file is written",
        "--strict applies",
        "a file or an option is wrong, or the files have no payment",
    ),
    "openapi": ("the document is printed", "", "an option is wrong"),
    "probe": (
        "each answer is right",
        "an answer is wrong, or not judged",
        "an option is wrong, or the handler or the emulator cannot be reached",
    ),
    "record": (
        "the script is printed",
        "",
        "no emulator responds, the key is unknown, or there are too many steps",
    ),
    "rehearse": (
        "the tests noticed each false answer, and passed with each disturbance",
        "they did not",
        "an option is wrong, or the tests fail without a variant or do not use the emulator",
    ),
    "replay": (
        "each expectation holds",
        "one does not, or --fail-under applies",
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
        "no clause drifts",
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
    """The commands, imported on use."""

    def list_commands(self, _: click.Context) -> list[str]:
        return [*MODULES]

    def get_command(self, _: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in MODULES:
            return None
        module = import_module(f"emulator.cli.{MODULES[cmd_name][0]}")
        # A keyword is no name of a function.
        name = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name
        command: click.Command = getattr(module, name)
        command.epilog = _exit_code_line(cmd_name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; end without the empty line that click prints after Ctrl-C."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise click.Abort from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        listed = [click.Command(name, help=summary) for name, (_, summary) in MODULES.items()]
        click.Group(commands=listed).format_commands(ctx, formatter)


def _exit_code_line(command: str) -> str:
    """The exit codes of a command, for its help."""
    codes = [f"{code}: {text}" for (name, code), text in EXIT_CODES.items() if name == command]
    return f"Exit codes: {'; '.join(codes)}."


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    invoke_without_command=True,
    subcommand_metavar="COMMAND [ARGS]...",
)
@click.version_option(__version__)
@click.pass_context
def cli(context: click.Context) -> None:
    """A local, high-fidelity emulator of the ETB hosted-checkout payments service."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
