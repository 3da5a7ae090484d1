"""Defines the commands; most have their own modules, and each imports its code when it runs."""

import os
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from emulator import __version__
from emulator.cli import PROGRAM
from emulator.cli.output import DEFAULT_URL, CliError, write
from emulator.domain.control_characters import escape_controls
from emulator.domain.payment_methods import DEFAULT_METHODS
from emulator.settings import OPTIONS, Option, Settings, SettingsError, resolve

# The modules of the commands that are not defined here.
_MODULES = {
    "checklist": "checklist",
    "doctor": "doctor",
    "explore": "explore",
    "helper": "helper",
    "record": "replay",
    "replay": "replay",
    "trigger": "trigger",
    "verify": "verify",
}


class Unhealthy(CliError):
    """The server does not respond, or the settings have no port for it; exit code 1."""

    exit_code = 1


def _options(options: Sequence[Option]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = _click_option(option)(command)
        return command

    return decorate


def _click_option(option: Option) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    default = f"  [default: {option.default_text}]" if option.default_text else ""
    if option.is_switch:
        return click.option(option.flag, is_flag=True, default=None, help=option.help)
    return click.option(
        option.flag,
        metavar=option.type.metavar,
        multiple=option.is_repeatable,
        help=option.help + default,
    )


def _settings(flags: dict[str, object]) -> Settings:
    try:
        return resolve(flags, os.environ)
    except SettingsError as error:
        raise CliError(*error.lines) from None


class _Commands(click.Group):
    """The commands; most are imported on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), *_MODULES])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _MODULES:
            return super().get_command(ctx, cmd_name)
        module = import_module(f"emulator.cli.{_MODULES[cmd_name]}")
        command: click.Command = getattr(module, cmd_name.replace("-", "_"))
        return command


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    no_args_is_help=True,
)
@click.version_option(__version__, prog_name=PROGRAM)
def cli() -> None:
    """A local, high-fidelity emulator of the ETB hosted-checkout payments service."""


@cli.command()
@_options(OPTIONS)
def serve(**flags: object) -> None:
    """Run the emulator.

    Each option is also a variable EMULATOR_<NAME> and a key of the --config file.
    """
    from emulator.cli.serve import ServeError
    from emulator.cli.serve import serve as run_serve

    try:
        run_serve(flags)
    except ServeError as error:
        raise CliError(*error.lines, as_json=error.as_json) from None


@cli.command()
@_options([option for option in OPTIONS if option.name in {"host", "port", "config"}])
def health(**flags: object) -> None:
    """Test whether the server responds.

    The options, variables and --config file are those of `serve`. Exit code 0 when the server
    responds, otherwise 1.
    """
    # Ignore the other port, which might equal this one.
    try:
        settings = _settings({**flags, "checkout-port": 0})
    except CliError as error:
        raise Unhealthy(*error.lines) from None
    if settings.port == 0:
        raise Unhealthy("port 0 is any free port; name the real one with --port")
    from emulator.cli.probe import NotHealthy, check_health

    try:
        check_health(settings.host, settings.port)
    except NotHealthy as error:
        raise Unhealthy(str(error)) from None


@cli.command()
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path())
def check(paths: tuple[str, ...]) -> int:
    """Validate scenario files and directories of scenario files.

    Each mistake is printed as a line path:line:column: message. Exit code 2 when a file has a
    mistake. A method that is no default method is a warning.
    """
    from emulator.scenarios.loader import method_warnings, read_paths

    scenarios, problems, files_count = read_paths([Path(path) for path in paths])
    if problems:
        write("".join(f"{escape_controls(str(problem))}\n" for problem in problems))
        return 2
    for warning in method_warnings(scenarios, DEFAULT_METHODS):
        write(f"warning: {warning}\n")
    write(f"{files_count} {'file' if files_count == 1 else 'files'}: no problems\n")
    return 0


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
        from emulator.explore.integration import integration_schema as build
    else:
        from emulator.scenarios.scenario_file import scenario_schema as build
    write(f"{json.dumps(build(), indent=2, ensure_ascii=False)}\n")


@cli.command()
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
